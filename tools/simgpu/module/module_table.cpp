// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/module/module_table.h"

#include "tools/simgpu/exec/handle_table.h"
#include "tools/simgpu/module/library.h"

namespace cupool::simgpu {

CUmodule publish(const std::shared_ptr<Module>& module) {
  return handles<Module>().add<CUmodule>(module);
}

std::shared_ptr<Module> module_of(CUmodule handle) {
  return handles<Module>().find(handle);
}

bool unload(CUmodule handle) {
  const std::shared_ptr<Module> module = handles<Module>().remove(handle);
  if (module == nullptr) return false;
  handles<Function>().remove_if([&](const Function& function) { return function.module() == module; });
  return true;
}

CUfunction publish(const std::shared_ptr<Function>& function) {
  return handles<Function>().add<CUfunction>(function);
}

std::shared_ptr<Function> function_of(CUfunction handle, Context& context) {
  if (std::shared_ptr<Function> function = handles<Function>().find(handle); function != nullptr) return function;
  const std::shared_ptr<Kernel> kernel = handles<Kernel>().find(handle);
  std::shared_ptr<Function> function;
  if (kernel != nullptr) kernel->function_in(context, function);
  return function;
}

void unload_all_of(Context& context) {
  forget_in_libraries(context);
  handles<Function>().remove_if([&](const Function& function) { return &function.context() == &context; });
  handles<Module>().remove_if([&](const Module& module) { return &module.context() == &context; });
}

}  // namespace cupool::simgpu
