// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <utility>

#include "tools/simgpu/ptx/compile/compiler.h"

namespace cupool::simgpu::ptx {
namespace {

/// A spelling of /proc/self/fd/N that no earlier call used. The loader takes an object for loaded when it knows the *name*, and
/// descriptor numbers come back: without this the second kernel on descriptor 5 would be the first one again.
std::string unique_path(int fd) {
  static std::atomic<std::uint64_t> calls{0};
  std::uint64_t number = calls.fetch_add(1, std::memory_order_relaxed);
  std::string path = "/proc/self/fd";
  for (int bit = 0; bit < 40; ++bit, number >>= 1) path += (number & 1) != 0 ? "/." : "/";
  return path + "/" + std::to_string(fd);
}

}  // namespace

CompiledObject& CompiledObject::operator=(CompiledObject&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

CompiledObject::~CompiledObject() {
  if (fd_ >= 0) close(fd_);
}

int CompiledObject::release() {
  return std::exchange(fd_, -1);
}

LoadedObject& LoadedObject::operator=(LoadedObject&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

LoadedObject::~LoadedObject() {
  if (handle_ != nullptr) dlclose(handle_);
}

void* LoadedObject::symbol(const char* name) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_, name);
}

tl::expected<LoadedObject, CompileFailure> open_object(const CompiledObject& object) {
  void* handle = dlopen(unique_path(object.fd()).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return LoadedObject(handle);
  const char* why = dlerror();
  return tl::unexpected<CompileFailure>(
      CompileFailure{std::string("the compiled kernel cannot be loaded: ") + (why != nullptr ? why : "?")});
}

}  // namespace cupool::simgpu::ptx
