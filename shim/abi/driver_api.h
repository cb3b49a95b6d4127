// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Prototypes of all 637 names that the 13.0 driver exports, with the ABI of exactly that exported name: a plain name that has a
/// `_v2` is the oldest form (CUdeviceptr_v1 and 32-bit sizes where it dates from before 3.2), `_ptsz` and `_ptds` are the forms
/// whose NULL stream is the calling thread's own. Nothing here renames anything, unlike the toolkit's header, which turns
/// `cuMemAlloc` into `cuMemAlloc_v2`.
///
/// Who defines one of these exports it: the declarations carry default visibility, whatever the room is compiled with.
///
/// CUPOOL_ABI_BEGIN and CUPOOL_ABI_END enclose every group; define both before including this header to give the declarations
/// another linkage.

#include "shim/abi/cuda_types.h"

#ifndef CUPOOL_ABI_BEGIN
#ifdef __cplusplus
#define CUPOOL_ABI_BEGIN _Pragma("GCC visibility push(default)") extern "C" {
#define CUPOOL_ABI_END \
  }                    \
  _Pragma("GCC visibility pop")
#else
#define CUPOOL_ABI_BEGIN _Pragma("GCC visibility push(default)")
#define CUPOOL_ABI_END _Pragma("GCC visibility pop")
#endif
#endif

#include "shim/abi/api/array.h"
#include "shim/abi/api/context.h"
#include "shim/abi/api/copy.h"
#include "shim/abi/api/graph.h"
#include "shim/abi/api/memory.h"
#include "shim/abi/api/module.h"
#include "shim/abi/api/stream.h"
