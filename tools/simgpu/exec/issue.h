// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/simgpu/exec/operation.h"

namespace cupool::simgpu {

class Event;
class Stream;

/// Hands an operation in to a stream and returns: it becomes a node if the stream is being captured.
CUresult issue(Stream& stream, SharedOperation operation);

/// The same, and waits until it is done, on this thread where possible: what calls without a stream do. The code is the work's.
CUresult issue_and_wait(Stream& stream, SharedOperation operation);

/// Records and waits that are outside a capture's own order (the EXTERNAL flags): nodes in a captured stream, else as usual.
CUresult record_external(Stream& stream, std::shared_ptr<Event> event);
CUresult wait_external(Stream& stream, std::shared_ptr<Event> event);

/// cuStreamSynchronize and cuStreamQuery.
CUresult synchronize(Stream& stream);
CUresult query(Stream& stream);

}  // namespace cupool::simgpu
