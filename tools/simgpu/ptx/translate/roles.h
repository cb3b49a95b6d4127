// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "tools/simgpu/ptx/syntax/module.h"

namespace cupool::simgpu::ptx {

/// How many leading operands of an instruction are written (0 or 1; a pair or vector counts as one operand).
std::size_t destination_count(const Instruction& instruction);

/// Whether threads of a block or warp wait for one another here, so that the kernel has to be resumable.
bool is_synchronising(const Instruction& instruction);

/// Whether the instruction may observe what other threads write while it runs in a loop: volatile, relaxed and acquire loads,
/// atomics.
bool observes_others(const Instruction& instruction);

/// Whether another order of blocks could change the result: floating-point atomics, and those whose old value is used.
bool is_order_sensitive(const Instruction& instruction);

/// Whether a loop watches what other threads write, so that they have to be let run meanwhile.
bool is_spinning(const Function& function);

/// Never falls through, unless guarded.
bool ends_flow(const Instruction& instruction);

/// Calls visit(RegisterId) for every register in the operand, addresses' bases included.
template <class Visit>
void for_each_register(const Operand& operand, const Visit& visit) {
  if (operand.reg != kNoRegister) visit(operand.reg);
  for (const Operand& element : operand.elements) for_each_register(element, visit);
}

/// Registers that the instruction reads, its guard included; one may be visited twice.
template <class Visit>
void for_each_use(const Instruction& instruction, const Visit& visit) {
  if (instruction.guard != kNoRegister) visit(instruction.guard);
  for (std::size_t i = destination_count(instruction); i < instruction.operands.size(); ++i) {
    for_each_register(instruction.operands[i], visit);
  }
}

/// Registers that the instruction writes.
template <class Visit>
void for_each_definition(const Instruction& instruction, const Visit& visit) {
  const std::size_t count = destination_count(instruction);
  for (std::size_t i = 0; i < count && i < instruction.operands.size(); ++i) for_each_register(instruction.operands[i], visit);
}

}  // namespace cupool::simgpu::ptx
