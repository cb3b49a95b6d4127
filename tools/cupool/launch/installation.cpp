// SPDX-License-Identifier: Apache-2.0
#include "tools/cupool/launch/installation.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace cupool::tool {
namespace {

namespace fs = std::filesystem;

struct Layout {
  const char* preload;
  const char* simgpu;
  const char* probe;
};
/// Relative to the folder of the command. CUPOOL_LIBRARY_PATH is the way from bin to the libraries, set by the build.
constexpr std::array<Layout, 2> kLayouts{{
    {CUPOOL_LIBRARY_PATH "/libcupool.so", CUPOOL_LIBRARY_PATH "/simgpu", CUPOOL_LIBRARY_PATH "/cupool-probe"},
    {"../../shim/libcupool.so", "../simgpu", "cupool-probe"},
}};

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

}  // namespace

Result<Installation> find_installation() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  if (error) return fail(Errc::io, "/proc/self/exe cannot be read");
  for (const Layout& layout : kLayouts) {
    const fs::path preload = folder / layout.preload;
    if (!is_there(preload)) continue;
    if (!is_there(preload.parent_path() / "libcupool-core.so"))
      return fail(Errc::not_found, "libcupool-core.so is missing beside libcupool.so");
    if (!is_there(folder / layout.probe)) return fail(Errc::not_found, "cupool-probe is missing from the installation");
    return Installation{fs::canonical(preload, error).string(), fs::weakly_canonical(folder / layout.simgpu, error).string(),
                        fs::canonical(folder / layout.probe, error).string()};
  }
  return fail(Errc::not_found, "libcupool.so is not where this command was installed: install or build cupool again");
}

Result<std::string> loadable_path(const std::string& preload, const std::string& staging) {
  if (preload.find_first_of(" \t\n:") == std::string::npos) return preload;
  if (staging.find_first_of(" \t\n:") != std::string::npos) {
    return fail(Errc::unsupported, "the installation's path and the run-time directory both hold a blank or a colon");
  }
  const fs::path from = fs::path(preload).parent_path();
  for (const char* name : {"libcupool.so", "libcupool-core.so"}) {
    std::error_code error;
    fs::create_symlink(from / name, fs::path(staging) / name, error);
    if (error) return fail(Errc::io, "no link to the preload could be made in the run-time directory");
  }
  return staging + "/libcupool.so";
}

Result<std::string> loadable_folder(const std::string& folder, const std::string& staging) {
  if (folder.find_first_of(":;") == std::string::npos) return folder;
  const fs::path link = fs::path(staging) / "simgpu-libraries";
  std::error_code error;
  fs::create_directory_symlink(folder, link, error);
  if (error || staging.empty()) return fail(Errc::io, "the simulated driver's path holds a colon, and no link to it could be made");
  return link.string();
}

Result<RunFolder> RunFolder::create() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  for (const std::string& base : {std::string(runtime != nullptr ? runtime : ""), std::string("/tmp")}) {
    if (base.empty() || base[0] != '/') continue;
    std::string path = base + "/cupool-run-XXXXXX";
    if (mkdtemp(path.data()) != nullptr) return RunFolder{path};
  }
  return fail(Errc::io, "no folder for this run could be made, neither in XDG_RUNTIME_DIR nor in /tmp");
}

RunFolder::~RunFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace cupool::tool
