// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/client/server_start.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tools/simgpu/client/detached_process.h"

namespace cupool::simgpu {
namespace {

constexpr int kReadyTimeoutMs = 20'000;

Result<Done> prepare_directory(const std::string& directory, std::string& message) {
  for (std::size_t slash = 1; (slash = directory.find('/', slash)) != std::string::npos; ++slash) {
    mkdir(directory.substr(0, slash).c_str(), 0700);
  }
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    message = "cannot make " + directory + ": " + std::strerror(errno) + " (set SIMGPU_DIR to a directory of your own)";
    return fail(Errc::io);
  }
  struct stat status {};
  if (stat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    message = directory + " is not a directory (set SIMGPU_DIR to a directory of your own)";
    return fail(Errc::io);
  }
  if (status.st_uid != geteuid() || (status.st_mode & 077) != 0) {
    message = directory + " belongs to another user or is open to others (chmod 700, or set SIMGPU_DIR to a directory of your own)";
    return fail(Errc::denied);
  }
  return Done{};
}

// The address goes by way of /proc/self/fd: a directory's path may be longer than a socket address.
Descriptor try_connect(const std::string& directory) {
  const Descriptor at{open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  Descriptor connection{socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
  if (!at || !connection) return {};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = "/proc/self/fd/" + std::to_string(at.get()) + "/socket";
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
  return connection;
}

std::vector<std::string> server_environment() {
  // Nothing that would be loaded into the server, or that belongs to the host program's session.
  std::vector<std::string> kept;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    for (const char* name : {"SIMGPU_", "PATH=", "HOME=", "TMPDIR=", "XDG_CACHE_HOME=", "LANG=", "ASAN_OPTIONS=", "TSAN_OPTIONS=",
                             "UBSAN_OPTIONS=", "LSAN_OPTIONS="}) {
      if (text.rfind(name, 0) == 0) kept.push_back(text);
    }
  }
  return kept;
}

bool wait_until_ready(int pipe, std::string& message) {
  std::string words;
  while (true) {
    pollfd wait{pipe, POLLIN, 0};
    const int ready = poll(&wait, 1, kReadyTimeoutMs);
    if (ready < 0 && errno == EINTR) continue;
    char text[256];
    const ssize_t length = ready > 0 ? read(pipe, text, sizeof text) : 0;
    if (length > 0) {
      words.append(text, static_cast<std::size_t>(length));
      if (words == "\n") return true;
      continue;
    }
    message = ready == 0 ? "the server did not start in time" : words.empty() ? "the server ended at once" : words;
    return false;
  }
}

Result<Descriptor> start_and_connect(const std::string& directory, std::string& message) {
  const Descriptor lock{open((directory + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
  if (!lock) {
    message = "cannot write in " + directory + ": " + std::strerror(errno) + " (set SIMGPU_DIR to a directory of your own)";
    return fail(Errc::io);
  }
  while (flock(lock.get(), LOCK_EX) != 0) {
    if (errno == EINTR) continue;
    message = "cannot lock " + directory + ": " + std::strerror(errno);
    return fail(Errc::io);
  }
  if (Descriptor connection = try_connect(directory)) return connection;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    message = std::string("no pipe: ") + std::strerror(errno);
    return fail(Errc::io);
  }
  const Descriptor ready{ends[0]};
  Descriptor write_end{ends[1]};
  if (!start_detached({server_program(), directory, "3"}, server_environment(), write_end.get(), message)) return fail(Errc::io);
  write_end.close();
  if (!wait_until_ready(ready.get(), message)) return fail(Errc::io);
  if (Descriptor connection = try_connect(directory)) return connection;
  message = std::string("the server does not answer: ") + std::strerror(errno);
  return fail(Errc::io);
}

}  // namespace

std::string server_program() {
  if (const char* chosen = std::getenv("SIMGPU_SERVER"); chosen != nullptr && *chosen != '\0') return chosen;
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&server_program), &info) == 0 || info.dli_fname == nullptr) return "simgpu-server";
  char resolved[4096];
  const char* path = realpath(info.dli_fname, resolved);
  const std::string library = path != nullptr ? path : info.dli_fname;
  const std::string folder = library.substr(0, library.rfind('/') + 1);
  // The libraries of older drivers lie one folder below.
  for (const char* place : {"simgpu-server", "../simgpu-server"}) {
    if (access((folder + place).c_str(), X_OK) == 0) return folder + place;
  }
  return folder + "simgpu-server";
}

Result<Descriptor> connect_to_machine(const std::string& directory, std::string& message) {
  if (Descriptor connection = try_connect(directory)) return connection;
  if (auto prepared = prepare_directory(directory, message); !prepared) return tl::unexpected(prepared.error());
  return start_and_connect(directory, message);
}

}  // namespace cupool::simgpu
