// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "policy/base/units.h"

namespace cupool::tool {

/// A report as it was read from a file: any JSON. These accessors answer for whatever is there, so that a report of another version
/// or one that somebody has edited is shown as far as it goes: what is missing or of another type reads as zero, empty or false.
using Json = nlohmann::ordered_json;

inline std::uint64_t number(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end() || !found->is_number()) return 0;
  if (found->is_number_unsigned()) return found->get<std::uint64_t>();
  const double value = found->get<double>();
  return value > 0 && value < 1.8e19 ? static_cast<std::uint64_t>(value) : 0;
}

inline double fraction(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_number() ? found->get<double>() : 0.0;
}

inline bool flag(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

/// Control characters replaced: a name in a report must not drive the reader's terminal.
inline std::string printable(std::string value) {
  for (char& character : value) {
    if (static_cast<unsigned char>(character) < 0x20 || character == 0x7f) character = '?';
  }
  return value;
}

/// A string, made printable.
inline std::string text(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end() || !found->is_string()) return "";
  return printable(found->get<std::string>());
}

inline const Json& part(const Json& object, const char* key) {
  static const Json nothing = Json::object();
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() ? *found : nothing;
}

/// An array, or an empty one.
inline const Json& list(const Json& object, const char* key) {
  static const Json nothing = Json::array();
  const Json& found = part(object, key);
  return found.is_array() ? found : nothing;
}

inline Bytes bytes(const Json& object, const char* key) {
  return Bytes{number(object, key)};
}

}  // namespace cupool::tool
