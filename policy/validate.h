// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/document.h"
#include "policy/policy.h"
#include "policy/problem.h"

namespace cupool::policy {

/// What several values must satisfy together, as far as it can be said without a device: sums of guarantees over the static zone,
/// a guarantee above its limit, classes that are not defined, steps and powers of two, entries that can never apply. What depends
/// on a device's size is resolve()'s. Fills in what may be left out: the only class as the default class, the built-in class.
void validate(Policy& policy, const Document& document, Problems& problems);

}  // namespace cupool::policy
