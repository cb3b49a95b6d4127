// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/client/connection.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "policy/base/log.h"
#include "policy/base/units.h"
#include "tools/simgpu/client/server_start.h"
#include "tools/simgpu/server/packet.h"

namespace cupool::simgpu {
namespace {

using protocol::Op;
using protocol::Reply;
using protocol::Request;
using protocol::Status;

constexpr int kAttempts = 20;

log::Budget g_low_lines{3};
log::Budget g_descriptor_lines{3};

struct Hello {
  Request request;
  protocol::HelloTail tail;
};

Hello hello(protocol::Role role, std::string_view gpus, std::string_view memory) {
  Hello words{};
  words.request.op = Op::hello;
  words.request.purpose = static_cast<std::uint32_t>(role);
  words.request.flags = protocol::kVersion;
  std::memcpy(words.tail.gpus, gpus.data(), std::min(gpus.size(), sizeof words.tail.gpus - 1));
  std::memcpy(words.tail.memory, memory.data(), std::min(memory.size(), sizeof words.tail.memory - 1));
  return words;
}

// A server that ends at this moment resets the connection: then the next attempt starts a new one.
Result<Descriptor> greet(const std::string& directory, const Hello& words, protocol::Machine& machine, std::string& message) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    auto connection = connect_to_machine(directory, message);
    if (!connection) return connection;
    Descriptor none;
    if (!send_packet(connection->get(), &words, sizeof words) ||
        receive_packet(connection->get(), &machine, sizeof machine, none) != static_cast<ssize_t>(sizeof machine)) {
      continue;
    }
    if (machine.reply.status == Status::ok) return connection;
    if (machine.reply.status == Status::version_mismatch) {
      message = "the server in " + directory + " is of another version (end its programs, or set SIMGPU_DIR)";
      return fail(Errc::version_mismatch);
    }
    if (machine.reply.detail != 0) {
      message = "the simulated machine in " + directory +
                " is running with other SIMGPU_GPUS or SIMGPU_MEMORY (end its programs, use the same settings, or set SIMGPU_DIR)";
      return fail(Errc::busy);
    }
  }
  message = "the server in " + directory + " does not answer";
  return fail(Errc::io);
}

Error error_of(Status status) {
  switch (status) {
    case Status::no_memory:
      return Error{Errc::no_memory, "the simulated GPU's memory is used up"};
    case Status::not_found:
      return Error{Errc::not_found};
    case Status::descriptors:
      return Error{Errc::no_memory, "the server may not open more files"};
    default:
      return Error{Errc::invalid_argument};
  }
}

void log_refusal(const Reply& reply, std::uint64_t bytes) {
  if (reply.status == Status::no_memory && reply.word == 1) {
    log::write(
        log::Level::warning, g_low_lines,
        "simgpu refuses " + to_text(Bytes{bytes}) + ": the real machine is low on memory (SIMGPU_LOW_MEMORY, 1GiB by default)");
  }
  if (reply.status == Status::descriptors) {
    log::write(log::Level::warning, g_descriptor_lines,
               "simgpu refuses memory: its server may not open more files (raise the hard limit: ulimit -Hn)");
  }
}

}  // namespace

Result<Done> Connection::open(const std::string& directory, protocol::Role role, std::string_view gpus, std::string_view memory,
                              std::string& message) {
  auto connection = greet(directory, hello(role, gpus, memory), machine_, message);
  if (!connection) return tl::unexpected(connection.error());
  socket_ = std::move(*connection);
  return Done{};
}

template <class Answer>
bool Connection::exchange(const Request& request, Answer& answer, Descriptor& descriptor, int passed) {
  const std::lock_guard lock(mutex_);
  return send_packet(socket_.get(), &request, sizeof request, passed) &&
         receive_packet(socket_.get(), &answer, sizeof answer, descriptor) == static_cast<ssize_t>(sizeof answer);
}

void Connection::send_one_way(const Request& request) {
  const std::lock_guard lock(mutex_);
  // A server that is gone is noticed by the next request that wants an answer.
  send_packet(socket_.get(), &request, sizeof request);
}

