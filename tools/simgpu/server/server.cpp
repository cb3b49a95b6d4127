// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/server/server.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "tools/simgpu/device_model.h"
#include "tools/simgpu/server/compile_service.h"
#include "tools/simgpu/server/packet.h"

namespace cupool::simgpu {
namespace {

using protocol::Op;
using protocol::Reply;
using protocol::Request;
using protocol::Role;
using protocol::Status;

// What an epoll event is about: kind in the top byte, number below.
enum class Watched : std::uint64_t { listener = 1, client = 2, process = 3, exported = 4 };
constexpr std::uint64_t tag(Watched kind, std::uint64_t number) {
  return static_cast<std::uint64_t>(kind) << 56 | number;
}
constexpr Watched kind_of(std::uint64_t tag) {
  return static_cast<Watched>(tag >> 56);
}
constexpr std::uint64_t number_of(std::uint64_t tag) {
  return tag & ((std::uint64_t{1} << 56) - 1);
}

constexpr bool is_one_way(Op op) {
  return op == Op::release || op == Op::publish || op == Op::report_busy;
}

void watch(int epoll, int descriptor, std::uint64_t tag) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = tag;
  epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

std::vector<std::uint64_t> capacities(const MachineConfig& machine) {
  std::vector<std::uint64_t> sizes;
  for (const GpuConfig& gpu : machine.gpus) sizes.push_back(gpu.total);
  return sizes;
}

// What firmware and driver hold back, in proportion when a GPU was given less memory than its model has.
std::uint64_t reserved_bytes(const GpuConfig& gpu) {
  const DeviceModel& model = *find_model(gpu.model);
  const double share = static_cast<double>(gpu.total) / static_cast<double>(model.total_bytes);
  return static_cast<std::uint64_t>(static_cast<double>(model.reserved_bytes >> 20) * share) << 20;
}

pid_t peer_of(int socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 ? credentials.pid : 0;
}

}  // namespace

Server::Server(ServerSettings settings, MachineConfig machine, Descriptor listener, Descriptor lock)
    : settings_(std::move(settings)),
      machine_(std::move(machine)),
      listener_(std::move(listener)),
      lock_(std::move(lock)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      account_(capacities(machine_)),
      memory_(settings_.low_water),
      started_ns_(monotonic_ns()),
      last_client_left_ns_(started_ns_),
      busy_ns_(machine_.gpus.size()) {
  watch(epoll_.get(), listener_.get(), tag(Watched::listener, 0));
}

void Server::run() {
  while (true) {
    std::array<epoll_event, 64> events;
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait_ms());
    if (count < 0 && errno != EINTR) return;
    for (int i = 0; i < count; ++i) {
      const std::uint64_t what = events[static_cast<std::size_t>(i)].data.u64;
      switch (kind_of(what)) {
        case Watched::listener:
          accept_clients();
          break;
        case Watched::client:
          serve_client(number_of(what));
          break;
        case Watched::process:
          client_gone(number_of(what));
          break;
        case Watched::exported:
          export_closed(number_of(what));
          break;
      }
    }
    give_back_what_is_due();
    if (may_end()) return;
  }
}

void Server::accept_clients() {
  while (listener_) {
    Descriptor socket{accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    if (!socket) return;
    Client client;
    client.id = ++last_id_;
    client.pid = peer_of(socket.get());
    client.process = Descriptor{static_cast<int>(syscall(SYS_pidfd_open, client.pid, 0))};
    watch(epoll_.get(), socket.get(), tag(Watched::client, client.id));
    if (client.process) watch(epoll_.get(), client.process.get(), tag(Watched::process, client.id));
    client.socket = std::move(socket);
    clients_.emplace(client.id, std::move(client));
  }
}

void Server::serve_client(ClientId id) {
  const auto found = clients_.find(id);
  if (found == clients_.end() || found->second.give_back_at_ns != 0) return;
  Client& client = found->second;
  Packet packet;
  struct Wire {
    Request request;
    protocol::HelloTail tail;
  } wire{};
  const ssize_t received = receive_packet(client.socket.get(), &wire, sizeof wire, packet.descriptor, MSG_DONTWAIT);
  if (received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
  if (received < static_cast<ssize_t>(sizeof(Request))) {
    client_gone(id);
    return;
  }
  packet.request = wire.request;
  packet.tail = wire.tail;
  packet.bytes = static_cast<std::size_t>(received);
  // An answer may first settle what others did, and find there that the asker has died: it stays until its request is done.
  const ClientId outer = std::exchange(serving_, id);
  handle(client, packet);
  serving_ = outer;
  if (died_while_served_ == id) {
    died_while_served_ = 0;
    client_gone(id);
  }
}

void Server::handle(Client& client, Packet& packet) {
  const Request& request = packet.request;
  if (request.op == Op::hello) return greet(client, packet);
  if (!client.greeted) return client_gone(client.id);
  switch (request.op) {
    case Op::allocate:
      return allocate(client, request);
    case Op::release:
      return release(client, request);
    case Op::retain: {
      const auto kept = account_.retain(client.id, request.handle);
      return reply(client, Reply{.status = kept ? Status::ok : Status::not_found});
    }
    case Op::query:
      return answer_usage(client, request);
    case Op::processes:
      return answer_processes(client, request);
    case Op::export_fd:
      return export_handle(client, request);
    case Op::import_fd:
      return import_descriptor(client, packet);
    case Op::open:
      return open_published(client, request);
    case Op::publish: {
      HandleRecord* record = account_.find(request.handle);
      if (record == nullptr || record->references.count(client.id) == 0) return;
      record->nonce = request.nonce;
      record->word = request.word;
      return;
    }
    case Op::report_busy:
      if (request.device < busy_ns_.size()) busy_ns_[request.device] += request.bytes;
      return;
    case Op::stop:
      make_way();
      return reply(client, Reply{});
    case Op::hello:
    case Op::compile:
      break;
  }
  reply(client, Reply{.status = Status::invalid});
}

void Server::reply(Client& client, const Reply& reply, int descriptor) {
  // A client that does not read its answer is gone: its end of the connection says so next.
  send_packet(client.socket.get(), &reply, sizeof reply, descriptor);
}

// --- joining and leaving

void Server::greet(Client& client, const Packet& packet) {
  protocol::Machine machine{};
  machine.server_pid = static_cast<std::uint32_t>(getpid());
  machine.gpu_count = static_cast<std::uint32_t>(machine_.gpus.size());
  if (packet.request.flags != protocol::kVersion) {
    machine.reply.status = Status::version_mismatch;
  } else if (!is_same_machine(packet.tail)) {
    settle();
    machine.reply.status = Status::other_machine;
    machine.reply.detail = live_programs();
    // Nobody is left on this machine: it makes way for the one that is wanted now.
    if (live_programs() == 0) make_way();
  }
  for (std::size_t i = 0; i < machine_.gpus.size(); ++i) {
    std::strncpy(machine.gpus[i].model, machine_.gpus[i].model.c_str(), sizeof machine.gpus[i].model - 1);
    machine.gpus[i].total = machine_.gpus[i].total;
    std::memcpy(machine.gpus[i].uuid, machine_.gpus[i].uuid.data(), sizeof machine.gpus[i].uuid);
  }
  send_packet(client.socket.get(), &machine, sizeof machine);
  if (machine.reply.status != Status::ok) return;
  client.greeted = true;
  client.role = static_cast<Role>(packet.request.purpose);
  if (client.role == Role::compiler) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, client.socket.get(), nullptr);
    start_compile_service(std::move(client.socket));
    forget_client(client.id);
  }
}

bool Server::is_same_machine(const protocol::HelloTail& tail) const {
  const std::string gpus{tail.gpus, strnlen(tail.gpus, sizeof tail.gpus)};
  const std::string memory{tail.memory, strnlen(tail.memory, sizeof tail.memory)};
  std::string message;
  const auto wanted = parse_machine(gpus.empty() ? settings_.gpus : gpus, memory.empty() ? settings_.memory : memory, "", message);
  if (!wanted || wanted->gpus.size() != machine_.gpus.size()) return false;
  return std::equal(wanted->gpus.begin(), wanted->gpus.end(), machine_.gpus.begin(),
                    [](const GpuConfig& a, const GpuConfig& b) { return a.model == b.model && a.total == b.total; });
}

void Server::client_gone(ClientId id) {
  const auto found = clients_.find(id);
  if (found == clients_.end() || found->second.give_back_at_ns != 0) return;
  if (id == serving_) {
    died_while_served_ = id;
    return;
  }
  Client& client = found->second;
  if (settings_.give_back_delay_ms == 0) return forget_client(id);
  client.give_back_at_ns = monotonic_ns() + settings_.give_back_delay_ms * 1'000'000;
  client.socket.close();
  client.process.close();
}

void Server::forget_client(ClientId id) {
  free_ended(account_.drop_client(id));
  memory_.drop_client(id);
  clients_.erase(id);
  last_client_left_ns_ = monotonic_ns();
}

void Server::give_back_what_is_due() {
  const std::uint64_t now = monotonic_ns();
  std::vector<ClientId> due;
  for (const auto& [id, client] : clients_) {
    if (client.give_back_at_ns != 0 && client.give_back_at_ns <= now) due.push_back(id);
  }
  for (const ClientId id : due) forget_client(id);
}

void Server::free_ended(const std::vector<HandleRecord>& ended) {
  for (const HandleRecord& record : ended) memory_.end(record.id, 0, record.bytes);
}

// --- what was sent before counts before

bool Server::drain_one_way(ClientId id) {
  bool progress = false;
  if (id == serving_) return false;
  while (true) {
    const auto found = clients_.find(id);
    if (found == clients_.end() || !found->second.socket) return progress;
    Request next;
    const ssize_t length = recv(found->second.socket.get(), &next, sizeof next, MSG_PEEK | MSG_DONTWAIT);
    if (length < 0 && (errno == EAGAIN || errno == EINTR)) return progress;
    if (length == static_cast<ssize_t>(sizeof next) && !is_one_way(next.op)) return progress;
    serve_client(id);  // a one-way message, or the end of the connection
    progress = true;
  }
}

void Server::settle() {
  for (bool progress = true; progress;) {
    progress = false;
    std::array<epoll_event, 256> events;
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < count; ++i) {
      const std::uint64_t what = events[static_cast<std::size_t>(i)].data.u64;
      if (kind_of(what) == Watched::client) progress |= drain_one_way(number_of(what));
      if (kind_of(what) == Watched::process && number_of(what) != serving_) client_gone(number_of(what)), progress = true;
      if (kind_of(what) == Watched::exported) export_closed(number_of(what)), progress = true;
    }
  }
}

