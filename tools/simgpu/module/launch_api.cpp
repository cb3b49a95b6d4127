// SPDX-License-Identifier: Apache-2.0
//
// Entry points: launches.
#include "tools/simgpu/exec/event_object.h"
#include "tools/simgpu/exec/forms.h"
#include "tools/simgpu/exec/handle_table.h"
#include "tools/simgpu/exec/issue.h"
#include "tools/simgpu/module/module_table.h"

using namespace cupool::simgpu;

namespace {

CUresult launch_on(Stream& stream, CUfunction handle, const LaunchRequest& request) {
  const std::shared_ptr<Function> function = function_of(handle, stream.context());
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  // A function belongs to the context that its module was loaded in.
  if (&function->context() != &stream.context()) return CUDA_ERROR_INVALID_HANDLE;
  KernelOperation kernel;
  const CUresult prepared = prepare_launch(function, request, kernel);
  return prepared == CUDA_SUCCESS ? issue(stream, make_operation(stream.context(), std::move(kernel))) : prepared;
}

template <EntryId id, StreamMode mode>
CUresult launch(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                unsigned block_z, unsigned shared, CUstream handle, void** parameters, void** extra) {
  return enter_stream(
      id, Needs::context, mode, handle,
      [&](Call&, Stream& stream) {
        return launch_on(stream, function,
                         {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, false, parameters, extra});
      },
      function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared);
}

template <EntryId id, StreamMode mode>
CUresult launch_cooperative(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                            unsigned block_y, unsigned block_z, unsigned shared, CUstream handle, void** parameters) {
  return enter_stream(
      id, Needs::context, mode, handle,
      [&](Call&, Stream& stream) {
        return launch_on(stream, function,
                         {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, true, parameters, nullptr});
      },
      function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared);
}

/// What the attributes of an extended launch ask for, as far as it means something here.
struct LaunchAttributes {
  bool cooperative = false;
  CUevent completion = nullptr;
};

CUresult read_attributes(const CUlaunchConfig& config, LaunchAttributes& wanted) {
  if (config.numAttrs > 0 && config.attrs == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    switch (attribute.id) {
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        wanted.cooperative = attribute.value.cooperative != 0;
        break;
      case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
        wanted.completion = attribute.value.launchCompletionEvent.event;
        break;
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
        wanted.completion = attribute.value.programmaticEvent.event;
        break;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: {
        const auto& cluster = attribute.value.clusterDim;
        if (cluster.x * cluster.y * cluster.z > 1) return CUDA_ERROR_NOT_SUPPORTED;
        break;
      }
      default:  // preferences: they change no result
        if (attribute.id >= CU_LAUNCH_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
        break;
    }
  }
  return CUDA_SUCCESS;
}

CUresult launch_extended(Stream& stream, const CUlaunchConfig& config, CUfunction function, void** parameters, void** extra) {
  LaunchAttributes wanted;
  CUresult code = read_attributes(config, wanted);
  if (code != CUDA_SUCCESS) return code;
  std::shared_ptr<Event> event;
  if (wanted.completion != nullptr) {
    event = handles<Event>().find(wanted.completion);
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  }
  const LaunchRequest request{{config.gridDimX, config.gridDimY, config.gridDimZ},
                              {config.blockDimX, config.blockDimY, config.blockDimZ},
                              config.sharedMemBytes,
                              wanted.cooperative,
                              parameters,
                              extra};
  code = launch_on(stream, function, request);
  // Recorded after the kernel: later than the hardware may, never earlier than it promises.
  if (code == CUDA_SUCCESS && event != nullptr) code = issue(stream, make_operation(stream.context(), EventRecordOperation{event}));
  return code;
}

template <EntryId id, StreamMode mode>
CUresult launch_ex(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
  const CUstream handle = config != nullptr ? config->hStream : nullptr;
  return enter_stream(
      id, Needs::context, mode, handle,
      [&](Call&, Stream& stream) -> CUresult {
        if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
        return launch_extended(stream, *config, function, parameters, extra);
      },
      function);
}

}  // namespace

SIMGPU_FORMS(cuLaunchKernel, cuLaunchKernel_ptsz, launch,
             (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x,
              unsigned int block_y, unsigned int block_z, unsigned int shared, CUstream stream, void** parameters, void** extra),
             (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, parameters, extra))
SIMGPU_FORMS(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel_ptsz, launch_cooperative,
             (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x,
              unsigned int block_y, unsigned int block_z, unsigned int shared, CUstream stream, void** parameters),
             (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, parameters))
SIMGPU_FORMS(cuLaunchKernelEx, cuLaunchKernelEx_ptsz, launch_ex,
             (const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra),
             (config, function, parameters, extra))
