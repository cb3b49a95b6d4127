// SPDX-License-Identifier: Apache-2.0
#include "shim/translate.h"

namespace cupool::shim {

CUresult code_of(const pool::Refusal& refusal) {
  switch (refusal.rule) {
    case pool::Rule::bad_request:
      return CUDA_ERROR_INVALID_VALUE;
    case pool::Rule::job_limit:
    case pool::Rule::pool_capacity:
    case pool::Rule::device_full:
    case pool::Rule::fragmented:
    case pool::Rule::address_space:
    case pool::Rule::driver:
    case pool::Rule::host_memory:
    case pool::Rule::waiting:
      return CUDA_ERROR_OUT_OF_MEMORY;
  }
  return CUDA_ERROR_OUT_OF_MEMORY;
}

Errc errc_of(CUresult code) {
  switch (code) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return Errc::no_memory;
    case CUDA_ERROR_INVALID_VALUE:
      return Errc::invalid_argument;
    case CUDA_ERROR_NOT_SUPPORTED:
    case CUDA_ERROR_NOT_PERMITTED:
      return Errc::unsupported;
    default:
      return Errc::driver;
  }
}

}  // namespace cupool::shim
