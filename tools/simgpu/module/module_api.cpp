// SPDX-License-Identifier: Apache-2.0
//
// Entry points: modules and their variables.
#include <cstdlib>
#include <string_view>

#include "shim/abi/driver_api.h"
#include "tools/simgpu/entry.h"
#include "tools/simgpu/execution.h"
#include "tools/simgpu/module/image_file.h"
#include "tools/simgpu/module/loading.h"
#include "tools/simgpu/module/module_table.h"

using namespace cupool::simgpu;

namespace {

CUresult load_module(Call& call, CUmodule* out, const void* image, const JitOptions& options) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<const Code> code;
  CUresult result = load_with_options(image, options, code);
  if (result != CUDA_SUCCESS) return result;
  call.bytes = code->bytes;
  std::shared_ptr<Module> module;
  result = Module::load(*call.context, std::move(code), module);
  if (result == CUDA_SUCCESS) *out = publish(module);
  return result;
}

/// The frame of a call on a module.
template <class Body>
CUresult enter_module(EntryId id, CUmodule handle, Body&& body, Needs needs = Needs::context) {
  return enter(
      id, needs,
      [&](Call& call) -> CUresult {
        const std::shared_ptr<Module> module = module_of(handle);
        return module == nullptr ? CUDA_ERROR_INVALID_HANDLE : body(call, *module);
      },
      handle);
}

}  // namespace

CUresult cuModuleLoad(CUmodule* module, const char* path) {
  return enter(
      EntryId::cuModuleLoad, Needs::context,
      [&](Call& call) -> CUresult {
        std::string image;
        const CUresult read = read_image(path, image);
        return read == CUDA_SUCCESS ? load_module(call, module, image.c_str(), {}) : read;
      },
      module);
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return enter(
      EntryId::cuModuleLoadData, Needs::context, [&](Call& call) { return load_module(call, module, image, {}); }, module, image);
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int count, CUjit_option* options, void** values) {
  return enter(
      EntryId::cuModuleLoadDataEx, Needs::context,
      [&](Call& call) { return load_module(call, module, image, JitOptions(count, options, values)); }, module, image, count);
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return enter(
      EntryId::cuModuleLoadFatBinary, Needs::context, [&](Call& call) { return load_module(call, module, image, {}); }, module,
      image);
}

CUresult cuModuleUnload(CUmodule handle) {
  return enter_module(
      EntryId::cuModuleUnload, handle,
      [&](Call&, Module& module) -> CUresult {
        // Its kernels may still run, and its variables' memory goes with it.
        wait_idle(module.context());
        return unload(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
      },
      Needs::context_if_any);
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  return enter(
      EntryId::cuModuleGetLoadingMode, Needs::init,
      [&](Call&) -> CUresult {
        if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const char* setting = std::getenv("CUDA_MODULE_LOADING");
        *mode = setting != nullptr && std::string_view(setting) == "EAGER" ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
        return CUDA_SUCCESS;
      },
      mode);
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule handle, const char* name) {
  return enter_module(EntryId::cuModuleGetFunction, handle, [&](Call&, Module& module) -> CUresult {
    if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Function> found;
    const CUresult code = module.function(name, found);
    if (code == CUDA_SUCCESS) *function = publish(found);
    return code;
  });
}

CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule handle) {
  return enter_module(EntryId::cuModuleGetFunctionCount, handle, [&](Call&, Module& module) -> CUresult {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<unsigned>(module.function_count());
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned int room, CUmodule handle) {
  return enter_module(EntryId::cuModuleEnumerateFunctions, handle, [&](Call&, Module& module) -> CUresult {
    if (functions == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (std::size_t i = 0; i < module.function_count() && i < room; ++i) functions[i] = publish(module.function_at(i));
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule handle, const char* name) {
  return enter_module(EntryId::cuModuleGetGlobal_v2, handle, [&](Call&, Module& module) -> CUresult {
    if (name == nullptr || (address == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
    Module::Variable variable;
    const CUresult code = module.variable(name, variable);
    if (code != CUDA_SUCCESS) return code;
    if (address != nullptr) *address = variable.address;
    if (bytes != nullptr) *bytes = variable.size;
    return CUDA_SUCCESS;
  });
}
