// SPDX-License-Identifier: Apache-2.0
#include "policy/base/result.h"

namespace cupool {

const char* to_text(Errc code) {
  switch (code) {
    case Errc::invalid_argument: return "invalid_argument";
    case Errc::not_taken: return "not_taken";
    case Errc::not_found: return "not_found";
    case Errc::exists: return "exists";
    case Errc::no_space: return "no_space";
    case Errc::no_memory: return "no_memory";
    case Errc::over_limit: return "over_limit";
    case Errc::denied: return "denied";
    case Errc::timed_out: return "timed_out";
    case Errc::cancelled: return "cancelled";
    case Errc::busy: return "busy";
    case Errc::unsupported: return "unsupported";
    case Errc::overflow: return "overflow";
    case Errc::malformed: return "malformed";
    case Errc::version_mismatch: return "version_mismatch";
    case Errc::io: return "io";
    case Errc::driver: return "driver";
  }
  return "unknown";
}

}  // namespace cupool
