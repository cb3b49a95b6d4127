// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rapidcheck.h>
#include <rapidcheck/detail/TestListenerAdapter.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

namespace cupool::test {

/// Ten times the cases in long runs (CUPOOL_TEST_LONG=1).
inline int long_run(int cases) {
  return std::getenv("CUPOOL_TEST_LONG") != nullptr ? 10 * cases : cases;
}

/// Checks a RapidCheck property over `cases` cases and prints the seed with which it ran; RC_PARAMS (for instance "seed=42" and
/// what a failure prints as `reproduce=`) overrides.
template <class Property>
bool holds(const std::string& name, int cases, Property&& property) {
  using namespace rc::detail;
  TestParams params = configuration().testParams;
  // One seed for everyday runs, so that a change is what makes them fail; another each time in long ones.
  if (std::getenv("RC_PARAMS") == nullptr)
    params.seed = std::getenv("CUPOOL_TEST_LONG") == nullptr ? 20260612
                                                             : std::random_device{}() | std::uint64_t{std::random_device{}()} << 32;
  params.maxSuccess = long_run(cases);
  TestMetadata metadata;
  metadata.id = name;
  metadata.description = name;
  TestListenerAdapter silent;
  const TestResult result =
      checkProperty(toProperty(std::forward<Property>(property)), metadata, params, silent, configuration().reproduce);
  std::cerr << name << ": " << params.maxSuccess << " cases, seed " << params.seed << '\n';
  printResultMessage(result, std::cerr);
  std::cerr << '\n';
  return result.template is<SuccessResult>();
}

}  // namespace cupool::test
