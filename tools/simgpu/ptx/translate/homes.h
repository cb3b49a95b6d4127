// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tools/simgpu/ptx/syntax/module.h"

namespace cupool::simgpu::ptx {

/// The C type that a register lives in. Declarations do not decide it: from sm_100 on `.b32` registers hold floats.
enum class Home : std::uint8_t { predicate, u16, u32, u64, f32, f64, u8, wide };

struct RegisterHome {
  Home home = Home::u32;
  /// Every definition is floating-point arithmetic, a constant, or a copy of such a register, so a NaN in it may still carry
  /// whatever payload the host's arithmetic left: it must be made the canonical NaN where its bits are seen. Registers that are not
  /// pure get the canonical NaN where they are computed, since what is loaded into them must keep its bits.
  bool pure = false;
};

/// Chooses homes by how instructions use each register.
std::vector<RegisterHome> choose_homes(const Function& function);

}  // namespace cupool::simgpu::ptx
