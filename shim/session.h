// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "shim/report/recorder.h"

/// What begins with the first governed call of a process and lasts until its end.
namespace cupool::shim {

/// Counts for the report. Constant-initialised: usable before start_session().
report::Recorder& recorder();

enum class SessionState : int { none, starting, started };
extern constinit std::atomic<SessionState> session_state;
void start_session_now();

/// Starts the session once; other threads that call meanwhile wait for it. Driver calls made while it starts are our own.
inline void start_session() {
  if (session_state.load(std::memory_order_acquire) != SessionState::started) [[unlikely]]
    start_session_now();
}

}  // namespace cupool::shim
