// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/translate/inline.h"

#include <algorithm>

#include "tools/simgpu/ptx/translate/roles.h"

namespace cupool::simgpu::ptx {
namespace {

constexpr std::size_t kMaxInstructions = 100'000;
constexpr int kMaxDepth = 32;

/// The operand of a direct call that names the function.
const Operand* call_target(const Instruction& instruction) {
  if (instruction.opcode != "call") return nullptr;
  for (const Operand& operand : instruction.operands) {
    if (operand.kind == Operand::Kind::list) continue;
    return operand.kind == Operand::Kind::symbol ? &operand : nullptr;
  }
  return nullptr;
}

std::optional<std::uint32_t> callee_of(const Names& names, std::size_t module, const Instruction& instruction) {
  const Operand* target = call_target(instruction);
  if (target == nullptr) return std::nullopt;
  const auto entity = names.find(module, target->name);
  if (!entity || entity->kind != Entity::Kind::function) return std::nullopt;
  return entity->index;
}

class Inliner {
 public:
  Inliner(const Names& names, std::size_t module, const std::vector<bool>& waiting, std::vector<Entity>& entities,
          std::string& error)
      : names_(names), module_(module), waiting_(waiting), entities_(entities), error_(error) {}

  Function run(const Function& kernel) {
    Function out = kernel;
    out.instructions.clear();
    out.labels.clear();
    out.tables.clear();
    out.registers.clear();
    out.variables.clear();
    expand(out, kernel, {}, 0);
    return out;
  }

 private:
  /// What the callee's parameters and results are in the caller: indices of the caller's .param variables.
  struct Binding {
    std::vector<std::int32_t> results;
    std::vector<std::int32_t> parameters;
  };
  struct Bases {
    RegisterId reg = 0;
    std::int32_t variable = 0;
    std::int32_t label = 0;
  };

  void fail(std::uint32_t line, const std::string& what) {
    if (error_.empty()) error_ = "ptx line " + std::to_string(line) + ": " + what;
  }

  void expand(Function& out, const Function& body, const Binding& binding, int depth) {
    if (depth > kMaxDepth) return fail(body.line, "a function that waits for other threads calls itself");
    const Bases bases{static_cast<RegisterId>(out.registers.size()), static_cast<std::int32_t>(out.variables.size()),
                      static_cast<std::int32_t>(out.labels.size())};
    out.registers.insert(out.registers.end(), body.registers.begin(), body.registers.end());
    for (std::size_t v = 0; v < body.variables.size(); ++v) {
      out.variables.push_back(body.variables[v]);
      entities_.push_back(names_.of_body_variable(body, v));
    }
    // The callee's labels come first and its end last; places are filled in as they are reached.
    for (const Label& label : body.labels) out.labels.push_back(Label{label.name, 0});
    const auto end = static_cast<std::int32_t>(out.labels.size());
    out.labels.push_back(Label{"", 0});
    for (BranchTable table : body.tables) {
      for (std::int32_t& label : table.labels) label += bases.label;
      out.tables.push_back(std::move(table));
    }
    for (std::size_t i = 0; i <= body.instructions.size() && error_.empty(); ++i) {
      for (std::size_t l = 0; l < body.labels.size(); ++l) {
        if (body.labels[l].position == i) out.labels[static_cast<std::size_t>(bases.label) + l].position = place(out);
      }
      if (i == body.instructions.size()) break;
      if (out.instructions.size() > kMaxInstructions) return fail(body.line, "too many instructions once calls are expanded");
      one(out, body, body.instructions[i], bases, binding, end, depth);
    }
    out.labels[static_cast<std::size_t>(end)].position = place(out);
  }

  static std::uint32_t place(const Function& out) { return static_cast<std::uint32_t>(out.instructions.size()); }

  void one(Function& out, const Function& body, const Instruction& from, const Bases& bases, const Binding& binding,
           std::int32_t end, int depth) {
    Instruction made = from;
    if (made.guard != kNoRegister) made.guard += bases.reg;
    for (Operand& operand : made.operands) remap(operand, body, bases, binding);
    if (depth > 0 && made.opcode == "ret") {
      made.opcode = "bra";
      made.modifiers.clear();
      made.operands = {Operand{.kind = Operand::Kind::symbol, .label = end}};
      out.instructions.push_back(std::move(made));
      return;
    }
    const auto callee = callee_of(names_, module_, made);
    if (!callee || !waiting_[*callee]) {
      out.instructions.push_back(std::move(made));
      return;
    }
    call(out, made, *callee, depth);
  }

