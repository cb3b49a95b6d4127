// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

namespace cupool::simgpu {

/// Every call as one line: SIMGPU_LOG names a file that lines are appended to, or "stderr".
///
///     1234.1240 +1503us cuMemAlloc_v2(0x7ffd5e0c, 1048576) = 0
///
/// Process and thread, the virtual time after the call, the call with its arguments as they were given, the code. Lines of several
/// threads and processes do not mix. Names without a body are logged as `NAME is not simulated`, once each.
bool call_log_enabled();

/// Writes one line (without its newline).
void write_call_log(const std::string& line);

void log_call(const char* name, const std::string& arguments, int code);
void log_not_simulated(const char* name);

namespace detail {
void append(std::string& text, std::uint64_t value);
void append(std::string& text, std::int64_t value);
void append(std::string& text, const void* value);

template <class T>
void append_argument(std::string& text, const T& value) {
  if (!text.empty()) text += ", ";
  if constexpr (std::is_pointer_v<T>) {
    append(text, static_cast<const void*>(value));
  } else if constexpr (std::is_enum_v<T>) {
    append(text, static_cast<std::int64_t>(value));
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    append(text, static_cast<std::int64_t>(value));
  } else if constexpr (std::is_integral_v<T>) {
    append(text, static_cast<std::uint64_t>(value));
  } else {
    text += "{...}";
  }
}
}  // namespace detail

}  // namespace cupool::simgpu
