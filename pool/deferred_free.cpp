// SPDX-License-Identifier: Apache-2.0
#include "pool/deferred_free.h"

#include <algorithm>
#include <new>

namespace cupool::pool {

Result<DeferredFrees::Noted> DeferredFrees::defer(FreeAfter after, const Taken& taken) try {
  if (after.kind != FreeAfter::Kind::stream) after.stream = StreamId{};
  const FreeTicket ticket{next_ticket_};
  Lane& lane = lanes_[after];
  if (lane.batches.empty() || lane.batches.back().phase != Phase::open) {
    lane.batches.emplace_back();
    lane.batches.back().id = BatchId{next_batch_++};
  }
  Batch& batch = lane.batches.back();
  if (after.kind == FreeAfter::Kind::stream) {
    hazards_.set(taken.run, after.stream, ticket);
  } else {
    batch.pinned.push_back(taken);
    pinned_ += taken.run.length;
  }
  batch.last = ticket;
  ++batch.frees;
  ++blocks_;
  ++next_ticket_;
  return Noted{ticket, batch.frees == kFull};
} catch (const std::bad_alloc&) {
  // An empty batch or lane may stay behind: close_one() passes over it.
  return fail(Errc::no_memory, "the host has no memory to note a free");
}

std::optional<DeferredFrees::Closed> DeferredFrees::close_one(Which which) {
  for (auto& [after, lane] : lanes_) {
    const auto next =
        std::find_if(lane.batches.begin(), lane.batches.end(), [](const Batch& b) { return b.phase != Phase::marked; });
    if (next == lane.batches.end() || next->phase == Phase::closed || next->frees == 0) continue;
    if (which == Which::full && next->frees < kFull) continue;
    next->phase = Phase::closed;
    return Closed{next->id, after};
  }
  return std::nullopt;
}

DeferredFrees::Place DeferredFrees::find(BatchId id) {
  for (auto lane = lanes_.begin(); lane != lanes_.end(); ++lane) {
    for (Batch& batch : lane->second.batches) {
      if (batch.id == id) return Place{lane, &batch};
    }
  }
  return Place{lanes_.end(), nullptr};
}

void DeferredFrees::set_mark(BatchId id, Token token) {
  if (Batch* batch = find(id).batch) {
    batch->phase = Phase::marked;
    batch->token = token;
  }
}

void DeferredFrees::reopen(BatchId id) {
  if (Batch* batch = find(id).batch) batch->phase = Phase::open;
}

void DeferredFrees::heads(std::vector<Marked>& into) const {
  for (const auto& [after, lane] : lanes_) {
    if (const Batch* batch = lane.head()) into.push_back(Marked{batch->id, batch->token});
  }
}

std::optional<DeferredFrees::Marked> DeferredFrees::oldest() const {
  const Batch* found = nullptr;
  for (const auto& [after, lane] : lanes_) {
    const Batch* batch = lane.head();
    if (batch != nullptr && (found == nullptr || batch->id < found->id)) found = batch;
  }
  return found == nullptr ? std::nullopt : std::optional{Marked{found->id, found->token}};
}

std::vector<Taken> DeferredFrees::complete(BatchId id) {
  const auto [place, batch] = find(id);
  if (batch == nullptr || place->second.head() != batch) return {};
  std::vector<Taken> pinned = std::move(batch->pinned);
  for (const Taken& taken : pinned) pinned_ -= taken.run.length;
  blocks_ -= batch->frees;
  if (place->first.kind == FreeAfter::Kind::stream) hazards_.complete(place->first.stream, batch->last);
  place->second.batches.pop_front();
  if (place->second.batches.empty()) lanes_.erase(place);
  return pinned;
}

std::vector<Token> DeferredFrees::drop() {
  std::vector<Token> tokens;
  try {
    for (const auto& [after, lane] : lanes_) {
      for (const Batch& batch : lane.batches) {
        if (batch.phase == Phase::marked) tokens.push_back(batch.token);
      }
    }
  } catch (const std::bad_alloc&) {
    // The marks that are not listed are lost with the context that they belonged to.
  }
  lanes_.clear();
  hazards_.clear_all();
  blocks_ = 0;
  pinned_ = Granules{};
  return tokens;
}

}  // namespace cupool::pool
