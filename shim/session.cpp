// SPDX-License-Identifier: Apache-2.0
#include "shim/session.h"

#include <pthread.h>

#include "policy/base/log.h"
#include "shim/boundary.h"
#include "shim/process.h"
#include "shim/process_report.h"

namespace cupool::shim {

constinit std::atomic<SessionState> session_state{SessionState::none};
constinit thread_local int hook_depth __attribute__((tls_model("initial-exec"))) = 0;
constinit std::atomic<bool> gate_is_closed{false};

namespace {

constinit report::Recorder the_recorder;

/// A forked child is a process of its own: it begins anew at its first call, if the driver lets it make any.
void forget_in_child() {
  the_recorder.leave();
  session_state.store(SessionState::none, std::memory_order_relaxed);
}

/// The first steps of every session. Nothing thrown may leave: the caller is a program's own call.
void begin() {
  make_process();
  try {
    begin_process_report();
  } catch (...) {
    log::write(log::Level::warning, "no report: the host is out of memory");
  }
  static constinit bool registered = false;
  if (registered) return;
  registered = true;
  pthread_atfork(nullptr, nullptr, &forget_in_child);
}

}  // namespace

report::Recorder& recorder() {
  return the_recorder;
}

void start_session_now() {
  // A call made while this thread starts the session is our own and goes to the driver: see Gate.
  const OwnCalls own;
  SessionState state = SessionState::none;
  if (session_state.compare_exchange_strong(state, SessionState::starting, std::memory_order_acq_rel)) {
    begin();
    session_state.store(SessionState::started, std::memory_order_release);
    session_state.notify_all();
    return;
  }
  while (state != SessionState::started) {
    session_state.wait(state, std::memory_order_acquire);
    state = session_state.load(std::memory_order_acquire);
  }
}

void wait_at_gate() {
  gate_is_closed.wait(true, std::memory_order_acquire);
}

}  // namespace cupool::shim
