// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/translate/flow.h"

#include <algorithm>
#include <bit>

#include "tools/simgpu/ptx/translate/roles.h"

namespace cupool::simgpu::ptx {

bool RegisterSet::unite(const RegisterSet& other) {
  std::uint64_t changed = 0;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    changed |= other.words_[i] & ~words_[i];
    words_[i] |= other.words_[i];
  }
  return changed != 0;
}

std::size_t RegisterSet::size() const {
  std::size_t count = 0;
  for (const std::uint64_t word : words_) count += static_cast<std::size_t>(std::popcount(word));
  return count;
}

std::vector<RegisterId> RegisterSet::members() const {
  std::vector<RegisterId> out;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    for (std::uint64_t word = words_[i]; word != 0; word &= word - 1) {
      out.push_back(static_cast<RegisterId>(i * 64 + static_cast<std::size_t>(std::countr_zero(word))));
    }
  }
  return out;
}

Liveness::Liveness(const Function& function) : function_(function) {
  find_blocks();
  link_blocks();
  solve();
}

void Liveness::find_blocks() {
  const std::size_t count = function_.instructions.size();
  std::vector<bool> starts(count + 1, false);
  starts[0] = true;
  for (const Label& label : function_.labels) starts[label.position] = true;
  for (std::size_t i = 0; i < count; ++i) {
    if (ends_flow(function_.instructions[i])) starts[i + 1] = true;
  }
  block_of_.assign(count + 1, 0);
  for (std::size_t i = 0; i <= count; ++i) {
    if (starts[i] || blocks_.empty()) {
      blocks_.push_back(Block{.begin = i,
                              .end = i,
                              .next = {},
                              .in = RegisterSet(function_.registers.size()),
                              .out = RegisterSet(function_.registers.size())});
    }
    block_of_[i] = blocks_.size() - 1;
    blocks_.back().end = std::min(i + 1, count);
  }
}

void Liveness::link_blocks() {
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    Block& block = blocks_[b];
    const bool empty = block.begin == block.end;
    const Instruction* last = empty ? nullptr : &function_.instructions[block.end - 1];
    const bool falls_through = last == nullptr || !ends_flow(*last) || last->guard != kNoRegister;
    if (falls_through && b + 1 < blocks_.size()) block.next.push_back(b + 1);
    if (last == nullptr) continue;
    const auto add = [&](std::int32_t label) {
      if (label >= 0) block.next.push_back(block_of_[function_.labels[static_cast<std::size_t>(label)].position]);
    };
    if (last->opcode == "bra") {
      for (const Operand& operand : last->operands) add(operand.label);
    } else if (last->opcode == "brx") {
      for (const BranchTable& table : function_.tables) {
        if (last->operands.size() < 2 || table.name != last->operands[1].name) continue;
        for (const std::int32_t label : table.labels) add(label);
      }
    }
  }
}

void Liveness::step_back(std::size_t index, RegisterSet& live) const {
  const Instruction& instruction = function_.instructions[index];
  if (instruction.guard == kNoRegister) {
    for_each_definition(instruction, [&](RegisterId reg) { live.remove(reg); });
  }
  for_each_use(instruction, [&](RegisterId reg) { live.add(reg); });
}

void Liveness::solve() {
  std::vector<std::vector<std::size_t>> before(blocks_.size());
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    for (const std::size_t next : blocks_[b].next) before[next].push_back(b);
  }
  std::vector<std::size_t> todo;
  std::vector<bool> queued(blocks_.size(), true);
  for (std::size_t b = 0; b < blocks_.size(); ++b) todo.push_back(b);
  while (!todo.empty()) {
    const std::size_t b = todo.back();
    todo.pop_back();
    queued[b] = false;
    Block& block = blocks_[b];
    for (const std::size_t next : block.next) block.out.unite(blocks_[next].in);
    RegisterSet live = block.out;
    for (std::size_t i = block.end; i-- > block.begin;) step_back(i, live);
    if (!block.in.unite(live)) continue;
    for (const std::size_t previous : before[b]) {
      if (queued[previous]) continue;
      queued[previous] = true;
      todo.push_back(previous);
    }
  }
}

RegisterSet Liveness::after(std::size_t instruction) const {
  const Block& block = blocks_[block_of_[instruction]];
  RegisterSet live = block.out;
  for (std::size_t i = block.end; i-- > instruction + 1;) step_back(i, live);
  return live;
}

RegisterSet Liveness::at(std::size_t position) const {
  const Block& block = blocks_[block_of_[position]];
  RegisterSet live = block.out;
  for (std::size_t i = block.end; i-- > position;) step_back(i, live);
  return live;
}

std::uint32_t Liveness::pressure() const {
  std::uint32_t most = 0;
  for (const Block& block : blocks_) {
    RegisterSet live = block.out;
    for (std::size_t i = block.end; i-- > block.begin;) {
      step_back(i, live);
      if ((i & 7) != 0) continue;  // every eighth place: an estimate
      std::uint32_t words = 0;
      for (const RegisterId reg : live.members()) {
        const std::uint32_t bits = function_.registers[reg].type.bits();
        words += bits <= 1 ? 0 : (bits + 31) / 32;
      }
      most = std::max(most, words);
    }
  }
  return most;
}

}  // namespace cupool::simgpu::ptx
