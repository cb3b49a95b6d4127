// SPDX-License-Identifier: Apache-2.0
#include "policy/host/identity.h"

#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>

namespace cupool::policy::host {
namespace {

constexpr std::size_t kLongestFact = 16 * 1024;

/// At most `most` bytes of a file of /proc or /sys; empty when it cannot be read.
std::string read_small(const char* path, std::size_t most) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::string text(most, '\0');
  std::size_t length = 0;
  while (length < most) {
    const ssize_t got = read(file, text.data() + length, most - length);
    if (got <= 0) break;
    length += static_cast<std::size_t>(got);
  }
  close(file);
  text.resize(length);
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string user_name(uid_t uid) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(16 * 1024);
  return getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr ? found->pw_name : std::string();
}

std::string group_name(gid_t gid) {
  group entry{};
  group* found = nullptr;
  std::vector<char> buffer(64 * 1024);
  return getgrgid_r(gid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr ? found->gr_name : std::string();
}

std::vector<std::pair<std::uint32_t, std::string>> read_groups(bool with_names) {
  std::set<gid_t> numbers{getegid()};
  const int count = getgroups(0, nullptr);
  if (count > 0) {
    std::vector<gid_t> more(static_cast<std::size_t>(count));
    const int got = getgroups(count, more.data());
    if (got > 0) numbers.insert(more.begin(), more.begin() + got);
  }
  std::vector<std::pair<std::uint32_t, std::string>> groups;
  for (const gid_t gid : numbers) groups.emplace_back(gid, with_names ? group_name(gid) : std::string());
  return groups;
}

Identity common_identity(const Environment& environment, const IdentityNeeds& needs) {
  Identity identity;
  identity.uid = geteuid();
  if (needs.user_name) identity.user = user_name(geteuid());
  identity.groups = read_groups(needs.group_names);
  identity.cgroup = cgroup_path(read_small("/proc/self/cgroup", kLongestFact));
  std::array<char, PATH_MAX> directory{};
  if (getcwd(directory.data(), directory.size()) != nullptr) identity.cwd = directory.data();
  identity.env = environment;
  for (auto& [name, value] : identity.env) value.resize(std::min(value.size(), kLongestFact));
  return identity;
}

}  // namespace

std::string cgroup_path(std::string_view proc_cgroup) {
  std::string named;
  std::string first;
  for (const std::string& line : split(proc_cgroup, '\n')) {
    const std::size_t before_controllers = line.find(':');
    const std::size_t before_path = line.find(':', before_controllers + 1);
    if (before_controllers == std::string::npos || before_path == std::string::npos) continue;
    const std::string controllers = line.substr(before_controllers + 1, before_path - before_controllers - 1);
    const std::string path = line.substr(before_path + 1);
    if (controllers.empty()) return path;
    if (controllers == "name=systemd") named = path;
    if (first.empty()) first = path;
  }
  return named.empty() ? first : named;
}

Identity read_identity(const Environment& environment, const IdentityNeeds& needs) {
  Identity identity = common_identity(environment, needs);
  identity.command = split(read_small("/proc/self/cmdline", kLongestFact), '\0');
  std::array<char, PATH_MAX> program{};
  const ssize_t length = readlink("/proc/self/exe", program.data(), program.size());
  if (length > 0) identity.program.assign(program.data(), static_cast<std::size_t>(length));
  return identity;
}

Identity identity_for(const std::vector<std::string>& command, const Environment& environment, const IdentityNeeds& needs) {
  Identity identity = common_identity(environment, needs);
  identity.command = command;
  if (!command.empty()) identity.program = command.front();
  return identity;
}

MachineFacts read_machine() {
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  const auto processors = static_cast<std::uint64_t>(online > 0 ? online : 1);
  // Processors that run on the same core name the same siblings.
  std::set<std::string> cores;
  for (std::uint64_t processor = 0; processor < processors; ++processor) {
    const std::string path = "/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/topology/thread_siblings_list";
    std::string siblings = read_small(path.c_str(), 256);
    if (siblings.empty()) return {processors};
    cores.insert(std::move(siblings));
  }
  return {cores.size()};
}

}  // namespace cupool::policy::host
