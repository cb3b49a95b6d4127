// SPDX-License-Identifier: Apache-2.0
// Integer helpers of generated code: what C has no operator for, or tcc no 128 bits.
#include <algorithm>
#include <bit>

#include "tools/simgpu/ptx/runtime/helpers.h"

namespace cupool::simgpu::ptx::abi::helper {

u64 mulhi_u64(u64 a, u64 b) {
  return static_cast<u64>(static_cast<unsigned __int128>(a) * b >> 64);
}
u64 mulhi_s64(u64 a, u64 b) {
  return static_cast<u64>(static_cast<__int128>(static_cast<s64>(a)) * static_cast<s64>(b) >> 64);
}

u32 popc(u64 a) {
  return static_cast<u32>(std::popcount(a));
}

u32 clz(u64 a, u32 bits) {
  return static_cast<u32>(std::countl_zero(a)) - (64 - bits);
}

u64 brev(u64 a, u32 bits) {
  u64 out = 0;
  for (u32 i = 0; i < bits; ++i) out |= (a >> i & 1) << (bits - 1 - i);
  return out;
}

u32 bfind(u64 a, u32 bits, u32 is_signed, u32 shift_amount) {
  const u64 all = bits == 64 ? ~u64{0} : (u64{1} << bits) - 1;
  if (is_signed != 0 && (a >> (bits - 1) & 1) != 0) a = ~a & all;
  if (a == 0) return 0xffffffffU;
  const u32 position = 63 - static_cast<u32>(std::countl_zero(a));
  return shift_amount != 0 ? bits - 1 - position : position;
}

u32 fns(u32 mask, u32 base, s32 offset) {
  if (base > 31) return 0xffffffffU;
  if (offset == 0) return (mask >> base & 1) != 0 ? base : 0xffffffffU;
  const s32 step = offset < 0 ? -1 : 1;
  s64 left = offset < 0 ? -static_cast<s64>(offset) : offset;
  for (s32 at = static_cast<s32>(base); at >= 0 && at < 32; at += step) {
    if ((mask >> at & 1) != 0 && --left == 0) return static_cast<u32>(at);
  }
  return 0xffffffffU;
}

u64 bfe(u64 a, u32 position, u32 length, u32 bits, u32 is_signed) {
  position &= 0xff;
  length &= 0xff;
  const u32 last = bits - 1;
  const u64 sign = is_signed == 0 || length == 0 ? 0 : a >> std::min(position + length - 1, last) & 1;
  u64 out = 0;
  for (u32 i = 0; i <= last; ++i) {
    const u64 bit = i < length && position + i <= last ? a >> (position + i) & 1 : sign;
    out |= bit << i;
  }
  return out;
}

u64 bfi(u64 a, u64 b, u32 position, u32 length, u32 bits) {
  position &= 0xff;
  length &= 0xff;
  for (u32 i = 0; i < length && position + i < bits; ++i) {
    const u64 place = u64{1} << (position + i);
    b = (a >> i & 1) != 0 ? b | place : b & ~place;
  }
  return b;
}

namespace {

u32 byte_of(u64 both, u32 index) {
  return static_cast<u32>(both >> (8 * index) & 0xff);
}

u32 permuted_index(u32 mode, u32 selector, u32 byte) {
  const u32 s = selector & 3;
  switch (mode) {
    case 1:
      return s + byte;  // forward 4 extract
    case 2:
      return (s - byte) & 7;  // backward 4 extract
    case 3:
      return s;  // replicate 8
    case 4:
      return std::max(byte, s);  // edge clamp left
    case 5:
      return std::min(byte, s);  // edge clamp right
    default:
      return (s & 1) * 2 + (byte & 1);  // replicate 16
  }
}

}  // namespace

u32 prmt(u32 a, u32 b, u32 selector, u32 mode) {
  const u64 both = static_cast<u64>(b) << 32 | a;
  u32 out = 0;
  for (u32 byte = 0; byte < 4; ++byte) {
    u32 value = 0;
    if (mode == 0) {
      const u32 nibble = selector >> (4 * byte) & 0xf;
      value = byte_of(both, nibble & 7);
      if ((nibble & 8) != 0) value = (value & 0x80) != 0 ? 0xff : 0;
    } else {
      value = byte_of(both, permuted_index(mode, selector, byte));
    }
    out |= value << (8 * byte);
  }
  return out;
}

namespace {

s64 extend(u32 value, u32 bits, u32 is_signed) {
  const u32 shift = 32 - bits;
  return is_signed != 0 ? static_cast<s32>(value << shift) >> shift : static_cast<s64>(value << shift >> shift);
}

}  // namespace

u32 dp4a(u32 a, u32 b, u32 c, u32 a_signed, u32 b_signed) {
  u32 sum = c;
  for (u32 i = 0; i < 4; ++i) sum += static_cast<u32>(extend(a >> (8 * i), 8, a_signed) * extend(b >> (8 * i), 8, b_signed));
  return sum;
}

u32 dp2a(u32 a, u32 b, u32 c, u32 a_signed, u32 b_signed, u32 high) {
  u32 sum = c;
  const u32 bytes = high != 0 ? b >> 16 : b;
  for (u32 i = 0; i < 2; ++i) sum += static_cast<u32>(extend(a >> (16 * i), 16, a_signed) * extend(bytes >> (8 * i), 8, b_signed));
  return sum;
}

}  // namespace cupool::simgpu::ptx::abi::helper
