// SPDX-License-Identifier: Apache-2.0
#include "pool/hazard_map.h"

#include <algorithm>

namespace cupool::pool {

bool HazardMap::is_ordered(const Entry& entry, std::span<const StreamOrder> orders) {
  return std::any_of(orders.begin(), orders.end(),
                     [&](const StreamOrder& order) { return order.stream == entry.stream && entry.ticket <= order.last; });
}

HazardMap::Map::const_iterator HazardMap::first_over(Granules start) const {
  auto it = hazards_.upper_bound(start.count);
  if (it != hazards_.begin() && std::prev(it)->second.end > start) --it;
  return it;
}

bool HazardMap::conflicts(Run run, std::span<const StreamOrder> orders) const {
  for (auto it = first_over(run.start); it != hazards_.end() && it->first < run.end().count; ++it) {
    if (!is_ordered(it->second, orders)) return true;
  }
  return false;
}

void HazardMap::clear(Run run) {
  auto it = hazards_.erase(first_over(run.start), first_over(run.start));  // the same place, as an iterator that may change
  while (it != hazards_.end() && it->first < run.end().count) {
    const Granules start{it->first};
    const Granules end = it->second.end;
    const bool before = start < run.start;
    const bool behind = end > run.end();
    if (before && behind) hazards_.emplace(run.end().count, it->second);  // the only case that needs memory, and it comes alone
    granules_ -= std::min(end, run.end()) - std::max(start, run.start);
    if (before) {
      it->second.end = run.start;
      ++it;
    } else if (behind) {
      auto rest = hazards_.extract(it);
      rest.key() = run.end().count;
      hazards_.insert(std::move(rest));
    } else {
      it = hazards_.erase(it);
    }
    if (behind) return;
  }
}

void HazardMap::set(Run run, StreamId stream, FreeTicket ticket) {
  auto it = hazards_.emplace(run.start.count, Entry{run.end(), stream, ticket}).first;
  granules_ += run.length;
  if (const auto next = std::next(it); next != hazards_.end() && next->second.stream == stream && next->first == run.end().count) {
    it->second.end = next->second.end;
    it->second.ticket = std::max(it->second.ticket, next->second.ticket);
    hazards_.erase(next);
  }
  if (it == hazards_.begin()) return;
  if (const auto before = std::prev(it); before->second.stream == stream && before->second.end == run.start) {
    before->second.end = it->second.end;
    before->second.ticket = std::max(before->second.ticket, it->second.ticket);
    hazards_.erase(it);
  }
}

void HazardMap::complete(StreamId stream, FreeTicket done) {
  for (auto it = hazards_.begin(); it != hazards_.end();) {
    if (it->second.stream == stream && it->second.ticket <= done) {
      granules_ -= it->second.end - Granules{it->first};
      it = hazards_.erase(it);
    } else {
      ++it;
    }
  }
}

void HazardMap::clear_all() {
  hazards_.clear();
  granules_ = Granules{};
}

}  // namespace cupool::pool
