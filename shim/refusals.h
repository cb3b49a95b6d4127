// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "pool/request.h"
#include "shim/abi/cuda_types.h"

namespace cupool::shim {

class Device;

/// Says why a request was not served: to the report always, to stderr as often as the policy's `log.denials` allows. Thread-safe.
class Refusals {
 public:
  /// The pool refused. Returns the code that the program is told.
  CUresult tell(const Device& device, const char* entry, const pool::Refusal& refusal);
  /// Nothing may be allocated at all: no usable policy, here or on this device.
  CUresult tell_closed(const char* entry, Bytes asked, const std::string& reason);

 private:
  std::atomic<std::uint64_t> described_{0};
};

/// The refusal in a sentence for people, with its figures and what can be done.
std::string describe(const Device& device, const char* entry, const pool::Refusal& refusal);
/// The policy's rule that decided, as a JSON pointer into the policy file.
std::string rule_pointer(const Device& device, const pool::Refusal& refusal);

}  // namespace cupool::shim
