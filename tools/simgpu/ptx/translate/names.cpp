// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/translate/names.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace cupool::simgpu::ptx {
namespace {

constexpr std::uint64_t kMaxImageBytes = std::uint64_t{1} << 28;

LoadFailure failure(LoadError error, std::uint32_t line, std::string what) {
  return LoadFailure{error, "ptx line " + std::to_string(line) + ": " + std::move(what)};
}

std::string quote(std::string_view text) {
  return std::string(1, '\'').append(text).append("'");
}

/// One plain element of an initialiser in the variable's type.
std::uint64_t element_bits(const Initialiser& initial, Type type) {
  if (!initial.is_real) return initial.value;
  if (type == kF32 && initial.is_double) {
    return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(initial.value)));
  }
  if (type == kF64 && !initial.is_double) {
    return std::bit_cast<std::uint64_t>(static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(initial.value))));
  }
  return initial.value;
}

}  // namespace

bool Names::is_provided(std::string_view name) {
  return name == "vprintf" || name == "__assertfail" || name == "malloc" || name == "free";
}

tl::expected<Names, LoadFailure> Names::link(const std::vector<Module>& modules) {
  Names names;
  names.local_.resize(modules.size());
  if (auto failed = names.define_all(modules)) return tl::unexpected<LoadFailure>(std::move(*failed));
  if (auto failed = names.check_externals(modules)) return tl::unexpected<LoadFailure>(std::move(*failed));
  if (auto failed = names.fill_initial(modules)) return tl::unexpected<LoadFailure>(std::move(*failed));
  return names;
}

Entity Names::add_variable(const Variable& variable) {
  if (variable.space == Space::shared) {
    const bool dynamic = variable.linkage == Linkage::external || variable.size == 0;
    shared_.push_back(SharedVariable{variable.size, variable.alignment, dynamic});
    return Entity{Entity::Kind::shared, static_cast<std::uint32_t>(shared_.size() - 1)};
  }
  GlobalInfo info;
  info.name = variable.name;
  info.size = variable.size;
  info.alignment = variable.alignment;
  info.constant = variable.space == Space::constant;
  info.exported = variable.linkage != Linkage::none;
  globals_.push_back(std::move(info));
  return Entity{Entity::Kind::global, static_cast<std::uint32_t>(globals_.size() - 1)};
}

std::optional<LoadFailure> Names::define(std::size_t module, std::string_view name, Linkage linkage, std::uint32_t line,
                                         Entity entity) {
  if (!local_[module].emplace(name, entity).second) return failure(LoadError::syntax, line, quote(name) + " is defined twice");
  if (linkage == Linkage::none) return std::nullopt;
  const auto [place, fresh] = exported_.emplace(name, entity);
  if (fresh) {
    linkage_[name] = linkage;
    return std::nullopt;
  }
  const bool both_strong = linkage == Linkage::visible && linkage_[name] == Linkage::visible;
  if (both_strong) return failure(LoadError::unresolved, line, quote(name) + " is defined in two of the linked sources");
  // A weak or common one gives way to a visible one; else the first stays. Either way both sources mean the same.
  if (linkage == Linkage::visible) {
    place->second = entity;
    linkage_[name] = linkage;
  }
  return std::nullopt;
}

std::optional<LoadFailure> Names::define_all(const std::vector<Module>& modules) {
  for (std::size_t m = 0; m < modules.size(); ++m) {
    for (const Variable& variable : modules[m].variables) {
      const bool shared_external = variable.space == Space::shared && variable.linkage == Linkage::external;
      if (variable.linkage == Linkage::external && !shared_external) continue;
      const Linkage linkage = shared_external ? Linkage::none : variable.linkage;
      if (shared_external && local_[m].contains(variable.name)) continue;
      if (auto failed = define(m, variable.name, linkage, variable.line, add_variable(variable))) return failed;
    }
    for (const Function& function : modules[m].functions) {
      if (function.has_body) {
        functions_.push_back(DefinedFunction{m, &function});
        const Entity entity{Entity::Kind::function, static_cast<std::uint32_t>(functions_.size() - 1)};
        if (auto failed = define(m, function.name, function.linkage, function.line, entity)) return failed;
      }
      std::vector<Entity>& body = body_variables_[&function];
      for (const Variable& variable : function.variables) {
        const bool stored = variable.space == Space::global || variable.space == Space::constant || variable.space == Space::shared;
        body.push_back(stored ? add_variable(variable) : Entity{});
      }
    }
  }
  return std::nullopt;
}