Result<Grant> Connection::granted(const Request& request, int passed) {
  Reply reply;
  Grant grant;
  if (!exchange(request, reply, grant.memory, passed)) return fail(Errc::io, "the simulated machine's server is gone");
  if (reply.status != Status::ok) {
    log_refusal(reply, request.bytes);
    return tl::unexpected(error_of(reply.status));
  }
  grant.handle = reply.handle;
  grant.bytes = reply.bytes;
  grant.gpu = reply.device;
  grant.word = reply.word;
  grant.purpose = static_cast<protocol::Purpose>(reply.detail);
  return grant;
}

Result<Grant> Connection::allocate(std::uint32_t gpu, std::uint64_t bytes, protocol::Purpose purpose, std::uint32_t flags,
                                   std::uint64_t word) {
  return granted(Request{.op = Op::allocate,
                         .device = gpu,
                         .bytes = bytes,
                         .word = word,
                         .purpose = static_cast<std::uint32_t>(purpose),
                         .flags = flags});
}

void Connection::release(std::uint64_t handle, std::uint64_t count) {
  send_one_way(Request{.op = Op::release, .handle = handle, .bytes = count});
}

Result<protocol::Usage> Connection::usage(std::uint32_t gpu) {
  protocol::UsageReply answer;
  Descriptor none;
  if (!exchange(Request{.op = Op::query, .device = gpu}, answer, none))
    return fail(Errc::io, "the simulated machine's server is gone");
  if (answer.reply.status != Status::ok) return tl::unexpected(error_of(answer.reply.status));
  return answer.usage;
}

Result<std::vector<std::pair<std::int32_t, std::uint64_t>>> Connection::processes(std::uint32_t gpu) {
  std::vector<std::pair<std::int32_t, std::uint64_t>> rows;
  while (true) {
    protocol::ProcessReply answer;
    Descriptor none;
    if (!exchange(Request{.op = Op::processes, .device = gpu, .bytes = rows.size()}, answer, none)) {
      return fail(Errc::io, "the simulated machine's server is gone");
    }
    if (answer.reply.status != Status::ok) return rows;
    rows.emplace_back(answer.pid, answer.used);
    if (answer.more == 0) return rows;
  }
}

Result<Descriptor> Connection::export_handle(std::uint64_t handle, std::uint64_t word) {
  auto grant = granted(Request{.op = Op::export_fd, .handle = handle, .word = word});
  if (!grant) return tl::unexpected(grant.error());
  return std::move(grant->memory);
}

Result<Grant> Connection::import_descriptor(int descriptor) {
  return granted(Request{.op = Op::import_fd}, descriptor);
}

void Connection::publish(std::uint64_t handle, std::uint64_t nonce, std::uint64_t word) {
  send_one_way(Request{.op = Op::publish, .handle = handle, .nonce = nonce, .word = word});
}

Result<Grant> Connection::open_published(std::uint64_t handle, std::uint64_t nonce) {
  return granted(Request{.op = Op::open, .handle = handle, .nonce = nonce});
}

void Connection::report_busy(std::uint32_t gpu, std::uint64_t nanoseconds) {
  send_one_way(Request{.op = Op::report_busy, .device = gpu, .bytes = nanoseconds});
}

Result<RemoteObject> compile_on_server(const std::string& directory, std::string_view source, bool optimised) {
  protocol::Machine machine;
  std::string message;
  auto connection = greet(directory, hello(protocol::Role::compiler, "", ""), machine, message);
  if (!connection) return tl::unexpected(connection.error());
  const Descriptor text{memfd_create("simgpu-source", MFD_CLOEXEC)};
  for (std::string_view rest = source; !rest.empty();) {
    const ssize_t written = write(text.get(), rest.data(), rest.size());
    if (written <= 0) return fail(Errc::io, "the kernel's source could not be written");
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  const Request request{.op = Op::compile, .word = optimised ? 1U : 0U};
  Reply reply;
  RemoteObject object;
  if (!send_packet(connection->get(), &request, sizeof request, text.get()) ||
      receive_packet(connection->get(), &reply, sizeof reply, object.file) != static_cast<ssize_t>(sizeof reply)) {
    return fail(Errc::io, "the simulated machine's server is gone");
  }
  object.compiled = reply.status == Status::ok;
  return object;
}

}  // namespace cupool::simgpu
