// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Names that a policy, the environment or a device hands us, checked before they are used as anything (a path, a key, a message).
namespace cupool::policy {

/// 1 to 64 letters, digits, `_`, `.` or `-`; the first is a letter, a digit or `_`. Also the form of job names (CUPOOL_JOB).
bool is_class_name(std::string_view name);

/// "*", an index of at most four digits, or "GPU-"/"MIG-" and at most 36 hexadecimal digits and dashes.
bool is_device_selector(std::string_view selector);

/// Letters, digits and `_`, the first no digit; at most 128.
bool is_variable_name(std::string_view name);

}  // namespace cupool::policy
