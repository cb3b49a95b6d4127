// SPDX-License-Identifier: Apache-2.0
//
// simgpu-server DIRECTORY READY_FD: the simulated machine of one directory. Started by the client library under the directory's
// lock; settings come from the environment. Writes one byte to READY_FD when it listens, or a line saying why it cannot.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tools/simgpu/machine_config.h"
#include "tools/simgpu/server/server.h"

namespace {

using namespace cupool::simgpu;

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// "500ms", "30s" or bare milliseconds.
std::uint64_t duration_ms(const char* name, std::uint64_t otherwise) {
  const char* text = environment(name);
  if (*text == '\0') return otherwise;
  char* unit = nullptr;
  const std::uint64_t number = std::strtoull(text, &unit, 10);
  return std::strcmp(unit, "s") == 0 ? number * 1000 : number;
}

int refuse(int ready, const std::string& why) {
  if (write(ready, why.data(), why.size()) < 0) return 2;
  return 1;
}

// Every handle that may be shared costs the server one descriptor.
void allow_many_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

Descriptor listen_in(const std::string& directory) {
  // The socket's name is bound relative to the directory: a path may be longer than a socket address.
  if (chdir(directory.c_str()) != 0) return {};
  unlink("socket");
  Descriptor listener{socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, "socket");
  if (!listener || bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
  if (listen(listener.get(), 512) != 0) return {};
  return listener;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  ServerSettings settings;
  settings.directory = argv[1];
  const int ready = std::atoi(argv[2]);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);
  std::signal(SIGINT, SIG_IGN);
  allow_many_descriptors();

  settings.gpus = environment("SIMGPU_GPUS");
  settings.memory = environment("SIMGPU_MEMORY");
  settings.give_back_delay_ms = duration_ms("SIMGPU_GIVE_BACK", 0);
  settings.linger_ms = duration_ms("SIMGPU_LINGER", settings.linger_ms);
  if (const char* low = environment("SIMGPU_LOW_MEMORY"); *low != '\0') {
    const auto size = parse_size(low);
    if (!size) return refuse(ready, std::string("SIMGPU_LOW_MEMORY: \"") + low + "\" is not a size (such as 1GiB)");
    settings.low_water = *size;
  }
  std::string message;
  auto machine = parse_machine(settings.gpus, settings.memory, settings.directory, message);
  if (!machine) return refuse(ready, message);

  Descriptor listener = listen_in(settings.directory);
  if (!listener) return refuse(ready, "no socket in " + settings.directory + ": " + std::strerror(errno));
  Descriptor lock{open("lock", O_RDWR | O_CLOEXEC)};
  if (!lock) return refuse(ready, "no lock in " + settings.directory + ": " + std::strerror(errno));
  Server server(std::move(settings), std::move(*machine), std::move(listener), std::move(lock));
  if (write(ready, "\n", 1) != 1) return 1;
  close(ready);
  server.run();
  return 0;
}
