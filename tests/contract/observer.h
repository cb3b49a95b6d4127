// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "shim/abi/cuda_types.h"

namespace contract {

/// Where an expectation comes from.
enum class Source {
  header,  ///< stated in the toolkit's headers
  sheet,   ///< found in others' sources or observed (shared knowledge of the field), not on our hardware
  known,   ///< widely known behaviour that no header states
  open,    ///< left open by the sources: printed, to be settled on a GPU
};

/// Prints observations as stable text, one per line: `area.name = value`; and compares each with what is expected of a real driver.
///
/// Values must not depend on the machine, so that a simulator and hardware print the same: codes, relations, orders, never
/// addresses or amounts of free memory. Not thread-safe.
class Observer {
 public:
  /// Names that follow belong to this area ("memory", "virtual_memory"...).
  void area(std::string_view name) { area_ = name; }

  void expect(std::string_view name, CUresult got, CUresult wanted, Source source) {
    line(name, std::to_string(got), std::to_string(wanted), source);
  }
  void expect(std::string_view name, bool got, Source source) { line(name, got ? "true" : "false", "true", source); }
  template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number> && !std::is_same_v<Number, bool>>>
  void expect(std::string_view name, Number got, Number wanted, Source source) {
    line(name, std::to_string(got), std::to_string(wanted), source);
  }
  void expect(std::string_view name, std::string_view got, std::string_view wanted, Source source) {
    line(name, std::string(got), std::string(wanted), source);
  }

  /// Printed, not judged: what the sources leave open.
  void open(std::string_view name, CUresult got) { line(name, std::to_string(got), "", Source::open); }
  void open(std::string_view name, bool got) { line(name, got ? "true" : "false", "", Source::open); }

  unsigned observations() const { return observations_; }
  unsigned differences() const { return differences_; }
  unsigned left_open() const { return left_open_; }

 private:
  void line(std::string_view name, const std::string& got, const std::string& wanted, Source source);

  std::string area_;
  unsigned observations_ = 0, differences_ = 0, left_open_ = 0;
};

}  // namespace contract
