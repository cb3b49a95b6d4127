// SPDX-License-Identifier: Apache-2.0
//
// Entry points: launches as they were before CUDA 4.0. The function object collects shape and parameters until it is launched.
#include <cstring>

#include "tools/simgpu/exec/forms.h"
#include "tools/simgpu/exec/issue.h"
#include "tools/simgpu/module/module_table.h"

using namespace cupool::simgpu;

namespace {

// As large as a parameter buffer may be.
constexpr std::size_t kMostParameterBytes = 4096;

template <class Body>
CUresult enter_legacy(EntryId id, CUfunction handle, Body&& body) {
  return enter(
      id, Needs::context,
      [&](Call& call) -> CUresult {
        const std::shared_ptr<Function> function = function_of(handle, *call.context);
        if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        const std::lock_guard lock(function->legacy_mutex);
        return body(function->legacy);
      },
      handle);
}

CUresult put(EntryId id, CUfunction handle, int offset, const void* value, std::size_t bytes) {
  return enter_legacy(id, handle, [&](Function::LegacyLaunch& launch) -> CUresult {
    if (offset < 0 || value == nullptr || static_cast<std::size_t>(offset) + bytes > kMostParameterBytes)
      return CUDA_ERROR_INVALID_VALUE;
    const std::size_t end = static_cast<std::size_t>(offset) + bytes;
    if (launch.parameters.size() < end) launch.parameters.resize(end);
    std::memcpy(launch.parameters.data() + offset, value, bytes);
    return CUDA_SUCCESS;
  });
}

CUresult launch_collected(EntryId id, CUfunction handle, int width, int height, CUstream stream_handle) {
  return enter_stream(id, Needs::context, StreamMode::legacy, stream_handle, [&](Call&, Stream& stream) -> CUresult {
    const std::shared_ptr<Function> function = function_of(handle, stream.context());
    if (function == nullptr || &function->context() != &stream.context()) return CUDA_ERROR_INVALID_HANDLE;
    if (width <= 0 || height <= 0) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard lock(function->legacy_mutex);
    Function::LegacyLaunch& collected = function->legacy;
    std::size_t size = collected.parameters.size();
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, collected.parameters.data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    const LaunchRequest request{{static_cast<unsigned>(width), static_cast<unsigned>(height), 1},
                                {collected.block[0], collected.block[1], collected.block[2]},
                                collected.shared_bytes,
                                false,
                                nullptr,
                                extra};
    KernelOperation kernel;
    const CUresult prepared = prepare_launch(function, request, kernel);
    return prepared == CUDA_SUCCESS ? issue(stream, make_operation(stream.context(), std::move(kernel))) : prepared;
  });
}

}  // namespace

CUresult cuFuncSetBlockShape(CUfunction function, int x, int y, int z) {
  return enter_legacy(EntryId::cuFuncSetBlockShape, function, [&](Function::LegacyLaunch& launch) -> CUresult {
    if (x <= 0 || y <= 0 || z <= 0) return CUDA_ERROR_INVALID_VALUE;
    launch.block[0] = static_cast<unsigned>(x);
    launch.block[1] = static_cast<unsigned>(y);
    launch.block[2] = static_cast<unsigned>(z);
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncSetSharedSize(CUfunction function, unsigned int bytes) {
  return enter_legacy(EntryId::cuFuncSetSharedSize, function, [&](Function::LegacyLaunch& launch) -> CUresult {
    launch.shared_bytes = bytes;
    return CUDA_SUCCESS;
  });
}

CUresult cuParamSetSize(CUfunction function, unsigned int bytes) {
  return enter_legacy(EntryId::cuParamSetSize, function, [&](Function::LegacyLaunch& launch) -> CUresult {
    if (bytes > kMostParameterBytes) return CUDA_ERROR_INVALID_VALUE;
    launch.parameters.resize(bytes);
    return CUDA_SUCCESS;
  });
}

CUresult cuParamSeti(CUfunction function, int offset, unsigned int value) {
  return put(EntryId::cuParamSeti, function, offset, &value, sizeof value);
}
CUresult cuParamSetf(CUfunction function, int offset, float value) {
  return put(EntryId::cuParamSetf, function, offset, &value, sizeof value);
}
CUresult cuParamSetv(CUfunction function, int offset, void* value, unsigned int bytes) {
  return put(EntryId::cuParamSetv, function, offset, value, bytes);
}

CUresult cuLaunch(CUfunction function) {
  return launch_collected(EntryId::cuLaunch, function, 1, 1, nullptr);
}
CUresult cuLaunchGrid(CUfunction function, int width, int height) {
  return launch_collected(EntryId::cuLaunchGrid, function, width, height, nullptr);
}
CUresult cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream) {
  return launch_collected(EntryId::cuLaunchGridAsync, function, width, height, stream);
}
