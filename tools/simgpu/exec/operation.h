// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "shim/abi/cuda_types.h"
#include "tools/simgpu/exec/copy_job.h"
#include "tools/simgpu/exec/scheduler.h"

namespace cupool::simgpu {

class Context;
class Event;
class Function;
class Graph;

/// A kernel launch with everything it needs, independent of what the caller does with his arrays afterwards.
struct KernelOperation {
  std::shared_ptr<Function> function;
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  bool cooperative = false;
  std::vector<std::byte> parameters;  ///< the parameter buffer: each parameter at its offset
};

struct CopyOperation {
  CopyJob job;
  CUDA_MEMCPY3D shape{};  ///< as given to a graph node, for its query
};

struct HostOperation {
  CUhostFn function = nullptr;
  void* data = nullptr;
};

/// cuStreamAddCallback: unlike a host function it also hears of failures.
struct CallbackOperation {
  CUstreamCallback function = nullptr;
  CUstream stream = nullptr;
  void* data = nullptr;
};

struct EventRecordOperation {
  std::shared_ptr<Event> event;
};
struct EventWaitOperation {
  std::shared_ptr<Event> event;
};
struct EmptyOperation {};

struct ChildOperation {
  std::shared_ptr<Graph> graph;
};

/// Waits and writes of single values in memory, in order.
struct MemoryOperation {
  std::vector<CUstreamBatchMemOpParams> parts;
};

/// What one step of a stream, or one node of a graph, does. Immutable once it is submitted or instantiated.
struct Operation {
  Context* context = nullptr;  ///< null where any will do: empty nodes, host functions, events
  std::variant<EmptyOperation, KernelOperation, CopyOperation, CUDA_MEMSET_NODE_PARAMS, HostOperation, CallbackOperation,
               EventRecordOperation, EventWaitOperation, ChildOperation, MemoryOperation>
      what;

  template <class T>
  const T* as() const {
    return std::get_if<T>(&what);
  }
};
using SharedOperation = std::shared_ptr<const Operation>;

template <class What>
SharedOperation make_operation(Context& context, What what) {
  return std::make_shared<const Operation>(Operation{&context, std::move(what)});
}

/// What the graph interface calls it.
CUgraphNodeType type_of(const Operation& operation);

/// The piece of work that does it, in its context's failure domain. Event operations, empty ones and children have no action: they
/// are order alone. A failure becomes the context's sticky error. `otherwise` is the context of operations without one.
Order order_of(SharedOperation operation, Context& otherwise);

}  // namespace cupool::simgpu
