// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/simgpu/ptx/syntax/module.h"

namespace cupool::simgpu::ptx {

/// The nested { } scopes of one function body, and what their names mean.
///
/// `.reg .b32 %r<100000>` declares a hundred thousand names: registers come into being in Function::registers when they are first
/// used.
class Scopes {
 public:
  explicit Scopes(Function& function) : function_(function) { open(); }

  void open();
  void close() { current_ = scopes_[current_].parent; }
  bool is_outermost() const { return current_ == 0; }
  std::uint32_t current() const { return current_; }

  /// Each gives false when the name is taken in this scope.
  bool declare_register(std::string_view name, Type type);
  bool declare_registers(std::string_view prefix, Type type, std::uint64_t count);
  bool declare_variable(std::string_view name, std::int32_t index);
  bool declare_label(std::string_view name, std::int32_t index);
  bool declare_table(std::string_view name);

  std::optional<RegisterId> find_register(std::string_view name);
  std::optional<std::int32_t> find_variable(std::string_view name) const;
  /// As seen from `scope`, which may be closed by now.
  std::optional<std::int32_t> find_label(std::string_view name, std::uint32_t scope) const;

 private:
  struct Entry {
    enum class Kind : std::uint8_t { reg, range, variable, label, table };
    Kind kind;
    Type type;
    std::uint64_t count = 0;
    std::int64_t index = -1;
  };
  struct Scope {
    std::uint32_t parent = 0;
    std::unordered_map<std::string_view, Entry> names;
    std::unordered_map<std::string_view, Entry> ranges;
    std::unordered_map<std::string_view, RegisterId> members;  ///< registers of ranges used so far
  };
  bool declare(std::string_view name, Entry entry) { return scopes_[current_].names.emplace(name, entry).second; }
  RegisterId make_register(std::string_view name, Type type);

  Function& function_;
  std::vector<Scope> scopes_;
  std::uint32_t current_ = 0;
};

}  // namespace cupool::simgpu::ptx
