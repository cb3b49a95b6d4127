// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cupool::bench {

/// One event of a trace, ready to replay without any look-up: the block of an allocation is kept in a slot.
struct Op {
  std::uint32_t slot;
  std::uint64_t bytes;  ///< rounded to kAlignment; 0: free what is in the slot
};

/// A trace as a loop: what is live at its end is freed there, so that it can be played again and again.
struct Ops {
  std::string name;
  std::string file;
  std::string level;  ///< "tensor" or "driver"
  std::vector<Op> list;
  std::uint32_t slots = 0;
  std::uint64_t largest_live = 0;   ///< the largest sum of live bytes
  std::uint64_t most_blocks = 0;    ///< the largest number of live blocks
  std::vector<std::uint64_t> live;  ///< after each event
};

/// Collects events into Ops. Ids may be any numbers.
class OpsBuilder {
 public:
  OpsBuilder(std::string name, std::string file, std::string level);
  void allocate(std::uint64_t id, std::uint64_t bytes);
  void free(std::uint64_t id);
  Ops finish();

 private:
  struct Live {
    std::uint64_t id;
    std::uint32_t slot;
  };
  void count(std::uint64_t live_bytes);

  Ops ops_;
  std::vector<Live> live_;  // sorted by id
  std::vector<std::uint32_t> free_slots_;
  std::vector<std::uint64_t> bytes_of_slot_;
};

/// Reads a trace file of any form that pool/trace knows. Prints what is wrong and ends the program otherwise.
Ops read_ops(const std::string& file);

/// The trace that PyTorch's cache makes of a tensor-level one: what it asks the driver for.
Ops driver_level(const Ops& tensor_level);

}  // namespace cupool::bench
