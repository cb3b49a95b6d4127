// SPDX-License-Identifier: Apache-2.0
#include "shim/completions.h"

#include <utility>

#include "shim/capture.h"
#include "shim/context_scope.h"
#include "shim/real_driver.h"
#include "shim/translate.h"

namespace cupool::shim {

CUevent EventCompletions::take_event(CUcontext context) {
  {
    pool::RankedLock lock(mutex_);
    std::vector<CUevent>& idle = idle_[context];
    if (!idle.empty()) {
      const CUevent event = idle.back();
      idle.pop_back();
      return event;
    }
  }
  CUevent event = nullptr;
  return driver::cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS ? event : nullptr;
}

CUresult EventCompletions::record(CUcontext context, CUstream stream, Mark& mark) {
  const CUevent event = take_event(context);
  if (event == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult code = driver::cuEventRecord(event, stream);
  if (code == CUDA_SUCCESS) {
    mark.events.push_back({context, event});
  } else {
    pool::RankedLock lock(mutex_);
    idle_[context].push_back(event);
  }
  return code;
}

Result<pool::Token> EventCompletions::mark(pool::FreeAfter after) {
  if (OpenCaptures::any()) return fail(Errc::busy, "a stream capture is open");
  const RelaxedCapture relaxed;
  Mark mark;
  for (const CUcontext context : streams_.contexts()) {
    const ContextScope scope{context};
    CUdevice device = -1;
    if (!scope.entered() || driver::cuCtxGetDevice(&device) != CUDA_SUCCESS || device != device_) continue;
    if (after.kind == pool::FreeAfter::Kind::stream) {
      const auto stream = reinterpret_cast<CUstream>(static_cast<std::uintptr_t>(after.stream));
      if (streams_.is_live(stream)) record(context, stream, mark);
      continue;
    }
    // A stream that is destroyed at this moment cannot be recorded on: destroying() has noted its work.
    for (const CUstream stream : streams_.streams_of(context)) record(context, stream, mark);
    const CUresult code = record(context, nullptr, mark);
    if (code != CUDA_SUCCESS && !is_fatal_to_context(code)) {
      for (const Recorded& recorded : mark.events) {
        pool::RankedLock lock(mutex_);
        idle_[recorded.context].push_back(recorded.event);
      }
      return fail(Errc::busy, "no event could be recorded");
    }
  }
  pool::RankedLock lock(mutex_);
  const std::uint64_t token = next_token_++;
  mark.orphans_before = after.kind == pool::FreeAfter::Kind::all ? next_orphan_ : 0;
  marks_.emplace(token, std::move(mark));
  return pool::Token{token};
}

EventCompletions::Mark EventCompletions::copy_of(pool::Token token) const {
  pool::RankedLock lock(mutex_);
  const auto found = marks_.find(static_cast<std::uint64_t>(token));
  return found == marks_.end() ? Mark{} : found->second;
}

bool EventCompletions::is_done(pool::Token token) {
  const RelaxedCapture relaxed;
  // Anything but "not ready" means that no work is left: done, or the context is lost and its work with it.
  const Mark mark = copy_of(token);
  for (const Recorded& recorded : mark.events) {
    if (driver::cuEventQuery(recorded.event) == CUDA_ERROR_NOT_READY) return false;
  }
  for (const Orphan& orphan : orphans_before(mark.orphans_before)) {
    if (driver::cuEventQuery(orphan.last.event) == CUDA_ERROR_NOT_READY) return false;
    end_orphan(orphan);
  }
  return true;
}

Result<Done> EventCompletions::wait(pool::Token token) {
  if (OpenCaptures::any()) return fail(Errc::busy, "a stream capture is open");
  const RelaxedCapture relaxed;
  const Mark mark = copy_of(token);
  std::vector<CUevent> events;
  for (const Recorded& recorded : mark.events) events.push_back(recorded.event);
  for (const Orphan& orphan : orphans_before(mark.orphans_before)) events.push_back(orphan.last.event);
  for (const CUevent event : events) {
    const CUresult code = driver::cuEventSynchronize(event);
    if (code == CUDA_SUCCESS || code == CUDA_ERROR_INVALID_HANDLE || is_fatal_to_context(code)) continue;
    return fail(Errc::busy, "waiting for the device's work failed");
  }
  return Done{};
}

void EventCompletions::forget(pool::Token token) {
  pool::RankedLock lock(mutex_);
  const auto found = marks_.find(static_cast<std::uint64_t>(token));
  if (found == marks_.end()) return;
  for (const Recorded& recorded : found->second.events) idle_[recorded.context].push_back(recorded.event);
  marks_.erase(found);
}

std::vector<EventCompletions::Orphan> EventCompletions::orphans_before(std::uint64_t number) const {
  pool::RankedLock lock(mutex_);
  std::vector<Orphan> found;
  for (const Orphan& orphan : orphans_) {
    if (orphan.number < number) found.push_back(orphan);
  }
  return found;
}

void EventCompletions::end_orphan(const Orphan& orphan) {
  pool::RankedLock lock(mutex_);
  const auto removed = std::erase_if(orphans_, [&](const Orphan& other) { return other.number == orphan.number; });
  if (removed != 0) idle_[orphan.last.context].push_back(orphan.last.event);  // another thread may have ended it first
}

void EventCompletions::destroying(CUcontext context, CUstream stream) {
  if (OpenCaptures::any()) return;  // an event would become part of the capture; the driver refuses to destroy a capturing stream
  const ContextScope scope{context};
  CUdevice device = -1;
  if (!scope.entered() || driver::cuCtxGetDevice(&device) != CUDA_SUCCESS || device != device_) return;
  if (driver::cuStreamQuery(stream) != CUDA_ERROR_NOT_READY) return;
  const RelaxedCapture relaxed;
  Mark last;
  if (record(context, stream, last) != CUDA_SUCCESS) return;
  pool::RankedLock lock(mutex_);
  orphans_.push_back({next_orphan_++, last.events.front()});
}

void EventCompletions::dropped(CUcontext context) {
  pool::RankedLock lock(mutex_);
  idle_.erase(context);
  std::erase_if(orphans_, [&](const Orphan& orphan) { return orphan.last.context == context; });
  for (auto& [token, mark] : marks_)
    std::erase_if(mark.events, [&](const Recorded& recorded) { return recorded.context == context; });
}

}  // namespace cupool::shim
