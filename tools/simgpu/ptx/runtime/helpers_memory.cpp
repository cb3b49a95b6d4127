// SPDX-License-Identifier: Apache-2.0
// Memory helpers of generated code: translation, atomics, copies.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "tools/simgpu/ptx/runtime/helpers.h"
#include "tools/simgpu/ptx/runtime/worker.h"

namespace cupool::simgpu::ptx {
namespace {

constexpr std::uint64_t kPage = 4096;

[[noreturn]] void leave_at(Worker& worker, Outcome::Kind kind, Fault::Where where, std::uint64_t address, std::uint32_t size,
                           bool write, std::uint32_t line) {
  worker.fault = Fault{};
  worker.fault.address = address;
  worker.fault.size = size;
  worker.fault.write = write;
  worker.fault.where = where;
  worker.leave(kind, line);
}

/// An access to one of the small memories of a block or thread.
std::uint8_t* within(Worker& worker, Fault::Where where, std::uint8_t* base, std::uint64_t limit, std::uint64_t address,
                     std::uint32_t size, bool write, std::uint32_t line) {
  if ((address & (size - 1)) != 0) leave_at(worker, Outcome::Kind::misaligned, where, address, size, write, line);
  if (address > limit || limit - address < size)
    leave_at(worker, Outcome::Kind::illegal_address, where, address, size, write, line);
  return base + address;
}

void remember(Worker& worker, const Window& window, std::uint64_t address) {
  if (worker.state->control.check) return;
  abi::sg_page& page = worker.pages[(address / kPage) % SG_PAGES];
  const std::uint64_t begin = address & ~(kPage - 1);
  if (begin < window.begin || begin + kPage > window.end) return;
  page.read = window.readable ? begin : 1;
  page.write = window.writable ? begin : 1;
  page.delta = reinterpret_cast<std::uint64_t>(window.host) - window.begin;
}

}  // namespace

std::uint8_t* peek(Worker& worker, std::uint64_t address, std::uint32_t size) {
  const std::uint64_t offset = address & ~SG_WINDOW_MASK;
  switch (address & SG_WINDOW_MASK) {
    case 0:
      break;
    case SG_WINDOW_SHARED:
      return offset + size <= worker.shared_limit ? worker.shared + offset : nullptr;
    case SG_WINDOW_LOCAL:
      return offset + size <= worker.local_limit ? worker.local + offset : nullptr;
    case SG_WINDOW_PARAM:
      return offset + size <= worker.param_size ? worker.params + offset : nullptr;
    default:
      return nullptr;
  }
  const auto window = worker.state->memory.find(address);
  if (!window || !window->readable || window->end - address < size) return nullptr;
  return reinterpret_cast<std::uint8_t*>(window->host) + (address - window->begin);
}

std::string read_text(Worker& worker, std::uint64_t address) {
  std::string text;
  for (std::uint64_t i = 0; i < 1024; ++i) {
    const std::uint8_t* byte = peek(worker, address + i, 1);
    if (byte == nullptr) return text.empty() ? "?" : text;
    if (*byte == 0) break;
    text.push_back(static_cast<char>(*byte));
  }
  return text;
}

namespace abi::helper {

u8* reach_shared(sg_ctx* c, u64 address, u32 size, u32 write, u32 line) {
  Worker& worker = Worker::from(c);
  return within(worker, Fault::Where::shared, worker.shared, worker.shared_limit, address, size, write != 0, line);
}

u8* reach_local(sg_ctx* c, u64 address, u32 size, u32 write, u32 line) {
  Worker& worker = Worker::from(c);
  return within(worker, Fault::Where::local, worker.local, worker.local_limit, address, size, write != 0, line);
}

u8* reach_param(sg_ctx* c, u64 address, u32 size, u32 write, u32 line) {
  Worker& worker = Worker::from(c);
  if ((address & SG_WINDOW_MASK) == SG_WINDOW_PARAM) address &= ~SG_WINDOW_MASK;
  return within(worker, Fault::Where::param, worker.params, worker.param_size, address, size, write != 0, line);
}

u8* reach(sg_ctx* c, u64 address, u32 size, u32 write, u32 line) {
  Worker& worker = Worker::from(c);
  const u64 window_mark = address & SG_WINDOW_MASK;
  if (window_mark != 0) {
    const u64 offset = address & ~SG_WINDOW_MASK;
    if (window_mark == SG_WINDOW_SHARED) return reach_shared(c, offset, size, write, line);
    if (window_mark == SG_WINDOW_LOCAL) return reach_local(c, offset, size, write, line);
    if (window_mark == SG_WINDOW_PARAM && write == 0) return reach_param(c, offset, size, write, line);
    leave_at(worker, Outcome::Kind::illegal_address, Fault::Where::global, address, size, write != 0, line);
  }
  if ((address & (size - 1)) != 0)
    leave_at(worker, Outcome::Kind::misaligned, Fault::Where::global, address, size, write != 0, line);
  const auto window = worker.state->memory.find(address);
  const bool allowed = window && (write != 0 ? window->writable : window->readable);
  // An aligned access never crosses a page, but a window might end at any 4 KiB.
  if (!allowed || address < window->begin || address + size > window->end) {
    leave_at(worker, Outcome::Kind::illegal_address, Fault::Where::global, address, size, write != 0, line);
  }
  bool live = true;
  if (worker.state->control.check) live = worker.state->memory.check(address, size, write != 0).inside;
  if (!live) leave_at(worker, Outcome::Kind::illegal_address, Fault::Where::global, address, size, write != 0, line);
  remember(worker, *window, address);
  return reinterpret_cast<u8*>(window->host) + (address - window->begin);
}

void async_copy(sg_ctx* c, u64 to, u64 from, u32 size, u32 from_size, u32 line) {
  u8* target = reach_shared(c, to, size, 1, line);
  const u32 taken = std::min(size, from_size);
  if (taken > 0) {
    // Alignment is that of the whole piece even if only a part of it is read.
    const u8* source = reach(c, from, size, 0, line);
    std::memcpy(target, source, taken);
  }
  std::memset(target + taken, 0, size - taken);
}

void fence(void) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace abi::helper

namespace {

template <class T>
T integer_result(std::uint32_t op, T old, T a) {
  switch (op) {
    case SG_A_ADD:
      return static_cast<T>(old + a);
    case SG_A_MIN:
      return std::min(old, a);
    case SG_A_MAX:
      return std::max(old, a);
    case SG_A_INC:
      return old >= a ? T{0} : static_cast<T>(old + 1);
    case SG_A_DEC:
      return old == 0 || old > a ? a : static_cast<T>(old - 1);
    case SG_A_AND:
      return old & a;
    case SG_A_OR:
      return old | a;
    case SG_A_XOR:
      return old ^ a;
    default:
      return a;
  }
}

/// Applies `change` to the word at `place` as one atomic step and gives the old value.
template <class T, class Change>
T update(std::uint8_t* place, const Change& change) {
  T* word = reinterpret_cast<T*>(place);
  T old = __atomic_load_n(word, __ATOMIC_SEQ_CST);
  while (true) {
    const T next = change(old);
    if (__atomic_compare_exchange_n(word, &old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return old;
  }
}

template <class T, class Signed>
std::uint64_t integer_atomic(std::uint8_t* place, std::uint32_t op, bool is_signed, std::uint64_t a, std::uint64_t b) {
  if (op == SG_A_CAS) {
    return update<T>(place, [&](T old) { return old == static_cast<T>(a) ? static_cast<T>(b) : old; });
  }
  return update<T>(place, [&](T old) {
    if (!is_signed) return integer_result<T>(op, old, static_cast<T>(a));
    return static_cast<T>(integer_result<Signed>(op, static_cast<Signed>(old), static_cast<Signed>(static_cast<T>(a))));
  });
}

std::uint32_t canonical(float value) {
  return value != value ? 0x7fffffffU : std::bit_cast<std::uint32_t>(value);
}
std::uint64_t canonical(double value) {
  return value != value ? 0x7ff8000000000000ULL : std::bit_cast<std::uint64_t>(value);
}

std::uint32_t half_number(std::uint32_t op) {
  return op == SG_A_ADD ? SG_ADD : op == SG_A_MIN ? SG_MIN : SG_MAX;
}

}  // namespace

namespace abi::helper {

u64 atom(sg_ctx* c, u64 address, u32 op, u64 a, u64 b, u32 line) {
  const u32 operation = op & 0xff;
  const u32 type = op >> 8 & 0x3f;
  const bool pair = (op >> 8 & SG_X2) != 0;
  u32 size = 4;
  if (type == SG_T_U64 || type == SG_T_S64 || type == SG_T_F64) size = 8;
  if (type == SG_T_U16 || type == SG_T_S16 || ((type == SG_T_F16 || type == SG_T_BF16) && !pair)) size = 2;
  u8* place = nullptr;
  if ((op & SG_A_SHARED) != 0)
    place = reach_shared(c, address, size, 1, line);
  else if ((op & SG_A_LOCAL) != 0)
    place = reach_local(c, address, size, 1, line);
  else
    place = reach(c, address, size, 1, line);
  switch (type) {
    case SG_T_U16:
      return integer_atomic<u16, s16>(place, operation, false, a, b);
    case SG_T_U32:
      return integer_atomic<u32, s32>(place, operation, false, a, b);
    case SG_T_S32:
      return integer_atomic<u32, s32>(place, operation, true, a, b);
    case SG_T_U64:
      return integer_atomic<u64, s64>(place, operation, false, a, b);
    case SG_T_S64:
      return integer_atomic<u64, s64>(place, operation, true, a, b);
    case SG_T_F32:
      return update<u32>(place,
                         [&](u32 old) { return canonical(std::bit_cast<float>(old) + std::bit_cast<float>(static_cast<u32>(a))); });
    case SG_T_F64:
      return update<u64>(place, [&](u64 old) { return canonical(std::bit_cast<double>(old) + std::bit_cast<double>(a)); });
    case SG_T_F16:
    case SG_T_BF16: {
      const u32 bfloat = type == SG_T_BF16 ? 1 : 0;
      const u32 number = half_number(operation);
      const auto lane = [&](u32 x, u32 y) { return half_op(number, bfloat, 0, x & 0xffff, y & 0xffff, 0); };
      const u32 given = static_cast<u32>(a);
      if (!pair) return update<u16>(place, [&](u16 old) { return static_cast<u16>(lane(old, given)); });
      return update<u32>(place, [&](u32 old) { return lane(old, given) | lane(old >> 16, given >> 16) << 16; });
    }
    default:
      Worker::from(c).leave(Outcome::Kind::unsupported, line);
  }
}

}  // namespace abi::helper
}  // namespace cupool::simgpu::ptx
