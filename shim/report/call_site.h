// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "shim/report/journal.h"
#include "shim/report/recorder.h"

namespace cupool::report {

/// Unwinds the calling thread and adds `weight` bytes of allocation to the record of its stack.
///
/// Returns the site's number, or 0 when the stack could not be taken (libunwind is not installed) or all records are in use; both
/// are counted in `record`. libunwind is opened at the first call, never linked: Debian's archive is not position-independent, and
/// a linked libunwind would replace the program's own `backtrace`. Thread-safe, lock-free after the first call.
SiteNumber note_call_site(ProcessRecord& record, std::uint64_t weight, int skip);

}  // namespace cupool::report
