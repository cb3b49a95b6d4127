// SPDX-License-Identifier: Apache-2.0
// Branches, calls, the end of threads.
#include "tools/simgpu/ptx/translate/function_translator.h"

namespace cupool::simgpu::ptx {

/// Only backward branches can make an endless loop: there somebody looks from time to time whether the launch is to stop.
void FunctionTranslator::jump(std::int32_t label) {
  const Label& target = function_.labels[static_cast<std::size_t>(label)];
  if (target.position <= position_) {
    emit("if (--c->fuel < 0) c->rt->refuel(c, " + line() + ");");
    if (yielding_) yield_point(target.position);
  }
  emit("goto L" + std::to_string(label) + ";");
}

void FunctionTranslator::translate_bra() {
  modifiers_->take("uni");
  if (!expect_operands(1, 1)) return;
  if (operand(0).label < 0) return fail("target is not a label");
  jump(operand(0).label);
}

void FunctionTranslator::translate_brx() {
  modifiers_->take("idx");
  modifiers_->take("uni");
  if (!expect_operands(2, 2)) return;
  for (const BranchTable& table : function_.tables) {
    if (table.name != operand(1).name) continue;
    emit("switch (" + value(operand(0), kU32) + ") {");
    for (std::size_t i = 0; i < table.labels.size(); ++i) {
      emit((i + 1 < table.labels.size() ? "case " + std::to_string(i) : std::string("default")) + ":");
      jump(table.labels[i]);
    }
    return emit("}");
  }
  fail("branch table '" + std::string(operand(1).name).append("' is not defined"));
}

void FunctionTranslator::translate_ret() {
  modifiers_->take("uni");
  expect_operands(0, 0);
  emit("goto done;");
}

void FunctionTranslator::translate_exit() {
  expect_operands(0, 0);
  if (shape_ == Shape::device) return fail("exit inside a function that is called is not supported");
  emit("goto done;");
}

void FunctionTranslator::translate_trap() {
  emit("c->rt->trap(c, " + line() + ");");
}

/// A call's argument or result: the place of a .param variable, or of a register.
std::string FunctionTranslator::argument(const Operand& given, bool is_result) {
  if (given.kind == Operand::Kind::symbol && given.variable >= 0) {
    const auto index = static_cast<std::size_t>(given.variable);
    if (function_.variables[index].space != Space::param) fail("argument is not a .param variable");
    return "(u8*)v" + std::to_string(index);
  }
  if (given.kind == Operand::Kind::discard && is_result) return "(u8*)&" + declare_temporary("u64", "0");
  if (given.is_register() && !given.negated) return "(u8*)&" + name_of(given.reg);
  if (given.kind == Operand::Kind::integer || given.kind == Operand::Kind::real) {
    return "(u8*)&" + declare_temporary("u64", value(given, kB64));
  }
  fail("argument is not supported");
  return "0";
}

void FunctionTranslator::translate_call() {
  modifiers_->take("uni");
  const auto& all = instruction_->operands;
  std::size_t at = 0;
  std::vector<std::string> results;
  std::vector<std::string> arguments;
  if (at < all.size() && all[at].kind == Operand::Kind::list) {
    for (const Operand& element : all[at].elements) results.push_back(argument(element, true));
    ++at;
  }
  const Operand& target = operand(at++);
  if (at < all.size() && all[at].kind == Operand::Kind::list) {
    for (const Operand& element : all[at].elements) arguments.push_back(argument(element, false));
    ++at;
  }
  if (failed()) return;
  if (target.is_register()) return call_indirect(target, results, arguments);
  if (target.kind != Operand::Kind::symbol) return fail("what is called is neither a function nor a register");
  if (at < all.size()) return fail("there are too many operands");
  const auto entity = names_.find(module_, target.name);
  if (!entity) {
    if (Names::is_provided(target.name)) return call_provided(target.name, results, arguments);
    return fail("function '" + std::string(target.name).append("' is not defined"));
  }
  if (entity->kind != Entity::Kind::function) return fail("'" + std::string(target.name).append("' is not a function"));
  const Function& callee = *names_.functions()[entity->index].function;
  if (callee.is_entry) return fail("a kernel cannot be called");
  if (callee.returns.size() != results.size() || callee.parameters.size() != arguments.size()) {
    return fail("'" + std::string(target.name).append("' takes another number of arguments"));
  }
  result_.called.push_back(entity->index);
  std::string text = "f" + std::to_string(entity->index) + "(c, fp + " + std::to_string(result_.local_bytes) + "u";
  for (const std::string& each : results) text += ", " + each;
  for (const std::string& each : arguments) text += ", " + each;
  emit(text + ");");
}

void FunctionTranslator::call_provided(std::string_view name, const std::vector<std::string>& results,
                                       const std::vector<std::string>& arguments) {
  const auto number = [&](std::size_t i, const char* type) {
    return std::string("*(").append(type).append("*)(").append(arguments[i]).append(")");
  };
  if (name == "vprintf" && arguments.size() == 2 && results.size() == 1) {
    return emit("*(u32*)(" + results[0] + ") = c->rt->print(c, " + number(0, "u64") + ", " + number(1, "u64") + ", " + line() +
                ");");
  }
  if (name == "__assertfail" && arguments.size() == 5 && results.empty()) {
    return emit("c->rt->assert_fail(c, " + number(0, "u64") + ", " + number(1, "u64") + ", " + number(2, "u32") + ", " +
                number(3, "u64") + ", " + line() + ");");
  }
  if (name == "malloc" && arguments.size() == 1 && results.size() == 1) {
    return emit("*(u64*)(" + results[0] + ") = c->rt->allocate(c, " + number(0, "u64") + ", " + line() + ");");
  }
  if (name == "free" && arguments.size() == 1 && results.empty()) {
    return emit("c->rt->release(c, " + number(0, "u64") + ", " + line() + ");");
  }
  fail("function '" + std::string(name).append("' is called with other arguments than it has"));
}

/// The address of a function is its index and a mark; the table of the module says what it takes.
void FunctionTranslator::call_indirect(const Operand& target, const std::vector<std::string>& results,
                                       const std::vector<std::string>& arguments) {
  result_.indirect_calls = true;
  const std::string index = declare_temporary("u64", "(" + value(target, kU64) + " - SG_FUNCTIONS)");
  const std::size_t count = results.size() * 256 + arguments.size();
  emit("if (" + index + " >= SG_FUNCTION_COUNT || sg_functions[" + index + "].shape != " + std::to_string(count) +
       "u) c->rt->unsupported(c, " + line() + ");");
  std::string types = "sg_ctx*, u64";
  std::string text = "c, fp + " + std::to_string(result_.local_bytes) + "u";
  for (const auto* list : {&results, &arguments}) {
    for (const std::string& each : *list) {
      types += ", u8*";
      text += ", " + each;
    }
  }
  emit("((void (*)(" + types + "))sg_functions[" + index + "].code)(" + text + ");");
}

}  // namespace cupool::simgpu::ptx
