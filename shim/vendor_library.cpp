// SPDX-License-Identifier: Apache-2.0
#include "shim/vendor_library.h"

#include <dlfcn.h>

#include <cstring>

#include "shim/attachment.h"

namespace cupool::shim {

LoadedObject object_of(const void* address) {
  Dl_info info{};
  if (address == nullptr || preload()->dladdr(address, &info) == 0) return {};
  return {info.dli_fbase, info.dli_fname != nullptr ? info.dli_fname : ""};
}

bool is_named(const LoadedObject& object, const char* prefix) {
  const char* slash = std::strrchr(object.file, '/');
  return std::strncmp(slash != nullptr ? slash + 1 : object.file, prefix, std::strlen(prefix)) == 0;
}

void* VendorLibrary::choose(const void* found) const {
  const cupool_preload& loader = *preload();
  const LoadedObject object = object_of(found);
  const bool is_vendors = object.base != nullptr && is_named(object, prefix_);
  void* handle = is_vendors ? loader.dlopen(object.file, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  // Frameworks define functions of the driver's names that only open the driver and go on to it: what another object than the
  // driver defines is taken for the driver only where there is no driver.
  if (handle == nullptr) handle = loader.dlopen(soname_, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) handle = loader.dlopen(soname_, RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr && object.base != nullptr) handle = loader.dlopen(object.file, RTLD_LAZY | RTLD_NOLOAD);
  if (handle != nullptr && loader.dlsym(handle, probe_) == nullptr) handle = nullptr;
  return handle;
}

bool VendorLibrary::bind(const void* found) {
  if (is_bound()) return true;
  if (found == nullptr) found = preload()->find_beyond(reinterpret_cast<const void*>(preload()->stub_answer), probe_);
  void* handle = choose(found);
  void* none = nullptr;
  if (handle != nullptr) handle_.compare_exchange_strong(none, handle, std::memory_order_acq_rel);
  return is_bound();
}

void* VendorLibrary::find(const char* name) const {
  return preload()->dlsym(handle_.load(std::memory_order_acquire), name);
}

bool VendorLibrary::is_other_copy(const void* address) const {
  const LoadedObject object = object_of(address);
  return object.base != nullptr && is_named(object, prefix_) && object.base != object_of(find(probe_)).base;
}

}  // namespace cupool::shim
