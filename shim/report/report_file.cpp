// SPDX-License-Identifier: Apache-2.0
#include "shim/report/report_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace cupool::report {
namespace {

/// Creates `path` with all of `content`, refusing to replace: EEXIST when it is there.
int create_whole(const std::string& path, std::string_view content) {
  const std::string temporary = path + ".tmp." + std::to_string(getpid());
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file < 0) return errno;
  int error = 0;
  while (!content.empty() && error == 0) {
    const ssize_t written = write(file, content.data(), content.size());
    if (written < 0 && errno != EINTR) error = errno;
    if (written > 0) content.remove_prefix(static_cast<std::size_t>(written));
  }
  if (close(file) != 0 && error == 0) error = errno;
  // link, unlike rename, refuses a name that is taken.
  if (error == 0 && link(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == EPERM || error == EOPNOTSUPP || error == ENOSYS) {
    // A file system without hard links: rename that refuses to replace.
    error = renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) != 0 ? errno : 0;
  }
  unlink(temporary.c_str());
  return error;
}

std::string with_suffix(const std::string& path, const std::string& suffix) {
  const std::size_t slash = path.find_last_of('/');
  const std::size_t dot = path.find_last_of('.');
  const bool has_ending = dot != std::string::npos && (slash == std::string::npos || dot > slash + 1);
  return has_ending ? path.substr(0, dot) + "." + suffix + path.substr(dot) : path + "." + suffix;
}

}  // namespace

Result<std::string> write_new_file(const std::string& path, std::string_view content, std::uint32_t pid) {
  std::error_code ignored;  // a folder that cannot be made shows when the file is created
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, ignored);
  std::string target = path;
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const int error = create_whole(target, content);
    if (error == 0) return target;
    if (error != EEXIST) {
      switch (error) {
        case ENOSPC:
          return fail(Errc::io, "the report was not written: the file system is full");
        case EACCES:
          return fail(Errc::io, "the report was not written: its folder may not be written by this user");
        case ENOENT:
        case ENOTDIR:
          return fail(Errc::io, "the report was not written: its folder could not be made");
        default:
          return fail(Errc::io, "the report was not written");
      }
    }
    target = with_suffix(path, std::to_string(pid) + (attempt == 0 ? "" : "-" + std::to_string(attempt)));
  }
  return fail(Errc::exists, "the report was not written: too many files of that name");
}

}  // namespace cupool::report
