// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "policy/base/result.h"

namespace cupool::tool {

/// Where the parts of cupool lie, found relative to this command: installed below a prefix, or in a build tree.
struct Installation {
  std::string preload;  ///< libcupool.so; its core lies beside it
  std::string simgpu;   ///< folder of the simulated driver's libraries
  std::string probe;    ///< the program that tells whether the preload answers
};

/// Errc::not_found, with what is missing, when a part is not there.
Result<Installation> find_installation();

/// A path by which the loader can be told of the preload: its own, or, when that holds a blank or a colon (the loader splits
/// there), a link in a private folder of `staging`, which must exist.
Result<std::string> loadable_path(const std::string& preload, const std::string& staging);

/// A folder as the loader can be told of it in LD_LIBRARY_PATH, which splits at colons: itself, or a link to it in `staging`.
Result<std::string> loadable_folder(const std::string& folder, const std::string& staging);

/// A new private folder for one run, below $XDG_RUNTIME_DIR or the temporary directory, removed with what is in it at the end.
class RunFolder {
 public:
  static Result<RunFolder> create();
  RunFolder(RunFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  RunFolder& operator=(RunFolder&&) = delete;
  RunFolder(const RunFolder&) = delete;
  ~RunFolder();
  const std::string& path() const { return path_; }

 private:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace cupool::tool
