// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "tests/tools/simgpu/driver/simulated_gpu.h"

using namespace simgpu_test;

namespace {

/// A graph of its own and the kernels; nodes are added by what they do.
struct Built {
  Built() {
    DRIVER_OK(cuGraphCreate(&graph, 0));
    module = load_kernels();
  }
  ~Built() {
    if (exec != nullptr) cuGraphExecDestroy(exec);
    cuGraphDestroy(graph);
  }

  CUgraphNode store(CUdeviceptr address, std::uint32_t value, std::vector<CUgraphNode> after = {}) {
    CUgraphNode node = nullptr;
    void* arguments[] = {&address, &value};
    const CUDA_KERNEL_NODE_PARAMS_v1 parameters = store_parameters(arguments);
    DRIVER_OK(cuGraphAddKernelNode(&node, graph, after.data(), after.size(), &parameters));
    return node;
  }
  CUDA_KERNEL_NODE_PARAMS_v1 store_parameters(void** arguments) {
    return {kernel(module, "store"), 1, 1, 1, 1, 1, 1, 0, arguments, nullptr};
  }

  CUgraphNode copy(CUdeviceptr to, CUdeviceptr from, std::vector<CUgraphNode> after = {}) {
    CUDA_MEMCPY3D shape{};
    shape.srcMemoryType = shape.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    shape.srcDevice = from;
    shape.dstDevice = to;
    shape.WidthInBytes = 4;
    shape.Height = shape.Depth = 1;
    CUcontext context = nullptr;
    DRIVER_OK(cuCtxGetCurrent(&context));
    CUgraphNode node = nullptr;
    DRIVER_OK(cuGraphAddMemcpyNode(&node, graph, after.data(), after.size(), &shape, context));
    return node;
  }

  void run() {
    if (exec == nullptr) DRIVER_OK(cuGraphInstantiate_v2(&exec, graph, nullptr, nullptr, 0));
    DRIVER_OK(cuGraphLaunch(exec, nullptr));
    DRIVER_OK(cuStreamSynchronize(nullptr));
  }

  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CUmodule module = nullptr;
};

}  // namespace

TEST_CASE("nodes run after what they depend on, at every launch", "[simgpu][graph]") {
  TestContext context;
  Built built;
  Words words(4);
  const CUgraphNode first = built.store(words.address(), 5);
  const CUgraphNode left = built.copy(words.address() + 4, words.address(), {first});
  const CUgraphNode right = built.copy(words.address() + 8, words.address(), {first});
  built.copy(words.address() + 12, words.address() + 8, {left, right});
  built.run();
  CHECK(words[3] == 5);
  DRIVER_OK(cuMemsetD32_v2(words.address(), 0, 4));
  built.run();
  CHECK(words[3] == 5);
}

TEST_CASE("parameters of an executable graph change for later launches, not in the graph", "[simgpu][graph]") {
  TestContext context;
  Built built;
  Words words(1);
  const CUgraphNode node = built.store(words.address(), 5);
  built.run();
  CUdeviceptr address = words.address();
  std::uint32_t value = 6;
  std::size_t size = 12;
  struct {
    CUdeviceptr address;
    std::uint32_t value;
  } packed{address, value};
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  CUDA_KERNEL_NODE_PARAMS_v1 changed = built.store_parameters(nullptr);
  changed.extra = extra;
  DRIVER_OK(cuGraphExecKernelNodeSetParams(built.exec, node, &changed));
  built.run();
  CHECK(words[0] == 6);
  CUDA_KERNEL_NODE_PARAMS_v1 kept{};
  DRIVER_OK(cuGraphKernelNodeGetParams(node, &kept));
  REQUIRE(kept.kernelParams != nullptr);
  CHECK(*static_cast<std::uint32_t*>(kept.kernelParams[1]) == 5);
}

