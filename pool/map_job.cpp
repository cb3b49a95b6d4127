// SPDX-License-Identifier: Apache-2.0
#include "pool/map_job.h"

#include <algorithm>

namespace cupool::pool {
namespace {

Result<Done> counted(CallTally& tally, Result<Done> result) {
  ++tally.calls;
  if (!result) ++tally.faults;
  return result;
}

/// One run of a MapJob: the calls in order, and their undoing.
class MapRun {
 public:
  MapRun(const MapJob& job, Backing& backing) : job_(job), backing_(backing) {
    std::size_t total = job.loose.size() + job.create;
    for (const MappedSlots& donor : job.donors) total += donor.handles.size();
    // Room for everything first: nothing may fail for want of host memory between two backing calls.
    out_.placed.reserve(total);
    out_.loose.reserve(total);
    out_.donor_is_back.assign(job.donors.size(), 1);
    out_.stuck.reserve(job.targets.size());
    for (const Slots& target : job.targets) {
      out_.stuck.push_back(MappedSlots{target, {}});
      out_.stuck.back().handles.reserve(target.count);
    }
    out_.placed.assign(job.loose.begin(), job.loose.end());
  }

  MapJob::Outcome run() {
    if (create() && unmap_donors() && map_targets()) {
      out_.stuck.clear();
      return std::move(out_);
    }
    undo();
    return std::move(out_);
  }

 private:
  Address address_of(std::uint64_t position) const { return job_.base + job_.handle * position; }
  bool failed(const Result<Done>& result) {
    if (!result) out_.verdict = result;
    return !result;
  }

  bool create() {
    for (std::uint64_t i = 0; i < job_.create; ++i) {
      const auto handle = backing_.create(job_.handle);
      if (failed(counted(out_.tally, handle ? Result<Done>{Done{}} : tl::unexpected(handle.error())))) {
        out_.create_failed = true;
        return false;
      }
      out_.placed.push_back(*handle);
      ++out_.created;
      ++out_.made;
    }
    return true;
  }

  bool unmap_donors() {
    for (std::size_t i = 0; i < job_.donors.size(); ++i) {
      const MappedSlots& donor = job_.donors[i];
      if (failed(counted(out_.tally, backing_.unmap(address_of(donor.slots.first), job_.handle * donor.slots.count)))) return false;
      out_.donor_is_back[i] = 0;
      out_.placed.insert(out_.placed.end(), donor.handles.begin(), donor.handles.end());
    }
    return true;
  }

  bool map_targets() {
    for (const Slots& target : job_.targets) {
      const std::span<const HandleId> handles(out_.placed.data() + mapped_, target.count);
      if (failed(counted(out_.tally, backing_.map(address_of(target.first), job_.handle, handles)))) return false;
      mapped_ += target.count;
      ++targets_done_;
    }
    return true;
  }

  /// Brings back the state before run(), as far as the backing lets us.
  void undo() {
    unmap_targets();
    std::size_t next = job_.loose.size() + out_.created;
    for (std::size_t i = 0; i < job_.donors.size(); ++i) {
      if (out_.donor_is_back[i] != 0) continue;
      const MappedSlots& donor = job_.donors[i];
      map_back(i, std::span<const HandleId>(out_.placed.data() + next, donor.slots.count));
      next += donor.slots.count;
    }
    out_.loose.insert(out_.loose.begin(), job_.loose.begin(), job_.loose.end());
    std::erase_if(out_.loose, [this](HandleId handle) { return is_stuck(handle); });
    release_created();
    out_.placed.clear();
  }

  void unmap_targets() {
    std::size_t first = 0;
    for (std::size_t i = 0; i < job_.targets.size(); ++i) {
      const Slots& target = job_.targets[i];
      if (i < targets_done_ && !counted(out_.tally, backing_.unmap(address_of(target.first), job_.handle * target.count))) {
        for (std::size_t j = 0; j < target.count; ++j) out_.stuck[i].handles.push_back(out_.placed[first + j]);
      }
      first += target.count;
    }
    std::erase_if(out_.stuck, [](const MappedSlots& entry) { return entry.handles.empty(); });
  }

  bool is_stuck(HandleId handle) const {
    return std::any_of(out_.stuck.begin(), out_.stuck.end(), [handle](const MappedSlots& entry) {
      return std::find(entry.handles.begin(), entry.handles.end(), handle) != entry.handles.end();
    });
  }

  void map_back(std::size_t donor, std::span<const HandleId> handles) {
    const bool whole = std::none_of(handles.begin(), handles.end(), [this](HandleId handle) { return is_stuck(handle); });
    if (whole && counted(out_.tally, backing_.map(address_of(job_.donors[donor].slots.first), job_.handle, handles))) {
      out_.donor_is_back[donor] = 1;
      return;
    }
    for (const HandleId handle : handles) {
      if (!is_stuck(handle)) out_.loose.push_back(handle);
    }
  }

  void release_created() {
    const std::uint64_t made = out_.created;
    for (std::uint64_t i = 0; i < made; ++i) {
      const HandleId handle = out_.placed[job_.loose.size() + i];
      if (is_stuck(handle)) continue;
      if (counted(out_.tally, backing_.release(handle))) {
        --out_.created;
      } else {
        out_.loose.push_back(handle);
      }
    }
  }

  const MapJob& job_;
  Backing& backing_;
  MapJob::Outcome out_;
  std::size_t mapped_ = 0;
  std::size_t targets_done_ = 0;
};

}  // namespace

MapJob::Outcome MapJob::run(Backing& backing) const {
  return MapRun(*this, backing).run();
}

ReleaseJob::Outcome ReleaseJob::run(Backing& backing) const {
  Outcome out;
  std::size_t total = loose.size();
  for (const MappedSlots& entry : leaving) total += entry.handles.size();
  out.loose.reserve(total);
  out.is_unmapped.assign(leaving.size(), 0);
  const auto release = [&](HandleId one) {
    if (counted(out.tally, backing.release(one))) {
      ++out.released;
    } else {
      out.loose.push_back(one);
    }
  };
  for (const HandleId one : loose) release(one);
  for (std::size_t i = 0; i < leaving.size(); ++i) {
    const MappedSlots& entry = leaving[i];
    if (!counted(out.tally, backing.unmap(base + handle * entry.slots.first, handle * entry.slots.count))) continue;
    out.is_unmapped[i] = 1;
    for (const HandleId one : entry.handles) release(one);
  }
  return out;
}

}  // namespace cupool::pool
