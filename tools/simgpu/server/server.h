// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/simgpu/machine_config.h"
#include "tools/simgpu/server/account.h"
#include "tools/simgpu/server/descriptor.h"
#include "tools/simgpu/server/physical_memory.h"
#include "tools/simgpu/server/protocol.h"

namespace cupool::simgpu {

/// What the server is started with.
struct ServerSettings {
  std::string directory;
  std::string gpus;                                  ///< as in SIMGPU_GPUS
  std::string memory;                                ///< as in SIMGPU_MEMORY
  std::uint64_t give_back_delay_ms = 0;              ///< how long a dead process's memory stays charged (SIMGPU_GIVE_BACK)
  std::uint64_t linger_ms = 200;                     ///< how long the machine outlives its last client (SIMGPU_LINGER)
  std::uint64_t low_water = std::uint64_t{1} << 30;  ///< SIMGPU_LOW_MEMORY
};

/// Plays the kernel driver of one simulated machine: owns its memory and its account, for all processes. One thread; compile
/// requests are served by threads of their own (compile_service.h).
///
/// Order between processes: what a process has released, and every death, counts before any later question about the account is
/// answered or an allocation refused, although releases are one-way messages.
class Server {
 public:
  Server(ServerSettings settings, MachineConfig machine, Descriptor listener, Descriptor lock);

  /// Serves until the last client has been gone for the linger time. Leaves the directory without a socket.
  void run();

 private:
  struct Client {
    ClientId id = 0;
    Descriptor socket;
    Descriptor process;  ///< pidfd: a forked child may keep the socket open beyond its parent's death
    pid_t pid = 0;
    protocol::Role role{};
    bool greeted = false;
    std::uint64_t give_back_at_ns = 0;  ///< not 0: dead, and its memory stays charged until then
  };
  struct Export {
    HandleId handle = 0;
    ino_t inode = 0;
    Descriptor read_end;
  };
  struct Packet {
    protocol::Request request;
    protocol::HelloTail tail;
    std::size_t bytes = 0;
    Descriptor descriptor;
  };

  void accept_clients();
  void serve_client(ClientId id);
  void handle(Client& client, Packet& packet);
  void reply(Client& client, const protocol::Reply& reply, int descriptor = -1);
  void settle();
  bool drain_one_way(ClientId id);
  void client_gone(ClientId id);
  void forget_client(ClientId id);
  void give_back_what_is_due();
  void free_ended(const std::vector<HandleRecord>& ended);

  void greet(Client& client, const Packet& packet);
  bool is_same_machine(const protocol::HelloTail& tail) const;
  void allocate(Client& client, const protocol::Request& request);
  protocol::Reply refusal(protocol::Status status, std::uint32_t gpu) const;
  void release(Client& client, const protocol::Request& request);
  void answer_usage(Client& client, const protocol::Request& request);
  void answer_processes(Client& client, const protocol::Request& request);
  void export_handle(Client& client, const protocol::Request& request);
  void import_descriptor(Client& client, const Packet& packet);
  void open_published(Client& client, const protocol::Request& request);
  void share(Client& client, HandleId handle);
  void export_closed(std::uint64_t id);

  std::size_t live_programs() const;
  bool may_end();
  void make_way();
  int wait_ms() const;
  void log(const std::string& line);

  ServerSettings settings_;
  MachineConfig machine_;
  Descriptor listener_;
  Descriptor lock_;
  Descriptor epoll_;
  Account account_;
  PhysicalMemory memory_;
  std::uint64_t started_ns_;
  std::uint64_t last_client_left_ns_;
  bool stopping_ = false;
  ClientId serving_ = 0;  ///< whose request is being handled
  ClientId died_while_served_ = 0;
  std::uint64_t last_id_ = 0;
  std::map<ClientId, Client> clients_;
  std::map<std::uint64_t, Export> exports_;
  std::vector<std::uint64_t> busy_ns_;
  unsigned low_memory_lines_ = 0;
};

}  // namespace cupool::simgpu
