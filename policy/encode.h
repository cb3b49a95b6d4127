// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "policy/keys.h"
#include "policy/policy.h"

namespace cupool::policy {

/// One value of a policy, written as JSON.
struct EncodedValue {
  std::string pointer;
  const KeySpec* spec = nullptr;
  std::string json;
};

/// Every single value of a policy in the order of keys.def, defaults included; keys that mean something when left out only where
/// they are set. The pointers are those of a file that states everything.
std::vector<EncodedValue> encode(const Policy& policy);

/// The same as one JSON document that loads to an equal policy.
std::string encode_document(const Policy& policy);

/// A JSON string literal.
std::string json_string(std::string_view text);

}  // namespace cupool::policy
