// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer over the whole way of a policy file: read, check, word the problems; and for what is accepted, resolve it on a device
// and write it anew. Every input must end in a policy or in at least one error, never in both.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "policy/encode.h"
#include "policy/load.h"
#include "policy/resolve.h"
#include "policy/utf8.h"

namespace {

using namespace cupool;
using namespace cupool::policy;

void must(bool holds) {
  if (!holds) std::abort();
}

void check_problems(const Loaded& loaded, std::string_view text) {
  must(loaded.policy.has_value() == (loaded.problems.errors() == 0));
  if (loaded.problems.empty()) return;
  for (const Problem& problem : loaded.problems.list()) must(problem.where.begin <= text.size() && !problem.text.empty());
  // Wording costs as much as all the rest: a quarter of the inputs is enough for it.
  if (text.size() % 4 != 0) return;
  const std::string shown = render(loaded.problems, "policy.json", text);
  must(find_invalid_utf8(shown) == std::string_view::npos);
  must(shown.find('\x1b') == std::string::npos);
}

void check_policy(const Policy& policy) {
  const Resolved resolved = resolve(policy, {"GPU-5d1e", 0, Bytes{80 * kGiB.count}}, {8});
  for (const ClassTerms& rules : resolved.terms.classes)
    must(rules.guarantee <= rules.limit && rules.limit <= resolved.terms.pool.capacity);
  for (const JobRule& job : policy.jobs) {
    const JobTerms own = job_terms(resolved.terms, 0, &job);
    must(own.reserve <= own.rules.guarantee && own.rules.limit <= resolved.terms.pool.capacity);
  }
  const std::string encoded = encode_document(policy);
  const Loaded again = load(encoded);
  must(again.policy.has_value() && *again.policy == policy);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Loaded loaded = load(text);
  check_problems(loaded, text);
  if (loaded.policy) check_policy(*loaded.policy);
  return 0;
}
