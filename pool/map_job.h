// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "pool/backing.h"
#include "pool/handle_table.h"

namespace cupool::pool {

/// What backing calls were made, for the arena's counters.
struct CallTally {
  std::uint64_t calls = 0;
  std::uint64_t faults = 0;
};

/// Handles mapped at consecutive positions.
struct MappedSlots {
  Slots slots;
  std::vector<HandleId> handles;  ///< one for each position
};

/// Fills absent positions of a range with handles: loose ones, new ones, and ones moved from elsewhere. Makes backing calls and
/// knows nothing of locks or of the arena: whoever runs it has set the positions aside, so that nobody else touches them meanwhile.
///
/// All or nothing: when a call fails, what was done is undone in reverse. If undoing fails as well, the outcome says where each
/// handle is now; none is lost.
struct MapJob {
  Address base;                     ///< of the range
  Bytes handle;                     ///< size of one
  std::vector<Slots> targets;       ///< absent, ascending; as many positions as there are handles in the next three
  std::vector<HandleId> loose;      ///< handles that exist and are mapped nowhere
  std::uint64_t create = 0;         ///< handles to be made
  std::vector<MappedSlots> donors;  ///< handles to be moved: unmapped from here first

  struct Outcome {
    Result<Done> verdict = Done{};
    bool create_failed = false;       ///< the verdict's error came from create(): moving instead may do
    std::uint64_t made = 0;           ///< handles that create() made, whether they still exist or not
    std::vector<HandleId> placed;     ///< on success: the handle of each target position, in order
    std::uint64_t created = 0;        ///< handles that exist now and did not before
    std::vector<HandleId> loose;      ///< handles that are mapped nowhere now
    std::vector<char> donor_is_back;  ///< on failure, for each donor: whether it is mapped where it was
    std::vector<MappedSlots> stuck;   ///< on failure: targets that stay mapped, since unmapping them failed
    CallTally tally;
  };
  /// May throw std::bad_alloc before the first backing call, not later.
  Outcome run(Backing& backing) const;
};

/// Takes mapped positions out of a range and gives their handles back to the driver. On a failure the rest is still tried.
struct ReleaseJob {
  Address base;
  Bytes handle;
  std::vector<MappedSlots> leaving;
  std::vector<HandleId> loose;  ///< mapped nowhere: only released

  struct Outcome {
    std::vector<char> is_unmapped;  ///< for each entry of `leaving`
    std::uint64_t released = 0;     ///< handles that do not exist any more
    std::vector<HandleId> loose;    ///< unmapped, but the driver would not take them back
    CallTally tally;
  };
  /// May throw std::bad_alloc before the first backing call, not later.
  Outcome run(Backing& backing) const;
};

}  // namespace cupool::pool
