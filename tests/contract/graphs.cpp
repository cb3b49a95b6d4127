// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>

#include "tests/contract/areas.h"

namespace contract {
namespace {

CUDA_MEMSET_NODE_PARAMS set_of(CUdeviceptr at, unsigned value, std::size_t width) {
  CUDA_MEMSET_NODE_PARAMS parameters{};
  parameters.dst = at;
  parameters.value = value;
  parameters.elementSize = 1;
  parameters.width = width;
  parameters.height = 1;
  return parameters;
}

CUDA_MEMCPY3D copy_of(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.dstDevice = to;
  copy.WidthInBytes = bytes;
  copy.Height = copy.Depth = 1;
  return copy;
}

void observe_building(const Driver& driver, Observer& observer, CUdeviceptr block) {
  CUcontext context = nullptr;
  driver.cuCtxGetCurrent(&context);
  CUgraph graph = nullptr;
  CUgraphNode set = nullptr, copy = nullptr, host = nullptr, empty = nullptr;
  observer.expect("create", driver.cuGraphCreate(&graph, 0), CUDA_SUCCESS, Source::header);
  observer.expect("create_flags", driver.cuGraphCreate(&graph, 7), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("create_null", driver.cuGraphCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE, Source::header);
  const CUDA_MEMSET_NODE_PARAMS set_parameters = set_of(block, 0x21, 256);
  observer.expect("add_set", driver.cuGraphAddMemsetNode(&set, graph, nullptr, 0, &set_parameters, context), CUDA_SUCCESS,
                  Source::header);
  const CUDA_MEMCPY3D copy_parameters = copy_of(block + 1024, block, 256);
  observer.expect("add_copy", driver.cuGraphAddMemcpyNode(&copy, graph, &set, 1, &copy_parameters, context), CUDA_SUCCESS,
                  Source::header);
  static std::atomic<int> calls{0};
  calls = 0;
  CUDA_HOST_NODE_PARAMS host_parameters{};
  host_parameters.fn = [](void*) { ++calls; };
  observer.expect("add_host", driver.cuGraphAddHostNode(&host, graph, &copy, 1, &host_parameters), CUDA_SUCCESS, Source::header);
  observer.expect("add_empty", driver.cuGraphAddEmptyNode(&empty, graph, nullptr, 0), CUDA_SUCCESS, Source::header);
  observer.expect("add_null_parameters", driver.cuGraphAddMemsetNode(&set, graph, nullptr, 0, nullptr, context),
                  CUDA_ERROR_INVALID_VALUE, Source::header);
  std::size_t count = 0;
  driver.cuGraphGetNodes(graph, nullptr, &count);
  observer.expect("nodes", count, std::size_t{4}, Source::header);
  driver.cuGraphGetRootNodes(graph, nullptr, &count);
  observer.expect("roots", count, std::size_t{2}, Source::header);
  CUgraphNodeType type{};
  driver.cuGraphNodeGetType(set, &type);
  observer.expect("type_set", static_cast<int>(type), 2, Source::header);
  driver.cuGraphNodeGetType(host, &type);
  observer.expect("type_host", static_cast<int>(type), 3, Source::header);
  observer.expect("edge_again", driver.cuGraphAddDependencies(graph, &set, &copy, 1), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("edge_to_itself", driver.cuGraphAddDependencies(graph, &set, &set, 1), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("edge_new", driver.cuGraphAddDependencies(graph, &host, &empty, 1), CUDA_SUCCESS, Source::header);
  observer.expect("edge_removed", driver.cuGraphRemoveDependencies(graph, &host, &empty, 1), CUDA_SUCCESS, Source::header);
  observer.expect("edge_removed_twice", driver.cuGraphRemoveDependencies(graph, &host, &empty, 1), CUDA_ERROR_INVALID_VALUE,
                  Source::header);
  CUDA_MEMSET_NODE_PARAMS read{};
  observer.expect("get_parameters", driver.cuGraphMemsetNodeGetParams(set, &read), CUDA_SUCCESS, Source::header);
  observer.expect("get_parameters_same", read.dst == block && read.value == 0x21 && read.width == 256, Source::header);

  CUgraphExec executable = nullptr;
  CUstream stream = nullptr;
  driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  observer.expect("instantiate", driver.cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS, Source::header);
  unsigned char byte = 0;
  for (int round = 1; round <= 3; ++round) driver.cuGraphLaunch(executable, stream);
  observer.expect("launch_three_times", driver.cuStreamSynchronize(stream), CUDA_SUCCESS, Source::header);
  observer.expect("host_node_ran_three_times", calls.load(), 3, Source::header);
  driver.cuMemcpyDtoH_v2(&byte, block + 1024 + 255, 1);
  observer.expect("copy_after_set", byte == 0x21, Source::header);
  const CUDA_MEMSET_NODE_PARAMS changed = set_of(block, 0x43, 256);
  observer.expect("update_set", driver.cuGraphExecMemsetNodeSetParams(executable, set, &changed, context), CUDA_SUCCESS,
                  Source::header);
  driver.cuGraphLaunch(executable, stream);
  driver.cuStreamSynchronize(stream);
  driver.cuMemcpyDtoH_v2(&byte, block + 1024, 1);
  observer.expect("update_takes_effect", byte == 0x43, Source::header);
  driver.cuGraphMemsetNodeGetParams(set, &read);
  observer.expect("update_leaves_the_graph", read.value, 0x21u, Source::header);

  CUgraph copy_of_graph = nullptr;
  observer.expect("clone", driver.cuGraphClone(&copy_of_graph, graph), CUDA_SUCCESS, Source::header);
  observer.expect("destroy_node", driver.cuGraphDestroyNode(empty), CUDA_SUCCESS, Source::header);
  driver.cuGraphGetNodes(graph, nullptr, &count);
  observer.expect("destroy_node_counts", count, std::size_t{3}, Source::header);
  driver.cuGraphGetNodes(copy_of_graph, nullptr, &count);
  observer.expect("clone_is_independent", count, std::size_t{4}, Source::header);
  observer.expect("destroy", driver.cuGraphDestroy(graph), CUDA_SUCCESS, Source::header);
  driver.cuGraphLaunch(executable, stream);
  observer.expect("executable_outlives_its_graph", driver.cuStreamSynchronize(stream), CUDA_SUCCESS, Source::header);
  observer.expect("destroy_executable", driver.cuGraphExecDestroy(executable), CUDA_SUCCESS, Source::header);
  driver.cuGraphDestroy(copy_of_graph);
  driver.cuStreamDestroy_v2(stream);
}

void observe_children(const Driver& driver, Observer& observer, CUdeviceptr block) {
  CUcontext context = nullptr;
  driver.cuCtxGetCurrent(&context);
  CUgraph child = nullptr, parent = nullptr;
  CUgraphNode node = nullptr, inner = nullptr;
  driver.cuGraphCreate(&child, 0);
  driver.cuGraphCreate(&parent, 0);
  const CUDA_MEMSET_NODE_PARAMS parameters = set_of(block + 2048, 0x66, 16);
  driver.cuGraphAddMemsetNode(&inner, child, nullptr, 0, &parameters, context);
  observer.expect("add_child", driver.cuGraphAddChildGraphNode(&node, parent, nullptr, 0, child), CUDA_SUCCESS, Source::header);
  driver.cuGraphDestroy(child);  // the node holds a copy
  CUgraphExec executable = nullptr;
  observer.expect("child_instantiate", driver.cuGraphInstantiateWithFlags(&executable, parent, 0), CUDA_SUCCESS, Source::header);
  driver.cuGraphLaunch(executable, nullptr);
  driver.cuCtxSynchronize();
  unsigned char byte = 0;
  driver.cuMemcpyDtoH_v2(&byte, block + 2048 + 15, 1);
  observer.expect("child_runs", byte == 0x66, Source::header);
  driver.cuGraphExecDestroy(executable);
  driver.cuGraphDestroy(parent);
}

void observe_cycles(const Driver& driver, Observer& observer) {
  CUgraph graph = nullptr;
  CUgraphNode one = nullptr, two = nullptr;
  driver.cuGraphCreate(&graph, 0);
  driver.cuGraphAddEmptyNode(&one, graph, nullptr, 0);
  driver.cuGraphAddEmptyNode(&two, graph, &one, 1);
  const CUresult edge = driver.cuGraphAddDependencies(graph, &two, &one, 1);
  CUgraphExec executable = nullptr;
  const CUresult instantiate = edge == CUDA_SUCCESS ? driver.cuGraphInstantiateWithFlags(&executable, graph, 0) : edge;
  observer.expect("a_cycle_never_instantiates", instantiate != CUDA_SUCCESS, Source::header);
  driver.cuGraphDestroy(graph);
}

}  // namespace

void observe_graphs(const Driver& driver, Observer& observer) {
  observer.area("graph");
  CUdeviceptr block = 0;
  driver.cuMemAlloc_v2(&block, 4096);
  observe_building(driver, observer, block);
  observe_children(driver, observer, block);
  observe_cycles(driver, observer);
  driver.cuMemFree_v2(block);
}

}  // namespace contract
