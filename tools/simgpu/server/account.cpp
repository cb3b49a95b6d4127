// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/server/account.h"

#include <utility>

namespace cupool::simgpu {

Result<HandleId> Account::allocate(ClientId client, std::uint32_t gpu, std::uint64_t bytes, protocol::Purpose purpose) {
  if (gpu >= gpus_.size()) return fail(Errc::invalid_argument, "no such GPU");
  GpuState& state = gpus_[gpu];
  if (is_charged(purpose)) {
    if (bytes > state.capacity - state.used) return fail(Errc::no_memory, "the GPU's memory is used up");
    state.used += bytes;
  }
  HandleRecord record;
  record.id = ++last_;
  record.gpu = gpu;
  record.bytes = bytes;
  record.purpose = purpose;
  record.references[client] = 1;
  record.holder = client;
  by_client_[client][record.id] = 1;
  const HandleId id = record.id;
  handles_.emplace(id, std::move(record));
  return id;
}

HandleRecord* Account::find(HandleId handle) {
  const auto found = handles_.find(handle);
  return found == handles_.end() ? nullptr : &found->second;
}

Result<Done> Account::retain(ClientId client, HandleId handle) {
  HandleRecord* record = find(handle);
  if (record == nullptr) return fail(Errc::not_found);
  ++record->references[client];
  ++by_client_[client][handle];
  if (record->holder == 0) record->holder = client;
  return Done{};
}

Result<std::optional<HandleRecord>> Account::release(ClientId client, HandleId handle, std::uint64_t count) {
  HandleRecord* record = find(handle);
  if (record == nullptr) return fail(Errc::not_found);
  const auto mine = record->references.find(client);
  if (mine == record->references.end() || mine->second < count) return fail(Errc::not_taken);
  mine->second -= count;
  if (mine->second != 0) {
    by_client_[client][handle] = mine->second;
    return std::optional<HandleRecord>{};
  }
  record->references.erase(mine);
  by_client_[client].erase(handle);
  return end_if_unused(*record);
}

void Account::hold_export(HandleId handle) {
  if (HandleRecord* record = find(handle)) {
    ++record->exports;
    record->seen_by_others = true;
  }
}

std::optional<HandleRecord> Account::drop_export(HandleId handle) {
  HandleRecord* record = find(handle);
  if (record == nullptr || record->exports == 0) return std::nullopt;
  --record->exports;
  return end_if_unused(*record);
}

std::vector<HandleRecord> Account::drop_client(ClientId client) {
  std::vector<HandleRecord> ended;
  const auto found = by_client_.find(client);
  if (found == by_client_.end()) return ended;
  for (const auto& [handle, count] : found->second) {
    HandleRecord& record = handles_.at(handle);
    record.references.erase(client);
    if (auto last = end_if_unused(record)) ended.push_back(std::move(*last));
  }
  by_client_.erase(client);
  return ended;
}

std::optional<HandleRecord> Account::end_if_unused(HandleRecord& record) {
  if (!record.references.empty() || record.exports != 0) {
    if (record.references.count(record.holder) == 0)
      record.holder = record.references.empty() ? 0 : record.references.begin()->first;
    return std::nullopt;
  }
  if (is_charged(record.purpose)) gpus_[record.gpu].used -= record.bytes;
  HandleRecord ended = std::move(record);
  handles_.erase(ended.id);
  return ended;
}

std::map<ClientId, std::uint64_t> Account::holders(std::uint32_t gpu) const {
  std::map<ClientId, std::uint64_t> sums;
  for (const auto& [id, record] : handles_) {
    if (record.gpu == gpu && is_charged(record.purpose) && record.holder != 0) sums[record.holder] += record.bytes;
  }
  return sums;
}

bool Account::is_consistent() const {
  std::vector<std::uint64_t> sums(gpus_.size());
  for (const auto& [id, record] : handles_) {
    if (record.references.empty() && record.exports == 0) return false;
    if (is_charged(record.purpose)) sums[record.gpu] += record.bytes;
    for (const auto& [client, count] : record.references) {
      const auto held = by_client_.find(client);
      if (held == by_client_.end()) return false;
      const auto entry = held->second.find(id);
      if (entry == held->second.end() || entry->second != count || count == 0) return false;
    }
  }
  for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
    if (sums[gpu] != gpus_[gpu].used || gpus_[gpu].used > gpus_[gpu].capacity) return false;
  }
  for (const auto& [client, held] : by_client_) {
    for (const auto& [handle, count] : held) {
      const auto record = handles_.find(handle);
      if (record == handles_.end() || record->second.references.count(client) == 0) return false;
    }
  }
  return true;
}

}  // namespace cupool::simgpu
