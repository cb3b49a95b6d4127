// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tl/expected.hpp>

#include <cstdint>
#include <string>

namespace cupool::policy::host {

/// What tells one state of a file from another.
struct FileStamp {
  std::uint64_t device = 0, inode = 0, size = 0, modified_ns = 0;
  bool exists = false;
  bool operator==(const FileStamp&) const = default;
};

/// The stamp of whatever stands at the path, without opening it; `exists` is false where nothing does.
FileStamp stamp_of(const std::string& path);

struct PolicyFile {
  std::string path;
  std::string text;
  FileStamp stamp;
  std::uint32_t owner = 0;
  bool others_may_write = false;  ///< its group or everybody
};

/// Reads a policy file once, as it was at one moment: what changes while it is read is read again, three times at most. Never
/// blocks on a FIFO and never reads a device. The error is a sentence with the path and a remedy.
tl::expected<PolicyFile, std::string> read_policy_file(const std::string& path);

}  // namespace cupool::policy::host
