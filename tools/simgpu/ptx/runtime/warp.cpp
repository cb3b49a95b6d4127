// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/runtime/warp.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tools/simgpu/ptx/runtime/helpers.h"
#include "tools/simgpu/ptx/runtime/matrix.h"

namespace cupool::simgpu::ptx {
namespace {

using abi::sg_thread;
using Threads = sg_thread* const (&)[32];

template <class Visit>
void each_lane(std::uint32_t group, const Visit& visit) {
  for (std::uint32_t left = group; left != 0; left &= left - 1) visit(static_cast<std::uint32_t>(std::countr_zero(left)));
}

/// shfl.sync, as the ISA's pseudo code has it. A lane out of range, or not in the group, gives the thread its own value.
void shuffle(Threads threads, std::uint32_t group, std::uint32_t op) {
  std::uint32_t value[32] = {};
  each_lane(group, [&](std::uint32_t lane) { value[lane] = threads[lane]->in[1]; });
  each_lane(group, [&](std::uint32_t lane) {
    sg_thread& thread = *threads[lane];
    const std::uint32_t b = thread.in[2] & 0x1f;
    const std::uint32_t clamp = thread.in[3] & 0x1f;
    const std::uint32_t segment = thread.in[3] >> 8 & 0x1f;
    const std::uint32_t highest = (lane & segment) | (clamp & ~segment);
    const std::uint32_t lowest = lane & segment;
    std::int64_t from = 0;
    bool valid = false;
    switch (op) {
      case SG_W_SHFL_UP:
        from = std::int64_t{lane} - b;
        valid = from >= static_cast<std::int64_t>(highest);
        break;
      case SG_W_SHFL_DOWN:
        from = std::int64_t{lane} + b;
        valid = from <= static_cast<std::int64_t>(highest);
        break;
      case SG_W_SHFL_BFLY:
        from = lane ^ b;
        valid = from <= static_cast<std::int64_t>(highest);
        break;
      default:
        from = lowest | (b & ~segment);
        valid = from <= static_cast<std::int64_t>(highest);
        break;
    }
    if (!valid) from = lane;
    const auto source = static_cast<std::uint32_t>(from) & 31;
    thread.out[0] = (group >> source & 1) != 0 ? value[source] : value[lane];
    thread.out[1] = valid ? 1 : 0;
  });
}

void vote(Threads threads, std::uint32_t group, std::uint32_t op) {
  std::uint32_t ballot = 0;
  each_lane(group, [&](std::uint32_t lane) { ballot |= (threads[lane]->in[1] != 0 ? 1U : 0U) << lane; });
  std::uint32_t result = ballot;
  if (op == SG_W_VOTE_ALL) result = ballot == group ? 1 : 0;
  if (op == SG_W_VOTE_ANY) result = ballot != 0 ? 1 : 0;
  if (op == SG_W_VOTE_UNI) result = ballot == 0 || ballot == group ? 1 : 0;
  each_lane(group, [&](std::uint32_t lane) { threads[lane]->out[0] = result; });
}

void match(Threads threads, std::uint32_t group, bool all) {
  const auto same = [&](std::uint32_t x, std::uint32_t y) {
    return threads[x]->in[1] == threads[y]->in[1] && threads[x]->in[2] == threads[y]->in[2];
  };
  each_lane(group, [&](std::uint32_t lane) {
    std::uint32_t mask = 0;
    each_lane(group, [&](std::uint32_t other) { mask |= (same(lane, other) ? 1U : 0U) << other; });
    threads[lane]->out[0] = all && mask != group ? 0 : mask;
    threads[lane]->out[1] = mask == group ? 1 : 0;
  });
}

std::uint32_t reduce_floats(Threads threads, std::uint32_t group, std::uint32_t kind) {
  const bool is_max = (kind & 0xf) == SG_R_FMAX;
  const bool absolute = (kind & 16) != 0;
  const bool nan_wins = (kind & 32) != 0;
  bool first = true;
  bool any_nan = false;
  float result = 0;
  each_lane(group, [&](std::uint32_t lane) {
    const float value = std::bit_cast<float>(absolute ? threads[lane]->in[1] & 0x7fffffffU : threads[lane]->in[1]);
    if (value != value) {
      any_nan = true;
      return;
    }
    const bool zero_tie = value == result && (std::bit_cast<std::uint32_t>(value) >> 31 != 0) != is_max;
    if (first || (is_max ? value > result : value < result) || zero_tie) result = value;
    first = false;
  });
  if (first || (nan_wins && any_nan)) return 0x7fffffffU;
  return std::bit_cast<std::uint32_t>(result);
}

std::uint32_t combine(std::uint32_t kind, std::uint32_t a, std::uint32_t b) {
  const auto sa = static_cast<std::int32_t>(a);
  const auto sb = static_cast<std::int32_t>(b);
  switch (kind) {
    case SG_R_ADD:
      return a + b;
    case SG_R_MIN_S:
      return sa < sb ? a : b;
    case SG_R_MAX_S:
      return sa > sb ? a : b;
    case SG_R_MIN_U:
      return std::min(a, b);
    case SG_R_MAX_U:
      return std::max(a, b);
    case SG_R_AND:
      return a & b;
    case SG_R_OR:
      return a | b;
    default:
      return a ^ b;
  }
}

void reduce(Threads threads, std::uint32_t group, std::uint32_t kind) {
  std::uint32_t result = 0;
  if ((kind & 0xf) >= SG_R_FMIN) {
    result = reduce_floats(threads, group, kind);
  } else {
    result = threads[std::countr_zero(group)]->in[1];
    each_lane(group & (group - 1), [&](std::uint32_t lane) { result = combine(kind, result, threads[lane]->in[1]); });
  }
  each_lane(group, [&](std::uint32_t lane) { threads[lane]->out[0] = result; });
}

void elect(Threads threads, std::uint32_t group) {
  const auto leader = static_cast<std::uint32_t>(std::countr_zero(group));
  each_lane(group, [&](std::uint32_t lane) {
    threads[lane]->out[0] = leader;
    threads[lane]->out[1] = lane == leader ? 1 : 0;
  });
}

std::uint64_t row_address(const sg_thread& thread) {
  return static_cast<std::uint64_t>(thread.in[2]) << 32 | thread.in[1];
}

/// The 16 bytes of row `row` of matrix `matrix`: the address is in lane 8 * matrix + row.
std::uint8_t* row_place(Worker& worker, Threads threads, std::uint32_t matrix, std::uint32_t row, bool write) {
  const sg_thread* thread = threads[8 * matrix + row];
  if (thread == nullptr) return nullptr;
  return abi::helper::reach(&worker, row_address(*thread), 16, write ? 1 : 0, thread->line);
}

void load_matrices(Worker& worker, Threads threads, std::uint32_t count, bool transposed) {
  for (std::uint32_t matrix = 0; matrix < count; ++matrix) {
    std::uint16_t elements[8][8] = {};
    for (std::uint32_t row = 0; row < 8; ++row) {
      if (const std::uint8_t* place = row_place(worker, threads, matrix, row, false)) std::memcpy(elements[row], place, 16);
    }
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      if (threads[lane] == nullptr) continue;
      std::uint32_t word = 0;
      for (std::uint32_t i = 0; i < 2; ++i) {
        const std::uint32_t row = lane / 4;
        const std::uint32_t column = lane % 4 * 2 + i;
        word |= static_cast<std::uint32_t>(transposed ? elements[column][row] : elements[row][column]) << (16 * i);
      }
      threads[lane]->out[matrix] = word;
    }
  }
}

void store_matrices(Worker& worker, Threads threads, std::uint32_t count, bool transposed) {
  for (std::uint32_t matrix = 0; matrix < count; ++matrix) {
    std::uint16_t elements[8][8] = {};
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      if (threads[lane] == nullptr) continue;
      for (std::uint32_t i = 0; i < 2; ++i) {
        const auto value = static_cast<std::uint16_t>(threads[lane]->in[3 + matrix] >> (16 * i));
        const std::uint32_t row = lane / 4;
        const std::uint32_t column = lane % 4 * 2 + i;
        (transposed ? elements[column][row] : elements[row][column]) = value;
      }
    }
    for (std::uint32_t row = 0; row < 8; ++row) {
      if (std::uint8_t* place = row_place(worker, threads, matrix, row, true)) std::memcpy(place, elements[row], 16);
    }
  }
}

}  // namespace

