// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/abi/cuda_types.h"

/// What the runtime names of shim/abi/runtime_points.def need beyond the driver's types. The runtime's handles are the driver's,
/// and its results are numbers of the same list for everything that can happen here.

typedef int cudaError_t;
typedef CUstream cudaStream_t;
typedef CUmemoryPool cudaMemPool_t;
typedef struct cudaArray* cudaArray_t;
typedef struct cudaMipmappedArray* cudaMipmappedArray_t;
/// Only passed on by address.
struct cudaChannelFormatDesc;

struct cudaExtent {
  size_t width;
  size_t height;
  size_t depth;
};

struct cudaPitchedPtr {
  void* ptr;
  size_t pitch;
  size_t xsize;
  size_t ysize;
};
