// SPDX-License-Identifier: Apache-2.0
#include "pool/address_map.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <new>

namespace cupool::pool {
namespace {

constexpr std::size_t kFirstHashSize = 64;

}  // namespace

AddressMap::Chunk* AddressMap::chunk_at(std::uint64_t address) const {
  const std::uint64_t number = address >> kChunkBits;
  if (number - near_from_ < near_chunks_.size()) return near_chunks_[number - near_from_].get();
  if (far_chunks_.empty()) return nullptr;
  const auto found = far_chunks_.find(number);
  return found == far_chunks_.end() ? nullptr : found->second.get();
}

void AddressMap::make_chunk(std::uint64_t number) {
  if (near_chunks_.empty()) near_from_ = number;
  if (number - near_from_ >= kNearChunks) {
    std::unique_ptr<Chunk> made = std::make_unique<Chunk>();
    far_chunks_.emplace(number, std::move(made));
    return;
  }
  if (number - near_from_ >= near_chunks_.size()) near_chunks_.resize(number - near_from_ + 1);
  near_chunks_[number - near_from_] = std::make_unique<Chunk>();
  ++near_in_use_;
}

std::size_t AddressMap::slot_of(std::uint64_t base) const {
  // Fibonacci hashing: starts are multiples of large powers of two, so the low bits say little.
  const std::uint64_t mixed = (base >> kStepBits) * 0x9e3779b97f4a7c15ULL;
  return static_cast<std::size_t>(mixed >> 32) & (hash_.size() - 1);
}

std::size_t AddressMap::probe(std::uint64_t base) const {
  std::size_t slot = slot_of(base);
  while (hash_[slot] != kNone && records_[hash_[slot]].block.base.value != base) slot = (slot + 1) & (hash_.size() - 1);
  return slot;
}

void AddressMap::grow_hash() {
  std::vector<Index> old(std::max(kFirstHashSize, hash_.size() * 2), kNone);
  old.swap(hash_);
  for (const Index index : old) {
    if (index != kNone) hash_[probe(records_[index].block.base.value)] = index;
  }
}

void AddressMap::remove_slot(std::size_t slot) {
  // Backward shift: a later entry moves into the gap unless it already stands at or after its own place.
  const std::size_t mask = hash_.size() - 1;
  std::size_t gap = slot;
  for (std::size_t next = (slot + 1) & mask; hash_[next] != kNone; next = (next + 1) & mask) {
    const std::size_t home = slot_of(records_[hash_[next]].block.base.value);
    if (((next - home) & mask) < ((next - gap) & mask)) continue;
    hash_[gap] = hash_[next];
    gap = next;
  }
  hash_[gap] = kNone;
}

bool AddressMap::is_ready(const Block& block) const {
  const std::uint64_t last = block.base.value + block.given.count - 1;
  for (std::uint64_t number = block.base.value >> kChunkBits; number <= last >> kChunkBits; ++number) {
    if (chunk_at(number << kChunkBits) == nullptr) return false;
  }
  return !free_records_.empty() && !spare_starts_.empty() && (live_ + 1) * 2 <= hash_.size();
}

// All host memory that an insert needs is obtained here, so that what follows cannot fail halfway. What it leaves behind on failure
// (a chunk, room in a vector) is not visible to anybody.
Result<Done> AddressMap::prepare(const Block& block) try {
  const std::uint64_t last = block.base.value + block.given.count - 1;
  for (std::uint64_t number = block.base.value >> kChunkBits; number <= last >> kChunkBits; ++number) {
    if (chunk_at(number << kChunkBits) == nullptr) make_chunk(number);
  }
  if (spare_starts_.empty()) {
    if (spare_starts_.capacity() <= starts_in_use_) spare_starts_.reserve(std::max<std::size_t>(64, (starts_in_use_ + 1) * 2));
    spare_starts_.push_back(std::make_unique<Starts>());
  }
  if (free_records_.empty()) {
    if (records_.size() >= kNone - 1) return fail(Errc::overflow, "too many blocks");
    // Room first, so that giving a record back never allocates.
    if (records_.size() == records_.capacity()) records_.reserve(std::max<std::size_t>(64, records_.size() * 2));
    free_records_.reserve(records_.capacity());
    records_.emplace_back();
    free_records_.push_back(static_cast<Index>(records_.size() - 1));
  }
  if ((live_ + 1) * 2 > hash_.size()) grow_hash();
  return Done{};
} catch (const std::bad_alloc&) {
  return fail(Errc::no_memory, "the host has no memory for the record of a block");
}

Result<Done> AddressMap::insert(const Record& record) {
  const Block& block = record.block;
  if (block.given.count == 0 || block.base.value % kStep.count != 0 || !checked_add(block.base.value, block.given.count)) {
    return fail(Errc::invalid_argument, "a block that is empty, misaligned or wraps around");
  }
  if (overlaps(block)) return fail(Errc::exists, "a block that overlaps another");
  return insert_carved(record);
}

Result<Done> AddressMap::insert_carved(const Record& record) {
  const Block& block = record.block;
  if (!is_ready(block)) {
    if (const auto ready = prepare(block); !ready) return ready;
  }
  const Index index = free_records_.back();
  free_records_.pop_back();
  records_[index] = record;
  ++live_;
  hash_[probe(block.base.value)] = index;
  add_start(block.base.value);
  set_covering(block, index + 1);
  return Done{};
}

bool AddressMap::starts_between(std::uint64_t first_page, std::uint64_t end_page) const {
  for (std::uint64_t page = first_page; page < end_page;) {
    const std::uint64_t first = page % kPagesPerChunk;
    const std::uint64_t count = std::min<std::uint64_t>(kPagesPerChunk - first, end_page - page);
    if (const Chunk* chunk = chunk_at(page << kPageBits)) {
      const auto begin = chunk->start_count.begin() + static_cast<std::ptrdiff_t>(first);
      std::uint32_t found = 0;
      for (auto it = begin; it != begin + static_cast<std::ptrdiff_t>(count); ++it) found |= *it;
      if (found != 0) return true;
    }
    page += count;
  }
  return false;
}

bool AddressMap::overlaps(const Block& block) const {
  // Either an earlier block reaches into this one's first byte, or a later one starts inside it.
  if (find(block.base) != nullptr) return true;
  const std::uint64_t last = block.base.value + block.given.count - 1;
  const std::uint64_t first_page = page_of(block.base.value);
  const std::uint64_t last_page = page_of(last);
  const std::uint64_t end_of_first = (first_page << kPageBits) + ((std::uint64_t{1} << kPageBits) - 1);
  const auto starts_inside = [&](std::uint64_t highest) {
    const std::uint64_t start = start_at_or_below(highest);
    return start != kNoStart && start >= block.base.value;
  };
  return starts_inside(std::min(last, end_of_first)) || (last_page != first_page && starts_inside(last)) ||
         starts_between(first_page + 1, last_page);
}

const AddressMap::Record* AddressMap::find_exact(Address base) const {
  if (hash_.empty()) return nullptr;
  const Index index = hash_[probe(base.value)];
  return index == kNone ? nullptr : &records_[index];
}

const AddressMap::Record* AddressMap::find(Address address) const {
  const Chunk* chunk = chunk_at(address.value);
  if (chunk == nullptr) return nullptr;
  const Record* record = nullptr;
  if (const std::uint64_t start = start_at_or_below(address.value); start != kNoStart) {
    record = find_exact(Address{start});
  } else if (const Index covering = chunk->covering[page_of(address.value) % kPagesPerChunk]; covering != 0) {
    record = &records_[covering - 1];
  }
  if (record == nullptr || address.value - record->block.base.value >= record->block.given.count) return nullptr;
  return record;
}

Result<AddressMap::Record> AddressMap::erase(Address base) {
  if (hash_.empty()) return fail(Errc::not_taken);
  const std::size_t slot = probe(base.value);
  const Index index = hash_[slot];
  if (index == kNone) return fail(Errc::not_taken, "no block begins at this address");
  const Record record = records_[index];
  remove_slot(slot);
  remove_start(base.value);
  // Pages may go on naming this record: find() looks at where the record's block lies now, and an empty one holds no address.
  records_[index].block.given = Bytes{0};
  free_records_.push_back(index);
  --live_;
  return record;
}

void AddressMap::set_covering(const Block& block, Index value) {
  const std::uint64_t last_page = page_of(block.base.value + block.given.count - 1);
  for (std::uint64_t page = page_of(block.base.value) + 1; page <= last_page;) {
    Chunk* chunk = chunk_at(page << kPageBits);
    const std::uint64_t first = page % kPagesPerChunk;
    const std::uint64_t count = std::min<std::uint64_t>(kPagesPerChunk - first, last_page - page + 1);
    std::fill_n(chunk->covering.begin() + static_cast<std::ptrdiff_t>(first), count, value);
    page += count;
  }
}

void AddressMap::add_start(std::uint64_t address) {
  Chunk* chunk = chunk_at(address);
  const std::size_t page = page_of(address) % kPagesPerChunk;
  std::unique_ptr<Starts>& starts = chunk->starts[page];
  if (!starts) {
    starts = std::move(spare_starts_.back());
    spare_starts_.pop_back();
    ++starts_in_use_;
  }
  const std::uint64_t step = (address >> kStepBits) % (kWords * 64);
  starts->bits[step / 64] |= std::uint64_t{1} << (step % 64);
  starts->summary[step / 4096] |= std::uint64_t{1} << (step / 64 % 64);
  ++chunk->start_count[page];
}

void AddressMap::remove_start(std::uint64_t address) {
  Chunk* chunk = chunk_at(address);
  const std::size_t page = page_of(address) % kPagesPerChunk;
  std::unique_ptr<Starts>& starts = chunk->starts[page];
  const std::uint64_t step = (address >> kStepBits) % (kWords * 64);
  std::uint64_t& word = starts->bits[step / 64];
  word &= ~(std::uint64_t{1} << (step % 64));
  if (word == 0) starts->summary[step / 4096] &= ~(std::uint64_t{1} << (step / 64 % 64));
  if (--chunk->start_count[page] != 0) return;
  // prepare() keeps room for every bitmap there is, so this allocates nothing and a steady loop lives from the spare ones.
  spare_starts_.push_back(std::move(starts));
  --starts_in_use_;
}

std::uint64_t AddressMap::start_at_or_below(std::uint64_t address) const {
  const Chunk* chunk = chunk_at(address);
  const Starts* starts = chunk == nullptr ? nullptr : chunk->starts[page_of(address) % kPagesPerChunk].get();
  if (starts == nullptr) return kNoStart;
  const std::uint64_t page_base = page_of(address) << kPageBits;
  const std::uint64_t step = (address >> kStepBits) % (kWords * 64);
  const auto at_word = [&](std::uint64_t word, std::uint64_t bits) {
    return page_base + ((word * 64 + 63 - static_cast<std::uint64_t>(std::countl_zero(bits))) << kStepBits);
  };
  const std::uint64_t in_word = starts->bits[step / 64] & (~std::uint64_t{0} >> (63 - step % 64));
  if (in_word != 0) return at_word(step / 64, in_word);
  for (std::uint64_t group = step / 4096 + 1; group-- > 0;) {
    std::uint64_t words = starts->summary[group];
    if (group == step / 4096) words &= (std::uint64_t{1} << (step / 64 % 64)) - 1;
    if (words == 0) continue;
    const std::uint64_t word = group * 64 + 63 - static_cast<std::uint64_t>(std::countl_zero(words));
    return at_word(word, starts->bits[word]);
  }
  return kNoStart;
}

Bytes AddressMap::metadata() const {
  return Bytes{records_.capacity() * sizeof(Record) + free_records_.capacity() * sizeof(Index) + hash_.capacity() * sizeof(Index) +
               (near_in_use_ + far_chunks_.size()) * (sizeof(Chunk) + 64) +
               (starts_in_use_ + spare_starts_.size()) * sizeof(Starts)};
}

}  // namespace cupool::pool
