// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/translate/translate.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <set>

#include "tools/simgpu/ptx/runtime/embedded.h"
#include "tools/simgpu/ptx/syntax/parser.h"
#include "tools/simgpu/ptx/translate/function_translator.h"
#include "tools/simgpu/ptx/translate/inline.h"
#include "tools/simgpu/ptx/translate/names.h"
#include "tools/simgpu/ptx/translate/roles.h"

namespace cupool::simgpu::ptx {
namespace {

constexpr std::uint64_t kMaxStaticShared = 48 * 1024;
constexpr std::uint64_t kMaxParameters = 32764;
constexpr std::uint32_t kRecursionReserve = 64 * 1024;

using Failure = tl::unexpected<LoadFailure>;

Failure failure(LoadError error, std::string log) {
  return Failure(LoadFailure{error, std::move(log)});
}

std::uint32_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return static_cast<std::uint32_t>((value + alignment - 1) / alignment * alignment);
}

class ProgramTranslator {
 public:
  ProgramTranslator(Names& names, const std::vector<Module>& modules) : names_(names), modules_(modules) {}

  tl::expected<Translation, LoadFailure> run() {
    waiting_ = find_waiting(names_);
    parts_.resize(names_.functions().size());
    for (std::uint32_t f = 0; f < parts_.size(); ++f) {
      if (auto failed = one(f)) return Failure(std::move(*failed));
    }
    for (std::uint32_t f = 0; f < parts_.size(); ++f) {
      if (!names_.functions()[f].function->is_entry) continue;
      if (auto failed = plan(f)) return Failure(std::move(*failed));
    }
    assemble();
    out_.globals = names_.take_globals();
    return std::move(out_);
  }

 private:
  std::optional<LoadFailure> one(std::uint32_t index) {
    const auto& defined = names_.functions()[index];
    const Function* function = defined.function;
    const bool waits = waiting_[index];
    if (!function->is_entry && waits) return std::nullopt;  // expanded where it is called
    Shape shape = Shape::device;
    if (function->is_entry) {
      std::string error;
      std::vector<Entity> entities;
      auto expanded = inline_waiting(names_, defined.module, *function, waiting_, entities, error);
      if (!error.empty()) return LoadFailure{LoadError::unsupported, error};
      if (expanded) {
        copies_.push_back(std::move(*expanded));
        function = &copies_.back();
        names_.add_body(*function, std::move(entities));
      }
      const bool spins = !waits && is_spinning(*function);
      shape = waits || spins ? Shape::resumable : Shape::plain;
    }
    FunctionTranslator translator(names_, defined.module, index, *function, shape);
    if (!translator.run()) return LoadFailure{LoadError::unsupported, translator.error()};
    parts_[index] = translator.take_result();
    shapes_.resize(parts_.size());
    shapes_[index] = shape;
    for (const std::uint32_t called : parts_[index].called) {
      if (!waiting_[called]) continue;
      return LoadFailure{LoadError::unsupported, "ptx line " + std::to_string(function->line) +
                                                     ": the address of a function that waits for "
                                                     "other threads is taken"};
    }
    return std::nullopt;
  }

  struct Reach {
    std::set<std::uint32_t> functions;
    bool recursive = false;
    bool indirect = false;
  };

  std::uint32_t stack_below(std::uint32_t index, std::vector<std::uint32_t>& path, Reach& reach) {
    reach.indirect = reach.indirect || parts_[index].indirect_calls;
    std::uint32_t deepest = 0;
    path.push_back(index);
    for (const std::uint32_t called : parts_[index].called) {
      if (std::find(path.begin(), path.end(), called) != path.end()) {
        reach.recursive = true;
        continue;
      }
      if (path.size() > 200) {
        reach.recursive = true;
        continue;
      }
      const auto known = depth_.find(called);
      if (known != depth_.end() && reach.functions.contains(called)) {
        deepest = std::max(deepest, known->second);
        continue;
      }
      reach.functions.insert(called);
      const std::uint32_t below = stack_below(called, path, reach);
      depth_[called] = below;
      deepest = std::max(deepest, below);
    }
    path.pop_back();
    return parts_[index].local_bytes + deepest;
  }

