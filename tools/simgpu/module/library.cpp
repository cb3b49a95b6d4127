// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/module/library.h"

#include "tools/simgpu/exec/handle_table.h"
#include "tools/simgpu/module/module_table.h"

namespace cupool::simgpu {

Library::~Library() {
  for (const auto& [name, kernel] : kernels_) handles<Kernel>().remove(kernel.get());
  for (const auto& [context, module] : modules_) unload(module.get());
}

CUresult Library::module_in(Context& context, std::shared_ptr<Module>& module) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Module>& known = modules_[&context];
  if (known == nullptr) {
    const CUresult code = Module::load(context, code_, known);
    if (code != CUDA_SUCCESS) {
      modules_.erase(&context);
      return code;
    }
    publish(known);
  }
  module = known;
  return CUDA_SUCCESS;
}

CUresult Library::kernel(std::string_view name, std::shared_ptr<Kernel>& kernel) {
  if (!code_->is_null() && code_->program->find_kernel(name) < 0) return CUDA_ERROR_NOT_FOUND;
  const std::lock_guard lock(mutex_);
  const auto found = kernels_.find(name);
  if (found != kernels_.end()) {
    kernel = found->second;
    return CUDA_SUCCESS;
  }
  kernel = std::make_shared<Kernel>(weak_from_this(), std::string(name));
  kernels_.emplace(name, kernel);
  handles<Kernel>().add<CUkernel>(kernel);
  return CUDA_SUCCESS;
}

void Library::forget(const Context& context) {
  const std::lock_guard lock(mutex_);
  modules_.erase(&context);
}

CUresult Kernel::function_in(Context& context, std::shared_ptr<Function>& function) const {
  const std::shared_ptr<Library> library = library_.lock();
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  std::shared_ptr<Module> module;
  CUresult code = library->module_in(context, module);
  if (code == CUDA_SUCCESS) code = module->function(name_, function);
  return code;
}

void forget_in_libraries(const Context& context) {
  handles<Library>().for_each([&](Library& library) { library.forget(context); });
}

}  // namespace cupool::simgpu
