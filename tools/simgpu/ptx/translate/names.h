// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/simgpu/ptx/program.h"
#include "tools/simgpu/ptx/syntax/module.h"

namespace cupool::simgpu::ptx {

/// A shared variable of the program. Where it lies depends on the kernel: each kernel has its own table of offsets.
struct SharedVariable {
  std::uint64_t size = 0;
  std::uint32_t alignment = 1;
  bool dynamic = false;  ///< extern: begins behind the static ones
};

/// What a name stands for outside of functions.
struct Entity {
  enum class Kind : std::uint8_t { global, shared, function };
  Kind kind = Kind::global;
  std::uint32_t index = 0;
};

/// The functions and variables of all sources that make one program, and what each source means by a name.
class Names {
 public:
  /// The modules must outlive this. The failure says which name is defined twice or nowhere.
  static tl::expected<Names, LoadFailure> link(const std::vector<Module>& modules);

  std::optional<Entity> find(std::size_t module, std::string_view name) const;

  struct DefinedFunction {
    std::size_t module = 0;
    const Function* function = nullptr;
  };
  const std::vector<DefinedFunction>& functions() const { return functions_; }
  const std::vector<GlobalInfo>& globals() const { return globals_; }
  const std::vector<SharedVariable>& shared() const { return shared_; }
  std::vector<GlobalInfo> take_globals() { return std::move(globals_); }

  /// The entity of a .global, .const or .shared variable that is declared in a function's body.
  Entity of_body_variable(const Function& function, std::size_t variable) const;

  /// Makes of_body_variable() know a copy of a function (one in which calls were expanded).
  void add_body(const Function& copy, std::vector<Entity> entities) { body_variables_[&copy] = std::move(entities); }

  /// Functions the driver provides: vprintf, __assertfail, malloc, free.
  static bool is_provided(std::string_view name);

 private:
  using Scope = std::unordered_map<std::string_view, Entity>;
  Entity add_variable(const Variable& variable);
  std::optional<LoadFailure> define(std::size_t module, std::string_view name, Linkage linkage, std::uint32_t line, Entity entity);
  std::optional<LoadFailure> define_all(const std::vector<Module>& modules);
  std::optional<LoadFailure> check_externals(const std::vector<Module>& modules) const;
  std::optional<LoadFailure> fill_initial(const std::vector<Module>& modules);
  std::optional<LoadFailure> fill(std::size_t module, const Variable& variable, GlobalInfo& info);

  std::vector<DefinedFunction> functions_;
  std::vector<GlobalInfo> globals_;
  std::vector<SharedVariable> shared_;
  std::vector<Scope> local_;  ///< per module
  Scope exported_;
  std::unordered_map<std::string_view, Linkage> linkage_;
  std::unordered_map<const Function*, std::vector<Entity>> body_variables_;
};

/// The value that stands for a function's address: index and a mark that no device address has.
inline constexpr std::uint64_t kFunctionAddress = 0x0400000000000000ULL;

}  // namespace cupool::simgpu::ptx