  std::optional<LoadFailure> plan(std::uint32_t index) {
    const auto& defined = names_.functions()[index];
    const Function& function = *defined.function;
    KernelPlan plan;
    KernelInfo& info = plan.info;
    info.name = function.name;
    info.ptx_version = modules_[defined.module].version;
    info.target = modules_[defined.module].target;
    const auto offsets = parameter_offsets(function.parameters);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      const Variable& parameter = function.parameters[i];
      info.parameters.push_back(Parameter{std::string(parameter.name), offsets[i], static_cast<std::uint32_t>(parameter.size),
                                          std::max(1u, parameter.alignment)});
      info.parameter_bytes = offsets[i] + static_cast<std::uint32_t>(parameter.size);
      if (parameter.size > kMaxParameters || info.parameter_bytes > kMaxParameters) {
        return LoadFailure{LoadError::too_large,
                           "ptx line " + std::to_string(function.line) + ": more than 32764 bytes of parameters"};
      }
    }
    Reach reach;
    std::vector<std::uint32_t> path;
    depth_.clear();
    info.local_bytes = stack_below(index, path, reach);
    if (reach.indirect) {
      for (std::uint32_t f = 0; f < parts_.size(); ++f) {
        if (!names_.functions()[f].function->is_entry) reach.functions.insert(f);
      }
    }
    if (reach.recursive || reach.indirect) info.local_bytes += kRecursionReserve;
    std::set<std::uint32_t> shared(parts_[index].shared.begin(), parts_[index].shared.end());
    plan.ordered = parts_[index].order_sensitive;
    for (const std::uint32_t f : reach.functions) {
      shared.insert(parts_[f].shared.begin(), parts_[f].shared.end());
      plan.ordered = plan.ordered || parts_[f].order_sensitive;
    }
    if (auto failed = lay_out_shared(function, shared, plan)) return failed;
    info.registers = parts_[index].registers;
    std::copy(std::begin(function.required_block), std::end(function.required_block), std::begin(info.required_block));
    const auto& limit = function.required_block[0] != 0 ? function.required_block : function.max_block;
    if (limit[0] != 0)
      info.max_threads = static_cast<std::uint32_t>(std::min<std::uint64_t>(1024, std::uint64_t{limit[0]} * limit[1] * limit[2]));
    for (const GlobalInfo& global : names_.globals()) {
      if (global.constant) info.const_bytes += static_cast<std::uint32_t>(global.size);
    }
    plan.resumable = shapes_[index] == Shape::resumable;
    out_.kernels.push_back(std::move(plan));
    kernel_functions_.push_back(index);
    return std::nullopt;
  }

  std::optional<LoadFailure> lay_out_shared(const Function& function, const std::set<std::uint32_t>& used, KernelPlan& plan) {
    std::uint64_t at = 0;
    std::uint64_t dynamic_alignment = 16;
    plan.shared_offsets.assign(names_.shared().size(), 0);
    for (const std::uint32_t index : used) {
      const SharedVariable& variable = names_.shared()[index];
      if (variable.dynamic) {
        dynamic_alignment = std::max<std::uint64_t>(dynamic_alignment, variable.alignment);
        continue;
      }
      at = align_up(at, std::max(1u, variable.alignment));
      plan.shared_offsets[index] = static_cast<std::uint32_t>(at);
      at += variable.size;
      if (at > kMaxStaticShared) {
        return LoadFailure{LoadError::too_large, "ptx line " + std::to_string(function.line) + ": kernel '" +
                                                     std::string(function.name) +
                                                     "' uses more than 48 KiB of static shared memory"};
      }
    }
    plan.info.shared_bytes = static_cast<std::uint32_t>(at);
    plan.dynamic_shared_offset = align_up(at, dynamic_alignment);
    for (const std::uint32_t index : used) {
      if (names_.shared()[index].dynamic) plan.shared_offsets[index] = plan.dynamic_shared_offset;
    }
    return std::nullopt;
  }

