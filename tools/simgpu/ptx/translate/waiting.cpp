// SPDX-License-Identifier: Apache-2.0
// Places where a thread of a resumable kernel waits: it saves the registers that are still needed, returns, and is called again.
#include "tools/simgpu/ptx/translate/function_translator.h"
#include "tools/simgpu/ptx/translate/roles.h"

namespace cupool::simgpu::ptx {

std::string FunctionTranslator::save(const std::vector<RegisterId>& registers) const {
  std::string text;
  for (const RegisterId reg : registers) text += "R->" + name_of(reg) + " = " + name_of(reg) + "; ";
  return text;
}

std::string FunctionTranslator::restore(const std::vector<RegisterId>& registers) const {
  std::string text;
  for (const RegisterId reg : registers) text += name_of(reg) + " = R->" + name_of(reg) + "; ";
  return text;
}

void FunctionTranslator::wait_point(const char* result, const std::vector<std::string>& inputs, const std::string& op) {
  if (shape_ != Shape::resumable) return fail("waiting in a function that is called indirectly or calls itself");
  RegisterSet live = liveness_.after(position_);
  for_each_definition(*instruction_, [&](RegisterId reg) { live.remove(reg); });
  // A pair or vector may keep some of its registers where an element is discarded; all of them are written.
  WaitPoint point;
  point.number = static_cast<std::uint32_t>(waits_.size() + 1);
  point.saved = live.members();
  point.jump = "W" + std::to_string(point.number);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].empty()) emit("s->in[" + std::to_string(i) + "] = " + inputs[i] + ";");
  }
  if (!op.empty()) emit("s->op = " + op + ";");
  emit("s->line = " + line() + "; SAVE" + std::to_string(point.number) + " s->pc = " + std::to_string(point.number) + "; return " +
       result + ";");
  emit(point.jump + ":;");
  waits_.push_back(std::move(point));
}

void FunctionTranslator::yield_point(std::size_t position) {
  WaitPoint point;
  point.number = static_cast<std::uint32_t>(waits_.size() + 1);
  point.saved = liveness_.at(position).members();
  point.jump = "W" + std::to_string(point.number);
  emit("if (--c->slice < 0) { s->line = " + line() + "; SAVE" + std::to_string(point.number) +
       " s->pc = " + std::to_string(point.number) + "; return SG_YIELD; }");
  emit(point.jump + ":;");
  waits_.push_back(std::move(point));
}

void FunctionTranslator::assign_output(const Operand& target, std::size_t word) {
  assign(target, kB32, output(word));
}

}  // namespace cupool::simgpu::ptx
