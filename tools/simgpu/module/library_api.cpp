// SPDX-License-Identifier: Apache-2.0
//
// Entry points: libraries and their kernels.
#include "shim/abi/driver_api.h"
#include "tools/simgpu/driver.h"
#include "tools/simgpu/entry.h"
#include "tools/simgpu/exec/handle_table.h"
#include "tools/simgpu/execution.h"
#include "tools/simgpu/module/image_file.h"
#include "tools/simgpu/module/library.h"
#include "tools/simgpu/module/loading.h"
#include "tools/simgpu/module/module_table.h"

using namespace cupool::simgpu;

namespace {

CUresult load_library(CUlibrary* out, const void* image, const JitOptions& options, const CUlibraryOption* library_options,
                      unsigned library_count) {
  if (out == nullptr || (library_count > 0 && library_options == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<const Code> code;
  const CUresult result = load_with_options(image, options, code);
  if (result == CUDA_SUCCESS) *out = handles<Library>().add<CUlibrary>(std::make_shared<Library>(std::move(code)));
  return result;
}

template <class Body>
CUresult enter_library(EntryId id, Needs needs, CUlibrary handle, Body&& body) {
  return enter(
      id, needs,
      [&](Call& call) -> CUresult {
        const std::shared_ptr<Library> library = handles<Library>().find(handle);
        return library == nullptr ? CUDA_ERROR_INVALID_HANDLE : body(call, *library);
      },
      handle);
}

template <class Body>
CUresult enter_kernel(EntryId id, Needs needs, CUkernel handle, Body&& body) {
  return enter(
      id, needs,
      [&](Call& call) -> CUresult {
        const std::shared_ptr<Kernel> kernel = handles<Kernel>().find(handle);
        return kernel == nullptr ? CUDA_ERROR_INVALID_HANDLE : body(call, *kernel);
      },
      handle);
}

// A kernel's attributes belong to a device; they are kept where its function is, in the current context of that device.
CUresult function_on(Context& context, const Kernel& kernel, CUdevice device, std::shared_ptr<Function>& function) {
  if (driver().device(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (context.device().ordinal != device) return CUDA_ERROR_INVALID_CONTEXT;
  return kernel.function_in(context, function);
}

}  // namespace

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* options, void** values, unsigned int count,
                           CUlibraryOption* library_options, void** /*library_values*/, unsigned int library_count) {
  return enter(
      EntryId::cuLibraryLoadData, Needs::init,
      [&](Call&) { return load_library(library, code, JitOptions(count, options, values), library_options, library_count); },
      library, code);
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option* options, void** values, unsigned int count,
                               CUlibraryOption* library_options, void** /*library_values*/, unsigned int library_count) {
  return enter(
      EntryId::cuLibraryLoadFromFile, Needs::init,
      [&](Call&) -> CUresult {
        std::string image;
        const CUresult read = read_image(path, image);
        if (read != CUDA_SUCCESS) return read;
        return load_library(library, image.c_str(), JitOptions(count, options, values), library_options, library_count);
      },
      library);
}

CUresult cuLibraryUnload(CUlibrary handle) {
  return enter(
      EntryId::cuLibraryUnload, Needs::init,
      [&](Call&) -> CUresult {
        if (handles<Library>().find(handle) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        for (const std::shared_ptr<Context>& context : contexts().all()) wait_idle(*context);
        return handles<Library>().remove(handle) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
      },
      handle);
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary handle, const char* name) {
  return enter_library(EntryId::cuLibraryGetKernel, Needs::init, handle, [&](Call&, Library& library) -> CUresult {
    if (kernel == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Kernel> found;
    const CUresult code = library.kernel(name, found);
    if (code == CUDA_SUCCESS) *kernel = found.get();
    return code;
  });
}

CUresult cuLibraryGetKernelCount(unsigned int* count, CUlibrary handle) {
  return enter_library(EntryId::cuLibraryGetKernelCount, Needs::init, handle, [&](Call&, Library& library) -> CUresult {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = library.code().is_null() ? 0 : static_cast<unsigned>(library.code().program->kernels().size());
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int room, CUlibrary handle) {
  return enter_library(EntryId::cuLibraryEnumerateKernels, Needs::init, handle, [&](Call&, Library& library) -> CUresult {
    if (kernels == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (library.code().is_null()) return CUDA_SUCCESS;
    const std::vector<ptx::KernelInfo>& all = library.code().program->kernels();
    for (std::size_t i = 0; i < all.size() && i < room; ++i) {
      std::shared_ptr<Kernel> found;
      library.kernel(all[i].name, found);
      kernels[i] = found.get();
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryGetModule(CUmodule* module, CUlibrary handle) {
  return enter_library(EntryId::cuLibraryGetModule, Needs::context, handle, [&](Call& call, Library& library) -> CUresult {
    if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Module> found;
    const CUresult code = library.module_in(*call.context, found);
    if (code == CUDA_SUCCESS) *module = found.get();
    return code;
  });
}

CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary handle, const char* name) {
  return enter_library(EntryId::cuLibraryGetGlobal, Needs::context, handle, [&](Call& call, Library& library) -> CUresult {
    if (name == nullptr || (address == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Module> module;
    CUresult code = library.module_in(*call.context, module);
    Module::Variable variable;
    if (code == CUDA_SUCCESS) code = module->variable(name, variable);
    if (code != CUDA_SUCCESS) return code;
    if (address != nullptr) *address = variable.address;
    if (bytes != nullptr) *bytes = variable.size;
    return CUDA_SUCCESS;
  });
}

// PTX knows neither managed variables nor unified functions: no name is one.
CUresult cuLibraryGetManaged(CUdeviceptr*, size_t*, CUlibrary handle, const char* name) {
  return enter_library(EntryId::cuLibraryGetManaged, Needs::init, handle, [&](Call&, Library&) -> CUresult {
    return name == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_FOUND;
  });
}

CUresult cuLibraryGetUnifiedFunction(void** function, CUlibrary handle, const char* name) {
  return enter_library(EntryId::cuLibraryGetUnifiedFunction, Needs::init, handle, [&](Call&, Library&) -> CUresult {
    return name == nullptr || function == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_FOUND;
  });
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel handle) {
  return enter_kernel(EntryId::cuKernelGetFunction, Needs::context, handle, [&](Call& call, Kernel& kernel) -> CUresult {
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Function> found;
    const CUresult code = kernel.function_in(*call.context, found);
    if (code == CUDA_SUCCESS) *function = publish(found);
    return code;
  });
}

CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel handle) {
  return enter_kernel(EntryId::cuKernelGetLibrary, Needs::init, handle, [&](Call&, Kernel& kernel) -> CUresult {
    if (library == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *library = kernel.library().get();
    return CUDA_SUCCESS;
  });
}

CUresult cuKernelGetName(const char** name, CUkernel handle) {
  return enter_kernel(EntryId::cuKernelGetName, Needs::init, handle, [&](Call&, Kernel& kernel) -> CUresult {
    if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *name = kernel.name().c_str();
    return CUDA_SUCCESS;
  });
}

CUresult cuKernelGetParamInfo(CUkernel handle, size_t index, size_t* offset, size_t* size) {
  return enter_kernel(EntryId::cuKernelGetParamInfo, Needs::init, handle, [&](Call&, Kernel& kernel) -> CUresult {
    if (offset == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::shared_ptr<Library> library = kernel.library();
    if (library == nullptr || library->code().is_null()) return CUDA_ERROR_INVALID_VALUE;
    const int place = library->code().program->find_kernel(kernel.name());
    const std::vector<ptx::Parameter>& parameters = library->code().program->kernels()[static_cast<std::size_t>(place)].parameters;
    if (index >= parameters.size()) return CUDA_ERROR_INVALID_VALUE;
    *offset = parameters[index].offset;
    if (size != nullptr) *size = parameters[index].size;
    return CUDA_SUCCESS;
  });
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel handle, CUdevice device) {
  return enter_kernel(EntryId::cuKernelGetAttribute, Needs::context, handle, [&](Call& call, Kernel& kernel) -> CUresult {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Function> function;
    const CUresult code = function_on(*call.context, kernel, device, function);
    return code == CUDA_SUCCESS ? function->attribute(attribute, *value) : code;
  });
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle, CUdevice device) {
  return enter_kernel(EntryId::cuKernelSetAttribute, Needs::context, handle, [&](Call& call, Kernel& kernel) -> CUresult {
    std::shared_ptr<Function> function;
    const CUresult code = function_on(*call.context, kernel, device, function);
    return code == CUDA_SUCCESS ? function->set_attribute(attribute, value) : code;
  });
}

CUresult cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache config, CUdevice device) {
  return enter_kernel(EntryId::cuKernelSetCacheConfig, Needs::init, handle, [&](Call&, Kernel&) -> CUresult {
    if (driver().device(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    return config > CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_ERROR_INVALID_VALUE
                                               : CUDA_SUCCESS;  // a preference, and there is no cache here
  });
}
