// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "policy/decide/verdict.h"

/// Verdicts in words. Allocates: not for the path on which a decision is made, but for whoever shows it.
namespace cupool::policy {

/// Names as they are spelt in verdict.h, for reports and JSON.
const char* to_text(Outcome outcome);
const char* to_text(Rule rule);
const char* to_text(Ending ending);

/// One sentence: what was decided, the rule and the figures that led to it and, unless granted, what the reader can do. `unit` is
/// the pool's unit size; amounts are shown as bytes.
/// "denied: asks for 5 GiB beside 8 GiB held, above the job's limit of 10 GiB; free some first, or raise the limit"
std::string explain(const Verdict& verdict, Bytes unit);

}  // namespace cupool::policy
