// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "policy/base/result.h"
#include "pool/heap/run.h"
#include "pool/request.h"

namespace cupool::pool {

/// Finds the block that an address lies in: a few table look-ups for an exact and for an interior address, however many blocks,
/// arenas or holes there are.
///
/// Exact addresses go through a hash of block starts. For interior ones, each 2 MiB page of the address space knows which block
/// covers its first byte, and which starts lie in it (a bitmap of 256-byte steps, present only where a block starts). A large block
/// costs one word per page that it covers. Nothing is known about an address outside its blocks.
/// Not thread-safe: whoever owns it holds a lock. A pointer to a record stays good until the next insert or erase.
class AddressMap {
 public:
  /// Starts of blocks are multiples of this (no allocator of the field aligns less).
  static constexpr Bytes kStep{256};

  struct Record {
    Block block;
    std::uint32_t mark = 0;  ///< the heap's note (Taken::mark), carried for the owner of the arena
  };

  /// Errc::exists when the block overlaps a known one, invalid_argument when it is empty, not a multiple of kStep or wraps around,
  /// no_memory when the host has none. Changes nothing when it fails.
  Result<Done> insert(const Record& record);
  /// The same for whoever knows that nothing overlaps, since a heap carved the block: without looking for it.
  Result<Done> insert_carved(const Record& record);

  /// The block that begins exactly here; null when there is none.
  const Record* find_exact(Address base) const;
  /// The block that this address lies in: [base, base + given). Null when there is none.
  const Record* find(Address address) const;

  /// Forgets the block that begins exactly here. Errc::not_taken for any other address, an interior one too.
  Result<Record> erase(Address base);

  std::uint64_t size() const { return live_; }
  Bytes metadata() const;

  /// Visits every record, in no particular order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Record& record : records_) {
      if (record.block.given.count != 0) visit(record);
    }
  }

 private:
  using Index = std::uint32_t;  // into records_; kNone: no record
  static constexpr Index kNone = 0xffffffff;
  static constexpr unsigned kStepBits = 8;
  static constexpr unsigned kPageBits = 21;
  static constexpr unsigned kChunkBits = 30;
  static constexpr std::size_t kWords = (std::size_t{1} << (kPageBits - kStepBits)) / 64;
  static constexpr std::size_t kPagesPerChunk = std::size_t{1} << (kChunkBits - kPageBits);

  /// Which blocks start in one page.
  struct Starts {
    std::array<std::uint64_t, kWords> bits{};
    std::array<std::uint64_t, kWords / 64> summary{};  ///< which words are not zero
  };
  /// 1 GiB of address space. `covering` holds Index + 1 of the block that began earlier and covers the page's first byte; it is
  /// not taken back when that block ends.
  struct Chunk {
    std::array<Index, kPagesPerChunk> covering{};
    std::array<std::uint16_t, kPagesPerChunk> start_count{};
    std::array<std::unique_ptr<Starts>, kPagesPerChunk> starts;
  };

  static constexpr std::uint64_t kNearChunks = 1 << 14;  // 16 TiB: the longest range

  static constexpr std::uint64_t page_of(std::uint64_t address) { return address >> kPageBits; }
  Chunk* chunk_at(std::uint64_t address) const;
  void make_chunk(std::uint64_t number);
  bool is_ready(const Block& block) const;
  Result<Done> prepare(const Block& block);
  bool overlaps(const Block& block) const;
  bool starts_between(std::uint64_t first_page, std::uint64_t end_page) const;
  void set_covering(const Block& block, Index value);
  void add_start(std::uint64_t address);
  void remove_start(std::uint64_t address);
  /// The highest start in the page of `address` that is not above it; none: kNoStart.
  static constexpr std::uint64_t kNoStart = ~std::uint64_t{0};
  std::uint64_t start_at_or_below(std::uint64_t address) const;

  std::size_t slot_of(std::uint64_t base) const;
  std::size_t probe(std::uint64_t base) const;
  void grow_hash();
  void remove_slot(std::size_t slot);

  std::vector<Record> records_;
  std::vector<Index> free_records_;
  std::uint64_t live_ = 0;
  std::vector<Index> hash_;  ///< open addressing, linear probing, at most half full; a power of two long
  /// By address >> kChunkBits, counted from the number of the first block's chunk: an arena's range is one stretch of numbers.
  std::vector<std::unique_ptr<Chunk>> near_chunks_;
  std::uint64_t near_from_ = 0;
  std::uint64_t near_in_use_ = 0;
  /// What lies further than kNearChunks above it, or below.
  std::unordered_map<std::uint64_t, std::unique_ptr<Chunk>> far_chunks_;
  std::vector<std::unique_ptr<Starts>> spare_starts_;
  std::uint64_t starts_in_use_ = 0;
};

}  // namespace cupool::pool
