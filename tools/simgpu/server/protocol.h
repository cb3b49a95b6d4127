// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

/// The words between a client library and the server that plays the kernel driver.
///
/// A SOCK_SEQPACKET Unix socket, one connection per process and role. A request is one packet (Request, at most one descriptor with
/// it); it is answered by one packet (Reply, at most one descriptor) unless its Op is one-way. Both ends are built from one tree:
/// the version is checked in `hello`, nothing is translated.
namespace cupool::simgpu::protocol {

inline constexpr std::uint32_t kVersion = 1;
inline constexpr unsigned kMaxGpus = 10;

enum class Op : std::uint32_t {
  hello,        ///< role, settings -> Machine
  allocate,     ///< device, bytes, Purpose, AllocateFlags -> handle, memfd when it has memory
  release,      ///< one-way: handle; this client's references to it, `count` of them
  retain,       ///< handle: one more reference of this client
  query,        ///< device -> Usage
  processes,    ///< device, index -> the index-th process that holds memory there
  export_fd,    ///< handle -> a descriptor that keeps it alive and names it
  import_fd,    ///< descriptor -> handle, bytes, device, memfd, `word` given at export
  open,         ///< handle of another process, nonce -> as import_fd; for IPC by value
  publish,      ///< one-way: handle may be opened by others with this nonce
  report_busy,  ///< one-way: device, nanoseconds of work done: utilisation
  compile,      ///< settings text in the packet's tail, source by descriptor -> object by descriptor
  stop,         ///< the server ends as soon as it has no other client: tests
};

enum class Role : std::uint32_t {
  program,   ///< a process that uses the GPU: NVML lists it once it holds memory
  observer,  ///< NVML and tools: never listed
  compiler,  ///< one compile request at a time, answered when it is done
};

enum class Status : std::int32_t {
  ok,
  no_memory,         ///< the GPU's capacity is used up, or the real machine runs low (`detail` says which)
  not_found,         ///< no such handle, descriptor or index
  invalid,           ///< the request breaks the protocol's rules
  version_mismatch,  ///< another build of the library is talking to this server
  other_machine,     ///< the running machine has other settings than those asked for
  descriptors,       ///< the server may not open more files
  failed,            ///< a compiler failed: its words are in the descriptor
};

/// What an allocation is for: decides what the account and NVML call it, and whether there is memory behind it.
enum class Purpose : std::uint32_t {
  linear,    ///< cuMemAlloc and friends; content may be recycled within the process
  physical,  ///< cuMemCreate
  pool,      ///< stream-ordered pools
  managed,   ///< memory behind cuMemAllocManaged; charged to no GPU
  resident,  ///< managed memory that was moved to a GPU: an account entry only
  context,   ///< overhead of a context: an account entry only
  module,    ///< code: an account entry only
  host,      ///< cuMemCreate at a host location: memory, charged to no GPU
};

enum AllocateFlags : std::uint32_t {
  kShareable = 1,  ///< may be exported or published later: the server keeps a descriptor for it
  kZeroed = 2,     ///< never recycled content
};

struct Request {
  Op op{};
  std::uint32_t device = 0;  ///< physical ordinal on the machine, not the visible one
  std::uint64_t handle = 0;
  std::uint64_t bytes = 0;  ///< or count, index, nanoseconds
  std::uint64_t nonce = 0;
  std::uint64_t word = 0;     ///< carried through export and publish to the other side unread: the client's own properties
  std::uint32_t purpose = 0;  ///< Purpose, or Role in hello
  std::uint32_t flags = 0;    ///< AllocateFlags, or kVersion in hello
};

struct Reply {
  Status status{};
  std::uint32_t device = 0;
  std::uint64_t handle = 0;
  std::uint64_t bytes = 0;
  std::uint64_t word = 0;
  std::uint64_t detail = 0;  ///< allocate refused: bytes free on that GPU; 1 + that when the real machine is low. Else per Op.
};

/// Answer to query. reserved + used + free == physical; total == physical - reserved is what CUDA calls total.
struct Usage {
  std::uint64_t total = 0;
  std::uint64_t used = 0;
  std::uint64_t reserved = 0;
  std::uint64_t busy_ns = 0;  ///< work reported since the machine started
  std::uint64_t up_ns = 0;    ///< time since the machine started
};
struct UsageReply {
  Reply reply;
  Usage usage;
};

/// Answer to processes.
struct ProcessReply {
  Reply reply;
  std::int32_t pid = 0;
  std::uint32_t more = 0;  ///< processes listed after this one
  std::uint64_t used = 0;
};

struct Gpu {
  char model[32];       ///< key of the model table
  std::uint64_t total;  ///< bytes that CUDA calls total
  std::uint8_t uuid[16];
};

/// The simulated machine as every client sees it: answer to hello.
struct Machine {
  Reply reply;
  std::uint32_t gpu_count = 0;
  std::uint32_t server_pid = 0;
  Gpu gpus[kMaxGpus];
};

/// What hello carries after the Request: which machine the client expects. Text as in SIMGPU_GPUS and SIMGPU_MEMORY, may be empty.
struct HelloTail {
  char gpus[96];
  char memory[96];
};

/// Largest settings text of a compile request.
inline constexpr std::size_t kCompileSettings = 4096;

static_assert(std::is_trivially_copyable_v<Machine> && std::is_trivially_copyable_v<Request>);

}  // namespace cupool::simgpu::protocol
