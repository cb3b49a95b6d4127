// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

/// Finding the vendor's libraries in this process. Thread-safe without locks: concurrent callers find the same library, and the
/// loader may be called with its lock held by the caller.
namespace cupool::shim {

/// The loaded object that holds an address: its file as the loader names it, and where it begins. `base` is null when none does.
struct LoadedObject {
  const void* base = nullptr;
  const char* file = "";
};
LoadedObject object_of(const void* address);

/// Whether the file is called as the vendor's library: libcuda.so, libcuda.so.1, libcuda.so.580.65...
bool is_named(const LoadedObject& object, const char* prefix);

/// One vendor library. The first one that the program uses stays the process's only one: the reference is never dropped.
class VendorLibrary {
 public:
  /// `soname` is opened where the program uses the library without naming it; objects whose file begins with `prefix` are the
  /// vendor's; `probe` is a function that the library must define.
  constexpr VendorLibrary(const char* soname, const char* prefix, const char* probe)
      : soname_(soname), prefix_(prefix), probe_(probe) {}
  VendorLibrary(const VendorLibrary&) = delete;
  VendorLibrary& operator=(const VendorLibrary&) = delete;

  /// Settles which library this is. `found` is the address of one of its functions as the program resolved it, or null where the
  /// program called a function that it is linked with. False when the machine has no such library; a later call may succeed.
  bool bind(const void* found);
  bool is_bound() const { return handle_.load(std::memory_order_acquire) != nullptr; }

  /// A function of the library, or null. Only after bind().
  void* find(const char* name) const;
  /// Whether an address lies in another copy of the vendor's library than this.
  bool is_other_copy(const void* address) const;

 private:
  void* choose(const void* found) const;

  const char* soname_;
  const char* prefix_;
  const char* probe_;
  std::atomic<void*> handle_{nullptr};
};

}  // namespace cupool::shim
