// SPDX-License-Identifier: Apache-2.0
#include "policy/names.h"

#include <algorithm>

namespace cupool::policy {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_hexadecimal(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

template <class Predicate>
bool all(std::string_view text, Predicate predicate) {
  return std::all_of(text.begin(), text.end(), predicate);
}

}  // namespace

bool is_class_name(std::string_view name) {
  if (name.empty() || name.size() > 64 || name.front() == '.' || name.front() == '-') return false;
  return all(name, [](char c) { return is_digit(c) || is_letter(c) || c == '_' || c == '.' || c == '-'; });
}

bool is_device_selector(std::string_view selector) {
  if (selector == "*") return true;
  if (!selector.empty() && selector.size() <= 4 && all(selector, is_digit)) return selector.size() == 1 || selector.front() != '0';
  if (!selector.starts_with("GPU-") && !selector.starts_with("MIG-")) return false;
  const std::string_view number = selector.substr(4);
  return number.size() <= 36 && all(number, [](char c) { return is_hexadecimal(c) || c == '-'; });
}

bool is_variable_name(std::string_view name) {
  if (name.empty() || name.size() > 128 || is_digit(name.front())) return false;
  return all(name, [](char c) { return is_digit(c) || is_letter(c) || c == '_'; });
}

}  // namespace cupool::policy
