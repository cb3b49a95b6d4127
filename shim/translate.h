// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/base/result.h"
#include "pool/request.h"
#include "shim/abi/cuda_types.h"

namespace cupool::shim {

/// The code a program is told for a request that the pool refused. Whatever means "no memory for you" is exactly
/// CUDA_ERROR_OUT_OF_MEMORY: every framework empties its cache and retries on that code, and on no other.
CUresult code_of(const pool::Refusal& refusal);

/// What a driver's code means inside.
Errc errc_of(CUresult code);

/// After these every call in the context fails for good: we make no further driver call in it.
constexpr bool is_fatal_to_context(CUresult code) {
  switch (code) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_DEINITIALIZED:
      return true;
    default:
      return false;
  }
}

}  // namespace cupool::shim
