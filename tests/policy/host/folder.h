// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace cupool::policy::host {

/// A folder of its own for a test, removed at the end.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "cupool-policy-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string at(std::string_view name) const { return path_ + '/' + std::string(name); }
  const std::string& path() const { return path_; }

  /// Writes a file, and the folders around it, by renaming it into place.
  std::string write(std::string_view name, std::string_view text) const {
    const std::string path = at(name);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path + ".new") << text;
    std::filesystem::rename(path + ".new", path);
    return path;
  }

 private:
  std::string path_;
};

}  // namespace cupool::policy::host