// --- memory

Reply Server::refusal(Status status, std::uint32_t gpu) const {
  Reply reply{.status = status};
  if (gpu < account_.gpu_count()) reply.detail = account_.capacity(gpu) - account_.used(gpu);
  return reply;
}

void Server::allocate(Client& client, const Request& request) {
  const auto purpose = static_cast<protocol::Purpose>(request.purpose);
  if (has_memory(purpose) && request.bytes != 0 && memory_.real_machine_is_low()) {
    if (low_memory_lines_++ < 20) {
      log("refusing " + std::to_string(request.bytes) + " bytes to process " + std::to_string(client.pid) +
          ": the real machine has less than " + std::to_string(settings_.low_water) + " bytes available");
    }
    Reply low = refusal(Status::no_memory, request.device);
    ++low.detail;
    low.word = 1;
    return reply(client, low);
  }
  auto made = account_.allocate(client.id, request.device, request.bytes, purpose);
  if (!made && made.error().code == Errc::no_memory) {
    settle();
    made = account_.allocate(client.id, request.device, request.bytes, purpose);
  }
  if (!made) {
    return reply(client, refusal(made.error().code == Errc::no_memory ? Status::no_memory : Status::invalid, request.device));
  }
  account_.find(*made)->word = request.word;
  Reply answer{.device = request.device, .handle = *made, .bytes = request.bytes};
  if (!has_memory(purpose) || request.bytes == 0) return reply(client, answer);
  const bool may_recycle = (request.flags & protocol::kZeroed) == 0 && purpose != protocol::Purpose::physical;
  auto created = memory_.create(client.id, *made, request.bytes, (request.flags & protocol::kShareable) != 0, may_recycle);
  if (!created) {
    if (auto ended = account_.release(client.id, *made, 1); ended && *ended) free_ended({**ended});
    log(std::string("no memory for a handle: ") + created.error().detail + ": " + std::strerror(errno));
    return reply(client, refusal(created.error().code == Errc::io ? Status::descriptors : Status::no_memory, request.device));
  }
  reply(client, answer, created->number);
}

