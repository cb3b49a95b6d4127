// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pool/heap/heap.h"
#include "tests/pool/heap/naive_space.h"

namespace cupool::pool {

/// Plays operations on a heap and on the reference at once, and compares. Each operation is one number, so that RapidCheck can make
/// and shrink sequences of them quickly.
class HeapDriver {
 public:
  explicit HeapDriver(const HeapConfig& config);

  /// Empty, or what the heap did that the reference does not allow.
  std::string play(std::uint32_t operation);

  /// Recounts everything. Empty, or what does not agree.
  std::string recount();

  /// Gives every block back; then the heap must be one piece again.
  std::string drain();

  bool saw_slabs() const { return saw_slabs_; }

  std::string describe(std::uint32_t operation) const;

 private:
  struct Step {
    unsigned kind;
    std::uint64_t length;
    std::uint64_t alignment;
    std::uint64_t position;
  };
  Step decode(std::uint32_t operation) const;

  std::string take(const Step& step);
  std::string take_at(const Step& step);
  std::string give_back(const Step& step);
  std::string give_back_wrongly(const Step& step);
  std::string grow(const Step& step);
  std::string shrink(const Step& step);
  std::string place(const Step& step);
  std::string list(const Step& step);

  std::string accept(const Taken& taken, std::uint64_t length, std::uint64_t alignment);
  bool must_fit(const NaiveSpace& space, std::uint64_t length, std::uint64_t alignment) const;
  /// The space as the heap itself describes it: what slabs keep counts as taken.
  NaiveSpace as_described() const;

  HeapConfig config_;
  std::unique_ptr<Heap> heap_;
  NaiveSpace space_;
  std::vector<Taken> blocks_;
  int next_name_ = 1;
  bool saw_slabs_ = false;
};

}  // namespace cupool::pool
