// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cupool::simgpu {

/// The live objects behind one kind of handle: a handle is the object's address, and a stale or foreign one is simply not found.
/// What find() returned lives on while the caller holds it, whoever removes the handle meanwhile. Thread-safe.
template <class T>
class HandleTable {
 public:
  template <class Handle>
  Handle add(std::shared_ptr<T> object) {
    T* const address = object.get();
    const std::unique_lock lock(mutex_);
    objects_.emplace(key(address), std::move(object));
    return address;
  }

  /// Null when `handle` names nothing that lives.
  std::shared_ptr<T> find(const void* handle) const {
    const std::shared_lock lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }

  std::shared_ptr<T> remove(const void* handle) {
    const std::unique_lock lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) return nullptr;
    std::shared_ptr<T> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

  /// Calls `visit` with each object, outside the lock.
  template <class Visit>
  void for_each(Visit&& visit) const {
    std::vector<std::shared_ptr<T>> all;
    {
      const std::shared_lock lock(mutex_);
      for (const auto& [handle, object] : objects_) all.push_back(object);
    }
    for (const std::shared_ptr<T>& object : all) visit(*object);
  }

  /// Removes all that `belongs(object)` holds for and returns them, so that they end outside the lock.
  template <class Belongs>
  std::vector<std::shared_ptr<T>> remove_if(Belongs&& belongs) {
    std::vector<std::shared_ptr<T>> removed;
    const std::unique_lock lock(mutex_);
    for (auto it = objects_.begin(); it != objects_.end();) {
      if (belongs(*it->second)) {
        removed.push_back(std::move(it->second));
        it = objects_.erase(it);
      } else {
        ++it;
      }
    }
    return removed;
  }

 private:
  static const void* key(const T* object) { return object; }

  mutable std::shared_mutex mutex_;
  std::unordered_map<const void*, std::shared_ptr<T>> objects_;
};

/// The process's table of one kind of object. Never destroyed: calls may come while the process exits.
template <class T>
HandleTable<T>& handles() {
  static HandleTable<T>* const table = new HandleTable<T>;
  return *table;
}

}  // namespace cupool::simgpu
