// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "shim/abi/driver_api.h"
#include "tools/simgpu/context.h"
#include "tools/simgpu/entry.h"
#include "tools/simgpu/exec/stream_object.h"

/// Defines both exported forms of a call over one body, a template `template <EntryId, StreamMode> CUresult body(arguments)`: in
/// the plain form a NULL stream is the legacy default stream, in the other the calling thread's.
#define SIMGPU_FORMS(plain, threaded, body, parameters, arguments)                    \
  CUresult plain parameters {                                                         \
    return body<EntryId::plain, cupool::simgpu::StreamMode::legacy> arguments;        \
  }                                                                                   \
  CUresult threaded parameters {                                                      \
    return body<EntryId::threaded, cupool::simgpu::StreamMode::per_thread> arguments; \
  }

namespace cupool::simgpu {

/// The frame of a call on a stream: enter(), then the stream of the handle, then `body(Call&, Stream&)`.
template <class Body, class... Logged>
CUresult enter_stream(EntryId id, Needs needs, StreamMode mode, CUstream handle, Body&& body, const Logged&... logged) noexcept {
  return enter(
      id, needs,
      [&](Call& call) -> CUresult {
        std::shared_ptr<Stream> stream;
        const CUresult found = find_stream(*call.context, handle, mode, stream);
        return found == CUDA_SUCCESS ? body(call, *stream) : found;
      },
      handle, logged...);
}

}  // namespace cupool::simgpu