void Server::release(Client& client, const Request& request) {
  auto ended = account_.release(client.id, request.handle, request.bytes == 0 ? 1 : request.bytes);
  if (!ended || !ended->has_value()) return;
  const HandleRecord& record = **ended;
  memory_.end(record.id, record.seen_by_others || record.nonce != 0 ? 0 : client.id, record.bytes);
}

void Server::answer_usage(Client& client, const Request& request) {
  settle();
  protocol::UsageReply answer{};
  if (request.device >= account_.gpu_count()) {
    answer.reply.status = Status::invalid;
  } else {
    const GpuConfig& gpu = machine_.gpus[request.device];
    answer.usage = {.total = gpu.total,
                    .used = account_.used(request.device),
                    .reserved = reserved_bytes(gpu),
                    .busy_ns = busy_ns_[request.device],
                    .up_ns = monotonic_ns() - started_ns_};
  }
  send_packet(client.socket.get(), &answer, sizeof answer);
}

void Server::answer_processes(Client& client, const Request& request) {
  settle();
  protocol::ProcessReply answer{};
  // One row per process: a program and a context of its own library share the number.
  std::map<pid_t, std::uint64_t> rows;
  if (request.device < account_.gpu_count()) {
    for (const auto& [id, bytes] : account_.holders(request.device)) {
      const auto holder = clients_.find(id);
      if (holder != clients_.end() && holder->second.role == Role::program) rows[holder->second.pid] += bytes;
    }
  }
  if (request.bytes >= rows.size()) {
    answer.reply.status = Status::not_found;
  } else {
    const auto row = std::next(rows.begin(), static_cast<std::ptrdiff_t>(request.bytes));
    answer.pid = row->first;
    answer.used = row->second;
    answer.more = static_cast<std::uint32_t>(rows.size() - request.bytes - 1);
  }
  send_packet(client.socket.get(), &answer, sizeof answer);
}

