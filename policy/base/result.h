// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tl/expected.hpp>

namespace cupool {

/// Why something did not happen. One list for all rooms; the shim alone turns these into CUDA's numbers.
enum class Errc {
  invalid_argument,  ///< the caller broke the contract of the call
  not_taken,         ///< given back what was not taken: a double free, a foreign or an interior address
  not_found,         ///< nothing is known by that name, address or number
  exists,            ///< it is there already
  no_space,          ///< no free run, slot or address range is large enough
  no_memory,         ///< the device, or the host, has no memory left
  over_limit,        ///< the policy's limit would be exceeded
  denied,            ///< the policy refuses
  timed_out,         ///< a deadline passed
  cancelled,         ///< the other side withdrew
  busy,              ///< in use: try again later
  unsupported,       ///< this device, driver or version cannot do it
  overflow,          ///< a sum or a size does not fit
  malformed,         ///< input that does not follow its format
  version_mismatch,  ///< two parts of different versions
  io,                ///< the operating system refused a file or socket operation
  driver,            ///< the device driver failed for a reason of its own
};

/// The code's name, as it is spelt here.
const char* to_text(Errc code);

/// What went wrong. Trivial to copy and never allocates, so that it can be returned from the hottest path and at out-of-memory.
struct Error {
  Errc code;
  /// Static text that adds what the code alone does not say; may be empty, never null.
  const char* detail = "";
};

/// The value of a Result that has none.
struct Done {};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(Errc code, const char* detail = "") { return tl::unexpected<Error>(Error{code, detail}); }

}  // namespace cupool
