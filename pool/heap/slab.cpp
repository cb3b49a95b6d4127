// SPDX-License-Identifier: Apache-2.0
#include "pool/heap/slab.h"

namespace cupool::pool {

Slab::Slab(SlabId id, Run run, SizeClass size_class)
    : id_(id),
      run_(run),
      size_class_(size_class),
      slot_(static_cast<std::uint32_t>(slot_length(size_class).count)),
      slots_(static_cast<std::uint32_t>(run.length.count) / slot_) {
  for (std::uint32_t slot = 0; slot < slots_; ++slot) free_[slot / 64] |= std::uint64_t{1} << (slot % 64);
  for (std::uint32_t word = 0; word < free_.size(); ++word) {
    if (free_[word] != 0) words_with_free_ |= std::uint64_t{1} << word;
  }
}

Run Slab::take(Granules asked) {
  const auto word = static_cast<std::uint32_t>(std::countr_zero(words_with_free_));
  const auto bit = static_cast<std::uint32_t>(std::countr_zero(free_[word]));
  free_[word] &= free_[word] - 1;
  if (free_[word] == 0) words_with_free_ &= words_with_free_ - 1;
  ++used_;
  rounding_ += slot_ - asked.count;
  return Run{Granules{run_.start.count + std::uint64_t{word * 64 + bit} * slot_}, slot()};
}

bool Slab::give_back(Run run) {
  if (run.length != slot() || run.start < run_.start || run.end() > run_.end()) return false;
  const auto offset = static_cast<std::uint32_t>(run.start.count - run_.start.count);
  const std::uint32_t slot = offset / slot_;
  const std::uint64_t bit = std::uint64_t{1} << (slot % 64);
  if (offset % slot_ != 0 || slot >= slots_ || (free_[slot / 64] & bit) != 0) return false;
  if (rounding_ != 0) rounding_ -= rounding_ / used_;
  --used_;
  if (used_ == 0) rounding_ = 0;
  free_[slot / 64] |= bit;
  words_with_free_ |= std::uint64_t{1} << (slot / 64);
  return true;
}

bool Slab::is_consistent() const {
  std::uint32_t free = 0;
  for (std::uint32_t word = 0; word < free_.size(); ++word) {
    if ((free_[word] != 0) != ((words_with_free_ >> word & 1) != 0)) return false;
    free += static_cast<std::uint32_t>(std::popcount(free_[word]));
  }
  return free + used_ == slots_ && std::uint64_t{slots_} * slot_ <= run_.length.count;
}

}  // namespace cupool::pool