TEST_CASE("all kinds of nodes can be added by their own call or by the common one", "[simgpu][graph]") {
  TestContext context;
  Built built;
  Words words(2);
  int calls = 0;
  CUgraphNode set = nullptr;
  CUgraphNode host = nullptr;
  CUgraphNode record = nullptr;
  CUevent event = nullptr;
  DRIVER_OK(cuEventCreate(&event, 0));
  const CUDA_MEMSET_NODE_PARAMS what{words.address(), 0, 0xABCD, 4, 2, 1};
  DRIVER_OK(cuGraphAddMemsetNode(&set, built.graph, nullptr, 0, &what, context.handle()));
  CUgraphNodeParams parameters{};
  parameters.type = CU_GRAPH_NODE_TYPE_HOST;
  parameters.host = {[](void* data) { ++*static_cast<int*>(data); }, &calls};
  DRIVER_OK(cuGraphAddNode_v2(&host, built.graph, &set, nullptr, 1, &parameters));
  DRIVER_OK(cuGraphAddEventRecordNode(&record, built.graph, &host, 1, event));
  built.run();
  CHECK(words[1] == 0xABCD);
  CHECK(calls == 1);
  CHECK(cuEventQuery(event) == CUDA_SUCCESS);
  CUgraphNodeType type{};
  DRIVER_OK(cuGraphNodeGetType(host, &type));
  CHECK(type == CU_GRAPH_NODE_TYPE_HOST);
  DRIVER_OK(cuEventDestroy_v2(event));
}

