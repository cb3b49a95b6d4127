// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <span>

#include "policy/base/result.h"
#include "policy/base/units.h"
#include "pool/backing.h"

namespace cupool::pool {

/// A device of this process, in the order in which the program sees them.
struct DeviceId {
  std::uint32_t index = 0;
  constexpr auto operator<=>(const DeviceId&) const = default;
};

/// A stream as the shim numbers it; the pool only compares.
enum class StreamId : std::uint64_t {};

/// Where in the program a request came from, as the report numbers it. 0: not known.
enum class CallSite : std::uint32_t {};

/// Which block an address belonged to: given out once in the life of the process, also when the address is used again.
enum class BlockIdentity : std::uint64_t {};

/// The moment of a stream-ordered free, counted per device. Later frees have larger tickets.
struct FreeTicket {
  std::uint64_t count = 0;
  constexpr auto operator<=>(const FreeTicket&) const = default;
};
inline constexpr FreeTicket kEveryFree{std::numeric_limits<std::uint64_t>::max()};

/// "What was freed on `stream` up to `last` lies before this request in stream order": the request may have such memory at once,
/// although its work has not completed. For the request's own stream `last` is kEveryFree; for a stream that it waited for by an
/// event, the ticket that was current when the event was recorded.
struct StreamOrder {
  StreamId stream{};
  FreeTicket last;
};

/// What a program asks for.
struct Request {
  DeviceId device;
  Bytes size;                              ///< more than zero
  Bytes alignment{};                       ///< a power of two, or zero for the pool's own; never less than the pool's own
  std::span<const StreamOrder> ordered{};  ///< empty: only memory that nothing can still be using
  CallSite call_site{};
};

/// What a program received, and what it is told when it asks about an address.
struct Block {
  Address base;
  Bytes size;   ///< as asked for
  Bytes given;  ///< what it occupies: never less
  BlockIdentity identity{};
  DeviceId device;
  CallSite call_site{};
};

/// What stopped a request.
enum class Rule {
  bad_request,    ///< size or alignment make no sense, or the device is not known
  job_limit,      ///< the job's limit
  pool_capacity,  ///< the memory that the policy governs on this device is leased out
  device_full,    ///< the driver has no memory: something outside the pool uses it
  fragmented,     ///< enough memory is free, but in pieces smaller than a handle
  address_space,  ///< the arena's address range has no gap of this length
  driver,         ///< a driver call failed
  host_memory,    ///< the host has no memory for our own records
  waiting,        ///< memory would be there, but must be waited for and may not be now (a stream capture is open)
};
const char* to_text(Rule rule);

/// Why there is no block: the rule that decided, and the figures that make a message useful.
struct Refusal {
  Errc code = Errc::no_memory;
  Rule rule = Rule::job_limit;
  Bytes asked;
  Bytes limit;         ///< of the job on this device, in whole units
  Bytes live;          ///< the job's live blocks
  Bytes beside;        ///< charged beside the pool
  Bytes free;          ///< free bytes inside what is mapped
  Bytes largest_free;  ///< the longest of them in one piece
};

template <class T>
using Granted = tl::expected<T, Refusal>;

}  // namespace cupool::pool
