// SPDX-License-Identifier: Apache-2.0
#include "policy/load.h"

#include "policy/decode.h"
#include "policy/parse.h"
#include "policy/validate.h"

namespace cupool::policy {

Loaded load(std::string_view text) {
  Loaded loaded;
  loaded.document = parse(text, loaded.problems);
  if (loaded.document) {
    Policy policy = decode(*loaded.document, loaded.problems);
    if (loaded.document->root().kind == NodeKind::object) validate(policy, *loaded.document, loaded.problems);
    if (loaded.problems.errors() == 0) loaded.policy = std::move(policy);
  }
  loaded.problems.sort();
  return loaded;
}

}  // namespace cupool::policy