std::optional<LoadFailure> Names::check_externals(const std::vector<Module>& modules) const {
  for (std::size_t m = 0; m < modules.size(); ++m) {
    for (const Variable& variable : modules[m].variables) {
      if (variable.linkage == Linkage::external && variable.space != Space::shared && !find(m, variable.name)) {
        return failure(LoadError::unresolved, variable.line, "extern variable " + quote(variable.name) + " is defined nowhere");
      }
    }
    for (const Function& function : modules[m].functions) {
      if (!function.has_body && function.linkage == Linkage::external && !is_provided(function.name) && !find(m, function.name)) {
        return failure(LoadError::unresolved, function.line, "extern function " + quote(function.name) + " is defined nowhere");
      }
    }
  }
  return std::nullopt;
}

std::optional<Entity> Names::find(std::size_t module, std::string_view name) const {
  // What several sources share must be one thing for all of them, so the exported table goes first for names that are exported
  // here.
  const auto shared = exported_.find(name);
  const auto own = local_[module].find(name);
  if (own != local_[module].end()) {
    const bool exported_here =
        shared != exported_.end() && own->second.kind == shared->second.kind &&
        (own->second.kind != Entity::Kind::global || globals_[own->second.index].exported) &&
        (own->second.kind != Entity::Kind::function || functions_[own->second.index].function->linkage != Linkage::none);
    return exported_here ? shared->second : own->second;
  }
  if (shared != exported_.end()) return shared->second;
  return std::nullopt;
}

Entity Names::of_body_variable(const Function& function, std::size_t variable) const {
  return body_variables_.at(&function)[variable];
}

std::optional<LoadFailure> Names::fill_initial(const std::vector<Module>& modules) {
  for (std::size_t m = 0; m < modules.size(); ++m) {
    for (const Variable& variable : modules[m].variables) {
      if (variable.initial.empty()) continue;
      if (variable.space == Space::shared) {
        return failure(LoadError::unsupported, variable.line, "shared variables cannot have initial values");
      }
      if (variable.linkage == Linkage::external) continue;
      GlobalInfo& info = globals_[local_[m].at(variable.name).index];
      if (auto failed = fill(m, variable, info)) return failed;
    }
    for (const Function& function : modules[m].functions) {
      for (std::size_t v = 0; v < function.variables.size(); ++v) {
        const Variable& variable = function.variables[v];
        if (variable.initial.empty()) continue;
        const bool stored = variable.space == Space::global || variable.space == Space::constant;
        if (!stored) return failure(LoadError::unsupported, variable.line, quote(variable.name) + " cannot have initial values");
        if (auto failed = fill(m, variable, globals_[body_variables_.at(&function)[v].index])) return failed;
      }
    }
  }
  return std::nullopt;
}

std::optional<LoadFailure> Names::fill(std::size_t module, const Variable& variable, GlobalInfo& info) {
  if (variable.size > kMaxImageBytes) return failure(LoadError::unsupported, variable.line, "initialised variable is too large");
  info.initial.assign(variable.size, std::byte{0});
  const std::uint32_t width = variable.type.bytes();
  for (std::size_t i = 0; i < variable.initial.size(); ++i) {
    const Initialiser& initial = variable.initial[i];
    const auto offset = static_cast<std::uint32_t>(i * width);
    std::uint64_t bits = element_bits(initial, variable.type);
    if (!initial.symbol.empty()) {
      const auto target = find(module, initial.symbol);
      if (!target || target->kind == Entity::Kind::shared) {
        return failure(LoadError::unsupported, variable.line,
                       "initial value " + quote(initial.symbol) + " is no global variable or function");
      }
      if (target->kind == Entity::Kind::function) {
        bits = (kFunctionAddress + target->index) >> initial.mask_shift;
      } else if (initial.masked) {
        return failure(LoadError::unsupported, variable.line, "single bytes of a variable's address as initial values");
      } else {
        info.relocations.push_back(Relocation{offset, width, target->index, static_cast<std::int64_t>(initial.value)});
        continue;
      }
    }
    std::memcpy(info.initial.data() + offset, &bits, std::min<std::size_t>(width, sizeof bits));
  }
  return std::nullopt;
}

}  // namespace cupool::simgpu::ptx
