// SPDX-License-Identifier: Apache-2.0
#include "pool/heap/run_map.h"

#include <bit>
#include <new>

namespace cupool::pool {

RunMap::RunMap(Granules capacity, Granules page)
    : capacity_(capacity), page_shift_(static_cast<unsigned>(std::countr_zero(page.count))) {
  if (!reserve(1, Granules{1})) throw std::bad_alloc();
  enter_page(add_node(Granules{0}, capacity, State::absent));
}

bool RunMap::reserve_slowly(unsigned nodes, Granules end) {
  const std::uint64_t pages = ((end.count - 1) >> page_shift_) + 1;
  const bool names_suffice = unused_count_ + (chunks_.size() * kChunk - used_) >= nodes;
  try {
    if (pages > first_in_page_.size()) {
      // Whole words of the bitmap at a time; the bitmap first, so that a failure between the two leaves it merely too long.
      const std::uint64_t words = (pages + 63) / 64;
      if (words > page_has_node_.size()) page_has_node_.resize(words);
      first_in_page_.resize(words * 64, kNoNode);
    }
    if (!names_suffice) chunks_.push_back(std::make_unique<Node[]>(kChunk));
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

NodeId RunMap::find(Granules position) const {
  std::uint64_t page = position.count >> page_shift_;
  NodeId id = page < first_in_page_.size() ? first_in_page_[page] : kNoNode;
  if (id == kNoNode || (*this)[id].start() > position) {
    // The node begins in an earlier page: the last node of the nearest page below that has one. Page 0 always has.
    if (page > first_in_page_.size()) page = first_in_page_.size();
    std::uint64_t word = page / 64;
    std::uint64_t bits = page % 64 == 0 ? 0 : page_has_node_[word] & ((std::uint64_t{1} << (page % 64)) - 1);
    while (bits == 0) bits = page_has_node_[--word];
    id = first_in_page_[word * 64 + 63 - static_cast<unsigned>(std::countl_zero(bits))];
  }
  while ((*this)[id].end() <= position) id = (*this)[id].after;
  return id;
}

std::uint64_t RunMap::metadata_bytes() const {
  return chunks_.size() * kChunk * sizeof(Node) + chunks_.capacity() * sizeof(chunks_[0]) +
         first_in_page_.capacity() * sizeof(NodeId) + page_has_node_.capacity() * sizeof(page_has_node_[0]);
}

bool RunMap::is_consistent() const {
  Granules position;
  NodeId before = kNoNode;
  std::uint64_t count = 0;
  std::uint64_t pages = 0;
  for (NodeId id = first(); id != kNoNode; id = (*this)[id].after) {
    const Node& node = (*this)[id];
    if (node.start() != position || node.length_ == 0 || node.before != before) return false;
    const bool opens_page = before == kNoNode || page_of((*this)[before]) != page_of(node);
    if (opens_page) {
      if (first_in_page_[page_of(node)] != id) return false;
      ++pages;
    }
    position = node.end();
    before = id;
    ++count;
  }
  std::uint64_t marked = 0;
  std::uint64_t entered = 0;
  for (std::uint64_t word : page_has_node_) marked += static_cast<unsigned>(std::popcount(word));
  for (NodeId id : first_in_page_) entered += id != kNoNode ? 1 : 0;
  return position == capacity_ && count == node_count_ && marked == pages && entered == pages;
}

}  // namespace cupool::pool