  bool is_emitted(std::uint32_t index) const { return !names_.functions()[index].function->is_entry && !waiting_[index]; }

  void assemble() {
    std::string& text = out_.source;
    text.append(kAbiText).append(kPreludeText);
    text += "#define SG_FUNCTIONS 0x0400000000000000ULL\n#define SG_FUNCTION_COUNT " + std::to_string(parts_.size()) + "ULL\n";
    text += "typedef struct { void* code; u32 shape; } sg_function;\n";
    std::string table;
    for (std::uint32_t f = 0; f < parts_.size(); ++f) {
      const Function& function = *names_.functions()[f].function;
      if (!is_emitted(f)) {
        table += "  {0, ~0u},\n";
        continue;
      }
      text += "static void f" + std::to_string(f) + "(sg_ctx* c, u64 fp";
      for (std::size_t i = 0; i < function.returns.size() + function.parameters.size(); ++i) text += ", u8*";
      text += ");\n";
      table += "  {(void*)f" + std::to_string(f) + ", " +
               std::to_string(function.returns.size() * 256 + function.parameters.size()) + "u},\n";
    }
    text += "static const sg_function sg_functions[] = {\n" + table + "  {0, ~0u}};\n";
    for (std::uint32_t f = 0; f < parts_.size(); ++f) {
      if (is_emitted(f)) text += parts_[f].source;
    }
    std::string kernels;
    for (std::size_t k = 0; k < kernel_functions_.size(); ++k) kernels += one_kernel(text, kernel_functions_[k]);
    text += "static const sg_kernel sg_kernels[] = {\n" + kernels + "  {0, 0, 0, 0, 0}};\n";
    text += "__attribute__((visibility(\"default\"))) const sg_module sg_program = {SG_ABI_VERSION, " +
            std::to_string(kernel_functions_.size()) + "u, sg_kernels};\n";
  }

  std::string one_kernel(std::string& text, std::uint32_t index) {
    const std::string name = "k" + std::to_string(index);
    text += parts_[index].source;
    const std::string quoted = "\"" + std::string(names_.functions()[index].function->name) + "\"";
    if (shapes_[index] == Shape::resumable) {
      return "  {" + quoted + ", 0, " + name + "_step, sizeof(" + name + "_record), " + (parts_[index].yields ? "1" : "0") + "},\n";
    }
    text += "static void " + name + "_block(sg_ctx* c) {\n  SG_EACH_THREAD(" + name + "_thread)\n}\n";
    return "  {" + quoted + ", " + name + "_block, 0, 0, 0},\n";
  }

  Names& names_;
  const std::vector<Module>& modules_;
  std::vector<bool> waiting_;
  std::vector<TranslatedFunction> parts_;
  std::vector<Shape> shapes_;
  std::deque<Function> copies_;
  std::unordered_map<std::uint32_t, std::uint32_t> depth_;
  std::vector<std::uint32_t> kernel_functions_;
  Translation out_;
};

}  // namespace

tl::expected<Translation, LoadFailure> translate(std::span<const std::string_view> sources) {
  std::vector<Module> modules;
  for (const std::string_view source : sources) {
    auto parsed = parse(source);
    if (!parsed) {
      const SyntaxError& error = parsed.error();
      const LoadError kind = error.kind == SyntaxError::Kind::version ? LoadError::unsupported_version : LoadError::syntax;
      return failure(kind, "ptx line " + std::to_string(error.line) + ": " + error.message);
    }
    modules.push_back(std::move(*parsed));
  }
  auto names = Names::link(modules);
  if (!names) return Failure(std::move(names.error()));
  return ProgramTranslator(*names, modules).run();
}

}  // namespace cupool::simgpu::ptx
