// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/compile/cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace cupool::simgpu::ptx {
namespace {

namespace fs = std::filesystem;

bool is_ours(const std::string& directory) {
  struct stat info {};
  if (::stat(directory.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return false;
  // What is loaded from here runs in the program: nobody else may be able to put files here.
  return info.st_uid == geteuid() && (info.st_mode & 022) == 0 && access(directory.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

ObjectCache::ObjectCache(std::string directory) : directory_(std::move(directory)) {
  std::error_code ignored;
  if (!directory_.empty()) {
    const mode_t before = umask(077);
    fs::create_directories(directory_, ignored);
    umask(before);
  }
  if (!directory_.empty() && is_ours(directory_)) return;
  std::string pattern = (fs::temp_directory_path(ignored) / "cupool-kernels-XXXXXX").string();
  private_ = mkdtemp(pattern.data()) != nullptr;
  directory_ = pattern;
}

ObjectCache::~ObjectCache() {
  std::error_code ignored;
  if (private_) fs::remove_all(directory_, ignored);
}

int ObjectCache::open(const std::string& key) const {
  const std::string path = directory_ + "/" + key + ".so";
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0) futimens(fd, nullptr);
  return fd;
}

std::string ObjectCache::temporary(const std::string& key, const char* ending) const {
  static std::atomic<std::uint32_t> made{0};
  return directory_ + "/." + key + "." + std::to_string(getpid()) + "." +
         std::to_string(made.fetch_add(1, std::memory_order_relaxed)) + ending;
}

bool ObjectCache::keep(const std::string& temporary, const std::string& key) {
  if (std::rename(temporary.c_str(), (directory_ + "/" + key + ".so").c_str()) != 0) return false;
  // Looking at a few thousand files each time would cost more than it saves.
  static std::atomic<std::uint32_t> kept{0};
  if (kept.fetch_add(1, std::memory_order_relaxed) % 64 == 0) trim();
  return true;
}

void ObjectCache::trim() const {
  struct Entry {
    fs::file_time_type used;
    std::uint64_t bytes;
    fs::path path;
  };
  std::vector<Entry> entries;
  std::uint64_t total = 0;
  std::error_code error;
  for (fs::directory_iterator at(directory_, error), end; !error && at != end; at.increment(error)) {
    std::error_code each;
    const std::uint64_t bytes = at->file_size(each);
    if (each) continue;
    entries.push_back(Entry{at->last_write_time(each), bytes, at->path()});
    total += bytes;
  }
  if (total <= kMaxBytes) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= kMaxBytes / 4 * 3) return;
    if (fs::remove(entry.path, error)) total -= entry.bytes;
  }
}

std::string text_key(std::string_view text) {
  unsigned __int128 hash = static_cast<unsigned __int128>(0x6c62272e07bb0142ULL) << 64 | 0x62b821756295c58dULL;
  const unsigned __int128 prime = static_cast<unsigned __int128>(0x0000000001000000ULL) << 64 | 0x000000000000013bULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * prime;
  static const char* kHex = "0123456789abcdef";
  std::string key(32, '0');
  for (int i = 31; i >= 0; --i, hash >>= 4) key[static_cast<std::size_t>(i)] = kHex[static_cast<unsigned>(hash & 15)];
  return key;
}

}  // namespace cupool::simgpu::ptx
