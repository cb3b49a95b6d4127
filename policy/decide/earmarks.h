// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "policy/decide/account.h"
#include "policy/decide/rank.h"

namespace cupool::policy {

/// Units that were given back in the name of waiting requests and are kept for them (the end of rule 5 of decide.h).
class Earmarks {
 public:
  /// Units kept, by where they would come from.
  struct Kept {
    std::int64_t plain = 0;
    std::int64_t reserve = 0;  ///< for critical classes, as far as what is left of the critical reserve goes
  };

  Earmarks(const Account& account, Instant now);

  std::int64_t all() const;
  /// What is kept for others from a request. A guarantee may take what was given back for a borrower.
  Kept against(std::uint64_t ticket, Tier tier) const;
  /// In thought, the request has taken `units`.
  void use(std::uint64_t ticket, std::int64_t units);

 private:
  struct Mark {
    std::uint64_t ticket;
    Tier tier;
    Kept kept;
  };

  std::array<Mark, kMaxRequests> marks_;  // only the first count_ are set
  std::uint32_t count_ = 0;
};

}  // namespace cupool::policy