// --- sharing between processes

void Server::export_handle(Client& client, const Request& request) {
  HandleRecord* record = account_.find(request.handle);
  if (record == nullptr || record->references.count(client.id) == 0) return reply(client, Reply{.status = Status::not_found});
  // A pipe: its write end is what the program holds and passes on. The read end hears when the last copy of it is closed, and both
  // ends have one inode number, by which an imported descriptor is known again.
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return reply(client, Reply{.status = Status::descriptors});
  Descriptor write_end{ends[1]};
  Export exported{.handle = request.handle, .inode = 0, .read_end = Descriptor{ends[0]}};
  struct stat status {};
  fstat(ends[0], &status);
  exported.inode = status.st_ino;
  const std::uint64_t id = ++last_id_;
  watch(epoll_.get(), exported.read_end.get(), tag(Watched::exported, id));
  exports_.emplace(id, std::move(exported));
  record->word = request.word;
  account_.hold_export(request.handle);
  reply(client, Reply{.handle = request.handle, .bytes = record->bytes}, write_end.get());
}

void Server::export_closed(std::uint64_t id) {
  const auto found = exports_.find(id);
  if (found == exports_.end()) return;
  char byte;
  if (read(found->second.read_end.get(), &byte, 1) > 0) return;  // somebody wrote into it: harmless
  const HandleId handle = found->second.handle;
  exports_.erase(found);
  if (auto ended = account_.drop_export(handle)) free_ended({*ended});
}

