// SPDX-License-Identifier: Apache-2.0
#include "policy/host/policy_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "policy/parse.h"
#include "policy/problem.h"

namespace cupool::policy::host {
namespace {

constexpr int kTries = 3;

/// Closes its file. Move-only by being neither.
class OpenFile {
 public:
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  ~OpenFile() { close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

FileStamp stamp_from(const struct stat& info) {
  return {info.st_dev, info.st_ino, static_cast<std::uint64_t>(info.st_size),
          static_cast<std::uint64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(info.st_mtim.tv_nsec), true};
}

tl::unexpected<std::string> refuse(const std::string& path, const std::string& why) {
  return tl::unexpected<std::string>(printable(path, 4096) + ": " + why);
}

std::string failed(const char* what) {
  return std::string("cannot ") + what + ": " + std::strerror(errno);
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

/// Reads to the end, one byte more than may be there at most.
std::optional<std::string> read_all(int file) {
  std::string text(kMostText + 1, '\0');
  std::size_t length = 0;
  while (length < text.size()) {
    const ssize_t got = read(file, text.data() + length, text.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    length += static_cast<std::size_t>(got);
  }
  text.resize(length);
  text.shrink_to_fit();
  return text;
}

}  // namespace

FileStamp stamp_of(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0) return stamp_from(info);
  // What cannot be looked at may well be there: only "no such file" means absent.
  FileStamp stamp;
  stamp.exists = errno != ENOENT && errno != ENOTDIR;
  return stamp;
}

tl::expected<PolicyFile, std::string> read_policy_file(const std::string& path) {
  for (int attempt = 0; attempt < kTries; ++attempt) {
    // Without O_NONBLOCK, opening a FIFO would wait for a writer.
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0)
      return refuse(path, failed("be opened") + (errno == EACCES ? "; make it readable, or name another file" : ""));
    const OpenFile file(descriptor);
    struct stat before {};
    if (fstat(file.get(), &before) != 0) return refuse(path, failed("be examined"));
    if (!S_ISREG(before.st_mode))
      return refuse(path, std::string("is ") + kind_of(before.st_mode) + "; a policy is a regular file");
    if (static_cast<std::uint64_t>(before.st_size) > kMostText) {
      return refuse(path, "is larger than 1 MiB; a policy is a few KiB: is this the right file?");
    }
    std::optional<std::string> text = read_all(file.get());
    if (!text) return refuse(path, failed("be read"));
    struct stat after {};
    const bool unchanged =
        fstat(file.get(), &after) == 0 && stamp_from(before) == stamp_from(after) && text->size() == stamp_from(after).size;
    // Some file systems of the kernel report a size of 0 for files that have text; their content is not a policy.
    if (!unchanged) continue;
    PolicyFile out;
    out.path = path;
    out.text = std::move(*text);
    out.stamp = stamp_from(after);
    out.owner = after.st_uid;
    out.others_may_write = (after.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    return out;
  }
  return refuse(path, "changed while it was read; write a new file beside it and rename it into place");
}

}  // namespace cupool::policy::host