TEST_CASE("a child graph runs as one node and is a copy", "[simgpu][graph]") {
  TestContext context;
  Built outer;
  Built inner;
  Words words(3);
  inner.store(words.address() + 4, 2);
  const CUgraphNode before = outer.store(words.address() + 4, 1);
  CUgraphNode child = nullptr;
  DRIVER_OK(cuGraphAddChildGraphNode(&child, outer.graph, &before, 1, inner.graph));
  outer.copy(words.address() + 8, words.address() + 4, {child});
  inner.store(words.address(), 99);  // after it was copied
  outer.run();
  CHECK(words[2] == 2);
  CHECK(words[0] == 0);
  CUgraph copy = nullptr;
  DRIVER_OK(cuGraphChildGraphNodeGetGraph(child, &copy));
  CHECK(copy != inner.graph);
  CHECK(cuGraphDestroy(copy) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("the shape of a graph can be asked for and changed", "[simgpu][graph]") {
  TestContext context;
  Built built;
  Words words(1);
  const CUgraphNode a = built.store(words.address(), 1);
  const CUgraphNode b = built.store(words.address(), 2, {a});
  const CUgraphNode c = built.store(words.address(), 3, {b});
  std::size_t count = 1;
  CUgraphNode roots[1] = {};
  DRIVER_OK(cuGraphGetRootNodes(built.graph, roots, &count));
  CHECK(roots[0] == a);
  CHECK(cuGraphAddDependencies(built.graph, &c, &a, 1) == CUDA_ERROR_INVALID_VALUE);  // a circle
  CHECK(cuGraphAddDependencies(built.graph, &a, &b, 1) == CUDA_ERROR_INVALID_VALUE);  // is there
  DRIVER_OK(cuGraphAddDependencies(built.graph, &a, &c, 1));
  CUgraphNode found[4] = {};
  count = 4;
  DRIVER_OK(cuGraphNodeGetDependencies(c, found, &count));
  CHECK(count == 2);
  CHECK(found[3] == nullptr);
  DRIVER_OK(cuGraphRemoveDependencies(built.graph, &b, &c, 1));
  CHECK(cuGraphRemoveDependencies(built.graph, &b, &c, 1) == CUDA_ERROR_INVALID_VALUE);
  DRIVER_OK(cuGraphDestroyNode(b));
  DRIVER_OK(cuGraphGetNodes(built.graph, nullptr, &count));
  CHECK(count == 2);
  CHECK(cuGraphDestroyNode(b) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a clone has its own nodes, which are found by the originals", "[simgpu][graph]") {
  TestContext context;
  Built built;
  Words words(1);
  const CUgraphNode node = built.store(words.address(), 1);
  CUgraph clone = nullptr;
  CUgraphNode twin = nullptr;
  DRIVER_OK(cuGraphClone(&clone, built.graph));
  DRIVER_OK(cuGraphNodeFindInClone(&twin, node, clone));
  CHECK(twin != node);
  CHECK(cuGraphNodeFindInClone(&twin, node, built.graph) == CUDA_ERROR_INVALID_VALUE);
  DRIVER_OK(cuGraphDestroy(clone));
}

TEST_CASE("an update takes over parameters of the same shape and refuses another shape", "[simgpu][graph]") {
  TestContext context;
  Built built;
  Built same;
  Built larger;
  Words words(1);
  built.store(words.address(), 1);
  same.store(words.address(), 2);
  larger.store(words.address(), 3);
  larger.store(words.address(), 4);
  built.run();
  CUgraphExecUpdateResultInfo info{};
  DRIVER_OK(cuGraphExecUpdate_v2(built.exec, same.graph, &info));
  CHECK(info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
  built.run();
  CHECK(words[0] == 2);
  CHECK(cuGraphExecUpdate_v2(built.exec, larger.graph, &info) == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
}

TEST_CASE("a node that is switched off is passed over", "[simgpu][graph]") {
  TestContext context;
  Built built;
  Words words(2);
  const CUgraphNode skipped = built.store(words.address(), 1);
  built.store(words.address() + 4, 2, {skipped});
  DRIVER_OK(cuGraphInstantiateWithFlags(&built.exec, built.graph, 0));
  DRIVER_OK(cuGraphNodeSetEnabled(built.exec, skipped, 0));
  built.run();
  CHECK(words[0] == 0);
  CHECK(words[1] == 2);
}

TEST_CASE("launches of one executable graph do not overlap, in whatever streams", "[simgpu][graph]") {
  TestContext context;
  Built built;
  Words words(2);
  CUgraphNode first = built.copy(words.address() + 4, words.address());
  built.store(words.address(), 7, {first});
  DRIVER_OK(cuGraphInstantiateWithFlags(&built.exec, built.graph, 0));
  CUstream one = nullptr;
  CUstream two = nullptr;
  DRIVER_OK(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
  DRIVER_OK(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
  Gate gate;
  gate.hold(one);
  DRIVER_OK(cuGraphLaunch(built.exec, one));
  DRIVER_OK(cuGraphLaunch(built.exec, two));
  CHECK(cuStreamQuery(two) == CUDA_ERROR_NOT_READY);
  gate.open();
  DRIVER_OK(cuStreamSynchronize(two));
  CHECK(words[1] == 7);
}

TEST_CASE("a launched graph runs to its end although it is destroyed meanwhile", "[simgpu][graph]") {
  TestContext context;
  Words words(1);
  Gate gate;
  CUstream stream = nullptr;
  DRIVER_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  {
    Built built;
    built.store(words.address(), 8);
    DRIVER_OK(cuGraphInstantiateWithFlags(&built.exec, built.graph, 0));
    gate.hold(stream);
    DRIVER_OK(cuGraphLaunch(built.exec, stream));
  }
  gate.open();
  DRIVER_OK(cuStreamSynchronize(stream));
  CHECK(words[0] == 8);
}

TEST_CASE("a user object is destroyed with the last that counts on it", "[simgpu][graph]") {
  TestContext context;
  int destroyed = 0;
  CUuserObject object = nullptr;
  DRIVER_OK(cuUserObjectCreate(
      &object, &destroyed, [](void* data) { ++*static_cast<int*>(data); }, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  {
    Built built;
    DRIVER_OK(cuGraphRetainUserObject(built.graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    DRIVER_OK(cuGraphInstantiateWithFlags(&built.exec, built.graph, 0));
    CHECK(destroyed == 0);
  }
  CHECK(destroyed == 1);
  CHECK(cuUserObjectRelease(object, 1) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("what graphs cannot do is refused", "[simgpu][graph]") {
  TestContext context;
  Built built;
  Built other;
  Words words(1);
  const CUgraphNode foreign = other.store(words.address(), 1);
  CUgraphNode node = nullptr;
  CHECK(cuGraphAddEmptyNode(&node, built.graph, &foreign, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphAddChildGraphNode(&node, built.graph, nullptr, 0, built.graph) == CUDA_ERROR_INVALID_VALUE);
  CUgraphNodeParams parameters{};
  parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  CHECK(cuGraphAddNode(&node, built.graph, nullptr, 0, &parameters) == CUDA_ERROR_NOT_SUPPORTED);
  CUgraph none = nullptr;
  CHECK(cuGraphCreate(&none, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphLaunch(reinterpret_cast<CUgraphExec>(built.graph), nullptr) == CUDA_ERROR_INVALID_VALUE);
}
