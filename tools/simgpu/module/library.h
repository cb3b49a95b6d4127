// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "shim/abi/cuda_types.h"
#include "tools/simgpu/module/module.h"

struct CUlib_st {};
struct CUkern_st {};

namespace cupool::simgpu {

class Kernel;

/// Code that belongs to no context: loaded into each one when it is first used there. Thread-safe.
class Library : public CUlib_st, public std::enable_shared_from_this<Library> {
 public:
  explicit Library(std::shared_ptr<const Code> code) : code_(std::move(code)) {}
  ~Library();

  const Code& code() const { return *code_; }
  /// This library's module in a context, loaded now if need be.
  CUresult module_in(Context& context, std::shared_ptr<Module>& module);
  /// CUDA_ERROR_NOT_FOUND (500) for a name that the code does not have.
  CUresult kernel(std::string_view name, std::shared_ptr<Kernel>& kernel);
  void forget(const Context& context);

 private:
  const std::shared_ptr<const Code> code_;
  std::mutex mutex_;  // guards the members below
  std::map<const Context*, std::shared_ptr<Module>> modules_;
  std::map<std::string, std::shared_ptr<Kernel>, std::less<>> kernels_;
};

/// A kernel of a library: a function in whichever context it is used.
class Kernel : public CUkern_st {
 public:
  Kernel(std::weak_ptr<Library> library, std::string name) : library_(std::move(library)), name_(std::move(name)) {}
  const std::string& name() const { return name_; }
  std::shared_ptr<Library> library() const { return library_.lock(); }
  CUresult function_in(Context& context, std::shared_ptr<Function>& function) const;

 private:
  const std::weak_ptr<Library> library_;
  const std::string name_;
};

/// A context ends: no library keeps a module there.
void forget_in_libraries(const Context& context);

}  // namespace cupool::simgpu
