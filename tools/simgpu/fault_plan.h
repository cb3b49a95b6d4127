// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policy/base/result.h"

namespace cupool::simgpu {

/// What a plan makes of one call.
struct Fault {
  int code = 0;                ///< not 0: answer this instead of doing the work
  std::uint64_t delay_ns = 0;  ///< wait so long (really) first
  bool hang = false;           ///< never return
  bool sticky = false;         ///< the code is the context's end, not this call's alone
};

/// Faults injected by plan: SIMGPU_FAULTS, rules separated by `;`.
///
///     cuMemCreate:3=2              the third call answers 2
///     cuMemMap:*@20%=999           every call, with probability 20 % (SIMGPU_FAULT_SEED makes another sequence)
///     cuMemAlloc:5-7=2  :5+=2      calls five to seven; from the fifth on
///     cuMemCreate:delay=5ms        every call takes 5 ms longer (us, ms, s); cuMemCreate:3:delay=5ms only the third
///     nvmlDeviceGetMemoryInfo:*=hang    never returns
///     after 100 launches=700       the 101st launch of any form ends its context with 700; `after N NAME=CODE` likewise
///
/// A name is an exported name, the name without its version (cuMemAlloc for cuMemAlloc_v2 and all forms), or a prefix ending in
/// `*`. Codes of context faults (700 and its kin) are sticky. Calls are counted per rule, in this process. Thread-safe once parsed.
class FaultPlan {
 public:
  /// Errc::malformed with the rule and the remedy in `message`.
  static Result<FaultPlan> parse(std::string_view text, std::uint64_t seed, std::string& message);

  bool is_empty() const { return rules_.empty(); }

  /// Counts one call of a name and says what becomes of it. The first matching rule with a code decides; delays add up.
  Fault on_call(std::string_view exported, std::string_view base) const;

 private:
  struct Rule {
    std::string name;
    bool is_prefix = false;
    bool launches = false;
    std::uint64_t first = 1;
    std::uint64_t last = UINT64_MAX;
    std::uint32_t percent = 100;
    Fault fault;
    std::unique_ptr<std::atomic<std::uint64_t>> calls = std::make_unique<std::atomic<std::uint64_t>>(0);

    bool matches(std::string_view exported, std::string_view base) const;
  };
  static Result<Rule> parse_rule(std::string_view text);
  static bool parse_span(std::string_view text, Rule& rule);
  static bool parse_effect(std::string_view text, Rule& rule);

  std::vector<Rule> rules_;
  std::uint64_t seed_ = 1;
};

/// The plan of this process, from the environment; a malformed one is reported on stderr and refuses cuInit (see plan_error()).
const FaultPlan& fault_plan();
/// Empty, or why the plan cannot be used.
const std::string& fault_plan_error();

}  // namespace cupool::simgpu
