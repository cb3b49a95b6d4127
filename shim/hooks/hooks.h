// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/abi/driver_api.h"
#include "shim/abi/nvml_types.h"

/// The hooks: one function per `hook` row, with the exported function's own name and signature, defined in shim/hooks/<family>.cpp
/// as
///
///   CUresult hook::cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) { ... }
///
/// from inside namespace cupool. A definition whose signature has drifted from shim/abi/driver_api.h matches no declaration here
/// and does not compile; one that is missing in a family that families.def serves by `function` does not link.
///
/// A hook runs with the session started and this thread marked as ours, so that every driver call it makes
/// (`driver::cuMemCreate(...)`, shim/real_driver.h) passes all hooks. It may throw; Gate turns that into a code.
namespace cupool::hook {

#define CUPOOL_DECLARE_HOOK_pass(exported)
#define CUPOOL_DECLARE_HOOK_count(exported)
#define CUPOOL_DECLARE_HOOK_hook(exported) decltype(::exported) exported;

#define CUPOOL_ENTRY(family, treatment, simgpu, exported, base, since, mode) CUPOOL_DECLARE_HOOK_##treatment(exported)
#include "shim/abi/entry_points.def"

#define CUPOOL_NVML(treatment, simgpu, exported) CUPOOL_DECLARE_HOOK_##treatment(exported)
#include "shim/abi/nvml_points.def"

#undef CUPOOL_DECLARE_HOOK_pass
#undef CUPOOL_DECLARE_HOOK_count
#undef CUPOOL_DECLARE_HOOK_hook

}  // namespace cupool::hook