  void call(Function& out, const Instruction& made, std::uint32_t callee, int depth) {
    const auto& defined = names_.functions()[callee];
    const Function& function = *defined.function;
    if (defined.module != module_) return fail(made.line, "a function of another source waits for other threads");
    Binding binding;
    bool before_target = true;
    for (const Operand& operand : made.operands) {
      if (operand.kind != Operand::Kind::list) {
        before_target = false;
        continue;
      }
      for (const Operand& element : operand.elements) {
        if (element.kind != Operand::Kind::symbol || element.variable < 0) {
          return fail(made.line, made.name() + ": a register as argument of a function that waits for other threads");
        }
        (before_target ? binding.results : binding.parameters).push_back(element.variable);
      }
    }
    if (binding.results.size() != function.returns.size() || binding.parameters.size() != function.parameters.size()) {
      return fail(made.line, made.name() + ": another number of arguments");
    }
    std::int32_t skip = -1;
    if (made.guard != kNoRegister) {
      skip = static_cast<std::int32_t>(out.labels.size());
      out.labels.push_back(Label{"", 0});
      Instruction over = made;
      over.opcode = "bra";
      over.modifiers.clear();
      over.guard_negated = !made.guard_negated;
      over.operands = {Operand{.kind = Operand::Kind::symbol, .label = skip}};
      out.instructions.push_back(std::move(over));
    }
    expand(out, function, binding, depth + 1);
    if (skip >= 0) out.labels[static_cast<std::size_t>(skip)].position = place(out);
  }

  void remap(Operand& operand, const Function& body, const Bases& bases, const Binding& binding) {
    if (operand.reg != kNoRegister) operand.reg += bases.reg;
    if (operand.label >= 0) operand.label += bases.label;
    if (operand.variable >= 0)
      operand.variable += bases.variable;
    else if (operand.kind == Operand::Kind::address || operand.kind == Operand::Kind::symbol)
      bind(operand, body, binding);
    for (Operand& element : operand.elements) remap(element, body, bases, binding);
  }

  static void bind(Operand& operand, const Function& body, const Binding& binding) {
    if (operand.name.empty()) return;
    for (std::size_t i = 0; i < binding.parameters.size(); ++i) {
      if (body.parameters[i].name == operand.name) operand.variable = binding.parameters[i];
    }
    for (std::size_t i = 0; i < binding.results.size(); ++i) {
      if (body.returns[i].name == operand.name) operand.variable = binding.results[i];
    }
  }

  const Names& names_;
  const std::size_t module_;
  const std::vector<bool>& waiting_;
  std::vector<Entity>& entities_;
  std::string& error_;
};

}  // namespace

std::vector<bool> find_waiting(const Names& names) {
  const auto& functions = names.functions();
  std::vector<bool> waiting(functions.size(), false);
  for (std::size_t f = 0; f < functions.size(); ++f) {
    const auto& all = functions[f].function->instructions;
    waiting[f] = std::any_of(all.begin(), all.end(), is_synchronising);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t f = 0; f < functions.size(); ++f) {
      if (waiting[f]) continue;
      for (const Instruction& instruction : functions[f].function->instructions) {
        const auto callee = callee_of(names, functions[f].module, instruction);
        if (!callee || !waiting[*callee]) continue;
        waiting[f] = changed = true;
        break;
      }
    }
  }
  return waiting;
}

std::optional<Function> inline_waiting(const Names& names, std::size_t module, const Function& kernel,
                                       const std::vector<bool>& waiting, std::vector<Entity>& entities, std::string& error) {
  const bool needed = std::any_of(kernel.instructions.begin(), kernel.instructions.end(), [&](const Instruction& instruction) {
    const auto callee = callee_of(names, module, instruction);
    return callee && waiting[*callee];
  });
  if (!needed) return std::nullopt;
  return Inliner(names, module, waiting, entities, error).run(kernel);
}

}  // namespace cupool::simgpu::ptx
