// SPDX-License-Identifier: Apache-2.0
#include "policy/policy.h"

namespace cupool::policy {

std::optional<std::size_t> class_index(const Policy& policy, std::string_view name) {
  for (std::size_t i = 0; i < policy.classes.size(); ++i) {
    if (policy.classes[i].name == name) return i;
  }
  return std::nullopt;
}

Policy built_in() {
  Policy policy;
  policy.classes.emplace_back();
  policy.classes.back().name = "standard";
  policy.default_class = "standard";
  return policy;
}

}  // namespace cupool::policy