void resolve_warp_operation(Worker& worker, Threads threads, std::uint32_t group) {
  const std::uint32_t op = threads[std::countr_zero(group)]->op;
  const std::uint32_t detail = op >> 8;
  switch (op & 0xff) {
    case SG_W_SYNC:
      return;
    case SG_W_SHFL_UP:
    case SG_W_SHFL_DOWN:
    case SG_W_SHFL_BFLY:
    case SG_W_SHFL_IDX:
      return shuffle(threads, group, op & 0xff);
    case SG_W_VOTE_ALL:
    case SG_W_VOTE_ANY:
    case SG_W_VOTE_UNI:
    case SG_W_VOTE_BALLOT:
      return vote(threads, group, op & 0xff);
    case SG_W_MATCH_ANY:
      return match(threads, group, false);
    case SG_W_MATCH_ALL:
      return match(threads, group, true);
    case SG_W_ACTIVEMASK:
      return each_lane(group, [&](std::uint32_t lane) { threads[lane]->out[0] = group; });
    case SG_W_ELECT:
      return elect(threads, group);
    case SG_W_REDUX:
      return reduce(threads, group, detail & 0xff);
    case SG_W_MMA:
      return multiply_matrices(threads, op);
    case SG_W_LDMATRIX:
      return load_matrices(worker, threads, detail & 0xff, (op >> 16 & 1) != 0);
    case SG_W_STMATRIX:
      return store_matrices(worker, threads, detail & 0xff, (op >> 16 & 1) != 0);
    case SG_W_MOVMATRIX:
      return transpose_matrix(threads);
    default:
      worker.leave(Outcome::Kind::unsupported, threads[std::countr_zero(group)]->line);
  }
}

}  // namespace cupool::simgpu::ptx
