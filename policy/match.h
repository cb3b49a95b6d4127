// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policy/policy.h"

namespace cupool::policy {

/// Who runs what: the facts that `jobs` entries are matched against. `policy/host/identity.h` reads them from the machine.
struct Identity {
  std::string user;  ///< name; empty when the machine knows none
  std::uint32_t uid = 0;
  std::vector<std::pair<std::uint32_t, std::string>> groups;  ///< all of the user's: number and name
  std::vector<std::string> command;                           ///< the words of the command line
  std::string program;                                        ///< path of the executable
  std::string cgroup;
  std::string cwd;
  std::vector<std::pair<std::string, std::string>> env;
};

/// One entry's answer and its reason, in words that quote the pattern and the fact.
struct EntryMatch {
  bool applies = false;
  std::string reason;
};
EntryMatch match_entry(const Match& match, const Identity& identity);

struct JobMatch {
  std::optional<std::size_t> entry;  ///< the first entry that applies; none: the default class
  std::size_t class_index = 0;
  std::string reason;
};

/// Which entry and class apply to a job. The policy must be a validated one.
JobMatch match_job(const Policy& policy, const Identity& identity);

/// Whether any entry looks at it: names of users and groups may cost a query to a directory service, so that they are only read
/// when needed.
struct IdentityNeeds {
  bool user_name = false;
  bool group_names = false;
};
IdentityNeeds identity_needs(const Policy& policy);

}  // namespace cupool::policy