void Server::import_descriptor(Client& client, const Packet& packet) {
  struct stat status {};
  if (!packet.descriptor || fstat(packet.descriptor.get(), &status) != 0 || !S_ISFIFO(status.st_mode)) {
    return reply(client, Reply{.status = Status::invalid});
  }
  const auto found =
      std::find_if(exports_.begin(), exports_.end(), [&](const auto& one) { return one.second.inode == status.st_ino; });
  if (found == exports_.end()) return reply(client, Reply{.status = Status::not_found});
  share(client, found->second.handle);
}

void Server::open_published(Client& client, const Request& request) {
  settle();
  const HandleRecord* record = account_.find(request.handle);
  if (record == nullptr || record->nonce == 0 || record->nonce != request.nonce) {
    return reply(client, Reply{.status = Status::not_found});
  }
  share(client, request.handle);
}

void Server::share(Client& client, HandleId handle) {
  HandleRecord& record = *account_.find(handle);
  const int memory = memory_.descriptor(handle);
  if (memory < 0 && record.bytes != 0) return reply(client, Reply{.status = Status::invalid});
  account_.retain(client.id, handle);
  record.seen_by_others = true;
  reply(client,
        Reply{.device = record.gpu,
              .handle = handle,
              .bytes = record.bytes,
              .word = record.word,
              .detail = static_cast<std::uint64_t>(record.purpose)},
        memory);
}

// --- life of the machine

std::size_t Server::live_programs() const {
  return static_cast<std::size_t>(
      std::count_if(clients_.begin(), clients_.end(), [](const auto& entry) { return entry.second.greeted; }));
}

int Server::wait_ms() const {
  std::uint64_t due = std::numeric_limits<std::uint64_t>::max();
  for (const auto& [id, client] : clients_) {
    if (client.give_back_at_ns != 0) due = std::min(due, client.give_back_at_ns);
  }
  if (clients_.empty()) due = std::min(due, last_client_left_ns_ + settings_.linger_ms * 1'000'000);
  if (due == std::numeric_limits<std::uint64_t>::max()) return -1;
  const std::uint64_t now = monotonic_ns();
  return due <= now ? 0 : static_cast<int>(std::min<std::uint64_t>((due - now) / 1'000'000 + 1, 60'000));
}

bool Server::may_end() {
  if (stopping_ ? live_programs() != 0
                : !clients_.empty() || monotonic_ns() < last_client_left_ns_ + settings_.linger_ms * 1'000'000) {
    return false;
  }
  // Whoever starts a machine in this directory holds the lock: then somebody is about to connect to this one.
  if (!stopping_ && flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    last_client_left_ns_ = monotonic_ns();
    return false;
  }
  if (!stopping_) {
    accept_clients();
    if (!clients_.empty()) {
      flock(lock_.get(), LOCK_UN);
      return false;
    }
  }
  // A client that connects between here and the end meets a reset connection and starts over.
  make_way();
  return true;
}

// The name goes before the listener does: as long as somebody listens, nobody else takes the name, so that this cannot unlink the
// socket of a successor.
void Server::make_way() {
  if (!listener_) return;
  stopping_ = true;
  unlink((settings_.directory + "/socket").c_str());
  listener_.close();
}

void Server::log(const std::string& line) {
  const Descriptor file{open((settings_.directory + "/server.log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)};
  const std::string text = line + '\n';
  if (file && write(file.get(), text.data(), text.size()) < 0) return;
}

}  // namespace cupool::simgpu
