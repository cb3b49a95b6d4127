// SPDX-License-Identifier: Apache-2.0
#include "pool/request.h"

namespace cupool::pool {

const char* to_text(Rule rule) {
  switch (rule) {
    case Rule::bad_request:
      return "bad_request";
    case Rule::job_limit:
      return "job_limit";
    case Rule::pool_capacity:
      return "pool_capacity";
    case Rule::device_full:
      return "device_full";
    case Rule::fragmented:
      return "fragmented";
    case Rule::address_space:
      return "address_space";
    case Rule::driver:
      return "driver";
    case Rule::host_memory:
      return "host_memory";
    case Rule::waiting:
      return "waiting";
  }
  return "unknown";
}

}  // namespace cupool::pool
