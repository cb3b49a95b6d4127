// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The vocabulary of the CUDA driver interface in declarations of our own: every type, enumerator, structure and handle that an
/// entry point of the 13.0 driver mentions, under CUDA's own global names, so that a definition of an entry point has exactly the
/// ABI its callers expect. Usable from C++20 and C; includes nothing of the toolkit and must not meet cuda.h in one translation
/// unit.
///
/// Names without a version suffix mean the newest form; `_v1` and so on are the ABIs that older exported names take. A value or a
/// layout that differs from the genuine header fails tests/shim/abi, which compiles one program against both.

#define CUDA_VERSION 13000

#include "shim/abi/types/array.h"
#include "shim/abi/types/base.h"
#include "shim/abi/types/context.h"
#include "shim/abi/types/copy.h"
#include "shim/abi/types/device.h"
#include "shim/abi/types/external.h"
#include "shim/abi/types/graph.h"
#include "shim/abi/types/launch.h"
#include "shim/abi/types/memory.h"
#include "shim/abi/types/module.h"
#include "shim/abi/types/result.h"
#include "shim/abi/types/stream.h"
