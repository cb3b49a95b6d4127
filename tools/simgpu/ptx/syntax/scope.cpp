// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/syntax/scope.h"

namespace cupool::simgpu::ptx {

void Scopes::open() {
  const auto parent = current_;
  current_ = static_cast<std::uint32_t>(scopes_.size());
  scopes_.push_back(Scope{.parent = parent, .names = {}, .ranges = {}, .members = {}});
}

RegisterId Scopes::make_register(std::string_view name, Type type) {
  function_.registers.push_back(Register{std::string(name), type});
  return static_cast<RegisterId>(function_.registers.size() - 1);
}

bool Scopes::declare_register(std::string_view name, Type type) {
  if (scopes_[current_].names.contains(name)) return false;
  return declare(name, Entry{.kind = Entry::Kind::reg, .type = type, .index = make_register(name, type)});
}

bool Scopes::declare_registers(std::string_view prefix, Type type, std::uint64_t count) {
  return scopes_[current_].ranges.emplace(prefix, Entry{.kind = Entry::Kind::range, .type = type, .count = count}).second;
}

bool Scopes::declare_variable(std::string_view name, std::int32_t index) {
  return declare(name, Entry{.kind = Entry::Kind::variable, .type = {}, .index = index});
}

bool Scopes::declare_label(std::string_view name, std::int32_t index) {
  return declare(name, Entry{.kind = Entry::Kind::label, .type = {}, .index = index});
}

bool Scopes::declare_table(std::string_view name) {
  return declare(name, Entry{.kind = Entry::Kind::table, .type = {}});
}

std::optional<RegisterId> Scopes::find_register(std::string_view name) {
  std::size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  const std::string_view number = name.substr(digits);
  const bool numbered = !number.empty() && number.size() <= 10 && (number.size() == 1 || number[0] != '0');
  std::uint64_t value = 0;
  for (const char c : number.substr(0, 10)) value = value * 10 + static_cast<std::uint64_t>(c - '0');

  for (std::uint32_t at = current_;; at = scopes_[at].parent) {
    Scope& scope = scopes_[at];
    if (const auto found = scope.names.find(name); found != scope.names.end()) {
      if (found->second.kind != Entry::Kind::reg) return std::nullopt;
      return static_cast<RegisterId>(found->second.index);
    }
    if (numbered) {
      if (const auto member = scope.members.find(name); member != scope.members.end()) return member->second;
      const auto range = scope.ranges.find(name.substr(0, digits));
      if (range != scope.ranges.end() && value < range->second.count) {
        const RegisterId made = make_register(name, range->second.type);
        scope.members.emplace(name, made);
        return made;
      }
    }
    if (at == 0) return std::nullopt;
  }
}

std::optional<std::int32_t> Scopes::find_variable(std::string_view name) const {
  for (std::uint32_t at = current_;; at = scopes_[at].parent) {
    if (const auto found = scopes_[at].names.find(name); found != scopes_[at].names.end()) {
      if (found->second.kind != Entry::Kind::variable) return std::nullopt;
      return static_cast<std::int32_t>(found->second.index);
    }
    if (at == 0) return std::nullopt;
  }
}

std::optional<std::int32_t> Scopes::find_label(std::string_view name, std::uint32_t scope) const {
  for (std::uint32_t at = scope;; at = scopes_[at].parent) {
    const auto found = scopes_[at].names.find(name);
    if (found != scopes_[at].names.end() && found->second.kind == Entry::Kind::label) {
      return static_cast<std::int32_t>(found->second.index);
    }
    if (at == 0) return std::nullopt;
  }
}

}  // namespace cupool::simgpu::ptx
