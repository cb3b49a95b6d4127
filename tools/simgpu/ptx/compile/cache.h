// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cupool::simgpu::ptx {

/// A directory of compiled objects by key, shared by any number of processes.
class ObjectCache {
 public:
  /// Bytes beyond which the files used longest ago are removed.
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{512} << 20;

  /// In `directory`, which is made if needed; when it cannot be written or belongs to somebody else, in a private one under /tmp
  /// that goes with this object.
  explicit ObjectCache(std::string directory);
  ~ObjectCache();
  ObjectCache(const ObjectCache&) = delete;
  ObjectCache& operator=(const ObjectCache&) = delete;

  /// A read-only descriptor of the object, its time of use renewed; -1 if there is none.
  int open(const std::string& key) const;

  /// A name for a file that is being made beside the objects, unique among all processes.
  std::string temporary(const std::string& key, const char* ending) const;

  /// Moves a finished file to its key's place (replacing what another process put there meanwhile: it is the same).
  bool keep(const std::string& temporary, const std::string& key);

  const std::string& directory() const { return directory_; }

 private:
  void trim() const;

  std::string directory_;
  bool private_ = false;
};

/// 128 bits of the text as 32 hexadecimal digits (FNV-1a): equal for equal texts on every machine.
std::string text_key(std::string_view text);

}  // namespace cupool::simgpu::ptx
