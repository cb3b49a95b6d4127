// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_backing.h"

#include <atomic>

namespace cupool::pool::fakes {
namespace {

std::atomic<std::uint64_t> g_backings{0};

}  // namespace

CountingBacking::CountingBacking(Bytes capacity) : capacity_(capacity), next_range_((++g_backings % 1024 + 1) << 44) {}

Result<Done> CountingBacking::broken(const char* rule) {
  ++faults_;
  return fail(Errc::invalid_argument, rule);
}

bool CountingBacking::in_range(Address at, Bytes length) const {
  auto it = ranges_.upper_bound(at.value);
  return it != ranges_.begin() && at.value + length.count <= std::prev(it)->second;
}

Result<Address> CountingBacking::reserve(Bytes size, Bytes alignment) {
  std::lock_guard lock(mutex_);
  ++counts_.reserve;
  if (size.count == 0 || !is_power_of_two(alignment.count)) return fail(Errc::invalid_argument, "reserve: bad size or alignment");
  const auto start = round_up(next_range_, alignment.count);
  if (!start || !checked_add(*start, size.count)) return fail(Errc::no_space, "reserve: no address range");
  next_range_ = *start + size.count + alignment.count;
  ranges_[*start] = *start + size.count;
  return Address{*start};
}

Result<HandleId> CountingBacking::create(Bytes size) {
  std::lock_guard lock(mutex_);
  ++counts_.create;
  if (capacity_.count != 0 && created_ + size > capacity_) return fail(Errc::no_memory, "create: the device is full");
  const std::uint64_t id = next_handle_++;
  handles_[id] = Handle{size, false};
  created_ += size;
  return HandleId{id};
}

Result<Done> CountingBacking::map(Address at, Bytes size, std::span<const HandleId> handles) {
  std::lock_guard lock(mutex_);
  ++counts_.map;
  counts_.handles_mapped += handles.size();
  const Bytes length = size * handles.size();
  if (handles.empty() || !in_range(at, length)) return broken("map: outside of what is reserved");
  const auto next = mappings_.lower_bound(at.value);
  if (next != mappings_.end() && next->first < at.value + length.count) return broken("map: something is mapped there");
  if (next != mappings_.begin() && std::prev(next)->first + std::prev(next)->second.size.count > at.value) {
    return broken("map: something is mapped there");
  }
  for (const HandleId id : handles) {
    const auto handle = handles_.find(static_cast<std::uint64_t>(id));
    if (handle == handles_.end() || handle->second.mapped || handle->second.size != size)
      return broken("map: not an unmapped handle");
  }
  Address to = at;
  for (const HandleId id : handles) {
    handles_[static_cast<std::uint64_t>(id)].mapped = true;
    mappings_[to.value] = Mapping{size, id};
    to = to + size;
  }
  mapped_ += length;
  return Done{};
}

Result<Done> CountingBacking::unmap(Address at, Bytes length) {
  std::lock_guard lock(mutex_);
  ++counts_.unmap;
  std::uint64_t reached = at.value;
  const std::uint64_t end = at.value + length.count;
  auto it = mappings_.find(at.value);
  for (; it != mappings_.end() && it->first == reached && reached < end; ++it) reached += it->second.size.count;
  if (reached != end || length.count == 0) return broken("unmap: not whole mappings without a gap");
  for (auto one = mappings_.find(at.value); one != it; one = mappings_.erase(one)) {
    handles_[static_cast<std::uint64_t>(one->second.handle)].mapped = false;
  }
  mapped_ -= length;
  return Done{};
}

Result<Done> CountingBacking::release(HandleId handle) {
  std::lock_guard lock(mutex_);
  ++counts_.release;
  const auto found = handles_.find(static_cast<std::uint64_t>(handle));
  if (found == handles_.end() || found->second.mapped) return broken("release: not an unmapped handle");
  created_ -= found->second.size;
  handles_.erase(found);
  return Done{};
}

Result<Done> CountingBacking::free_range(Address at, Bytes size) {
  std::lock_guard lock(mutex_);
  ++counts_.free_range;
  const auto found = ranges_.find(at.value);
  if (found == ranges_.end() || found->second != at.value + size.count) return broken("free_range: not a reserved range");
  const auto next = mappings_.lower_bound(at.value);
  if (next != mappings_.end() && next->first < found->second) return broken("free_range: something is mapped in it");
  ranges_.erase(found);
  return Done{};
}

CallCounts CountingBacking::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

std::uint64_t CountingBacking::faults() const {
  std::lock_guard lock(mutex_);
  return faults_;
}

Bytes CountingBacking::created() const {
  std::lock_guard lock(mutex_);
  return created_;
}

Bytes CountingBacking::mapped() const {
  std::lock_guard lock(mutex_);
  return mapped_;
}

bool CountingBacking::is_mapped(Address at, Bytes length) const {
  std::lock_guard lock(mutex_);
  auto it = mappings_.upper_bound(at.value);
  if (it == mappings_.begin()) return false;
  --it;
  std::uint64_t reached = at.value;
  const std::uint64_t end = at.value + length.count;
  for (; it != mappings_.end() && it->first <= reached && reached < end; ++it) {
    const std::uint64_t mapping_end = it->first + it->second.size.count;
    if (mapping_end <= reached) return false;
    reached = mapping_end;
  }
  return reached >= end;
}

HandleId CountingBacking::handle_at(Address at) const {
  std::lock_guard lock(mutex_);
  auto it = mappings_.upper_bound(at.value);
  if (it == mappings_.begin()) return kNoHandle;
  --it;
  return at.value < it->first + it->second.size.count ? it->second.handle : kNoHandle;
}

bool CountingBacking::is_empty() const {
  std::lock_guard lock(mutex_);
  return handles_.empty() && mappings_.empty() && ranges_.empty();
}

void CountingBacking::set_capacity(Bytes capacity) {
  std::lock_guard lock(mutex_);
  capacity_ = capacity;
}

void FailingBacking::fail_call(std::uint64_t k, Errc code, Repeat repeat) {
  std::lock_guard lock(mutex_);
  countdown_ = k;
  code_ = code;
  repeat_ = repeat;
  failing_ = has_failed_ = false;
}

bool FailingBacking::has_failed() const {
  std::lock_guard lock(mutex_);
  return has_failed_;
}

bool FailingBacking::fails_now(Errc& code) {
  if (hook_) hook_();
  std::lock_guard lock(mutex_);
  code = code_;
  if (failing_) return true;
  if (countdown_ == 0 || --countdown_ != 0) return false;
  failing_ = repeat_ == Repeat::from_then_on;
  has_failed_ = true;
  return true;
}

Result<Address> FailingBacking::reserve(Bytes size, Bytes alignment) {
  Errc code{};
  return fails_now(code) ? fail(code, "injected") : real_.reserve(size, alignment);
}
Result<HandleId> FailingBacking::create(Bytes size) {
  Errc code{};
  return fails_now(code) ? fail(code, "injected") : real_.create(size);
}
Result<Done> FailingBacking::map(Address at, Bytes size, std::span<const HandleId> handles) {
  Errc code{};
  return fails_now(code) ? fail(code, "injected") : real_.map(at, size, handles);
}
Result<Done> FailingBacking::unmap(Address at, Bytes length) {
  Errc code{};
  return fails_now(code) ? fail(code, "injected") : real_.unmap(at, length);
}
Result<Done> FailingBacking::release(HandleId handle) {
  Errc code{};
  return fails_now(code) ? fail(code, "injected") : real_.release(handle);
}
Result<Done> FailingBacking::free_range(Address at, Bytes size) {
  Errc code{};
  return fails_now(code) ? fail(code, "injected") : real_.free_range(at, size);
}

}  // namespace cupool::pool::fakes
