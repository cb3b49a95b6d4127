// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/document.h"
#include "policy/policy.h"
#include "policy/problem.h"

namespace cupool::policy {

/// Reads every value of a document by the rows of keys.def: types, grammars, ranges, unknown keys. What concerns several values
/// together is validate()'s. The result is a policy to use only when no error was added.
Policy decode(const Document& document, Problems& problems);

}  // namespace cupool::policy
