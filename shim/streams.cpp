// SPDX-License-Identifier: Apache-2.0
#include "shim/streams.h"

namespace cupool::shim {

void StreamRegistry::created(CUcontext context, CUstream stream) {
  pool::RankedLock lock(mutex_);
  streams_[context].insert(stream);
  owners_[stream] = context;
}

void StreamRegistry::destroyed(CUstream stream) {
  pool::RankedLock lock(mutex_);
  const auto owner = owners_.find(stream);
  if (owner == owners_.end()) return;
  streams_[owner->second].erase(stream);
  owners_.erase(owner);
}

void StreamRegistry::dropped(CUcontext context) {
  pool::RankedLock lock(mutex_);
  const auto found = streams_.find(context);
  if (found == streams_.end()) return;
  for (const CUstream stream : found->second) owners_.erase(stream);
  streams_.erase(found);
}

void StreamRegistry::note_context(CUcontext context) {
  pool::RankedLock lock(mutex_);
  streams_.try_emplace(context);
}

std::vector<CUcontext> StreamRegistry::contexts() const {
  pool::RankedLock lock(mutex_);
  std::vector<CUcontext> found;
  for (const auto& [context, streams] : streams_) found.push_back(context);
  return found;
}

std::vector<CUstream> StreamRegistry::streams_of(CUcontext context) const {
  pool::RankedLock lock(mutex_);
  const auto found = streams_.find(context);
  return found == streams_.end() ? std::vector<CUstream>{} : std::vector<CUstream>(found->second.begin(), found->second.end());
}

CUcontext StreamRegistry::context_of(CUstream stream) const {
  pool::RankedLock lock(mutex_);
  const auto owner = owners_.find(stream);
  return owner == owners_.end() ? nullptr : owner->second;
}

bool StreamRegistry::is_live(CUstream stream) const {
  pool::RankedLock lock(mutex_);
  return owners_.contains(stream);
}

}  // namespace cupool::shim
