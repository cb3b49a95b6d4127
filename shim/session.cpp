// SPDX-License-Identifier: Apache-2.0
#include "shim/session.h"

#include "shim/boundary.h"
#include "shim/entry_table.h"
#include "shim/report/region.h"

namespace cupool::shim {

constinit std::atomic<SessionState> session_state{SessionState::none};
constinit thread_local int hook_depth __attribute__((tls_model("initial-exec"))) = 0;
constinit std::atomic<bool> gate_is_closed{false};

namespace {

constinit report::Recorder the_recorder;
static_assert(CUPOOL_SLOT_COUNT <= report::kMaxEntries, "report/journal.h: raise kMaxEntries");

/// The first steps of every session; what governs is attached here too, when it is there.
void begin() {
  report::ProcessFacts facts;
  facts.flags = report::kFlagUngoverned;
  the_recorder.begin(report::claim_record(nullptr).record, facts);
  for (std::uint32_t slot = 0; slot < CUPOOL_SLOT_COUNT; ++slot) the_recorder.name_entry(slot, slot_name(slot));
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
