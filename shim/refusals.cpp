// SPDX-License-Identifier: Apache-2.0
#include "shim/refusals.h"

#include "policy/base/log.h"
#include "shim/device.h"
#include "shim/session.h"
#include "shim/translate.h"

namespace cupool::shim {

std::string rule_pointer(const Device& device, const pool::Refusal& refusal) {
  const policy::Composed& policy = device.policy();
  switch (refusal.rule) {
    case pool::Rule::job_limit:
      return "/classes/" + policy.job.rules.name + "/limit";
    case pool::Rule::pool_capacity:
      return "/pool/capacity";
    default:
      return to_text(refusal.rule);
  }
}

std::string describe(const Device& device, const char* entry, const pool::Refusal& refusal) {
  std::string text = "GPU " + std::to_string(device.ordinal()) + ": refused " + to_text(refusal.asked) + " to " + entry +
                     " (rule " + rule_pointer(device, refusal) + "): ";
  switch (refusal.rule) {
    case pool::Rule::job_limit:
    case pool::Rule::pool_capacity:
      text += "the limit is " + to_text(refusal.limit) + ", in use are " + to_text(refusal.live) + " and " +
              to_text(refusal.beside) + " beside the pool";
      break;
    case pool::Rule::device_full:
      text += "the driver has no memory left although the limit of " + to_text(refusal.limit) +
              " is not reached: something outside the pool uses this GPU";
      break;
    case pool::Rule::fragmented:
      text += to_text(refusal.free) + " are free, the largest piece is " + to_text(refusal.largest_free) +
              "; a smaller pool.handle leaves less";
      break;
    case pool::Rule::waiting:
      text += "memory that was freed is still used by work under way, and a stream capture forbids waiting for it";
      break;
    case pool::Rule::host_memory:
      text += "the host is out of memory";
      break;
    case pool::Rule::address_space:
      text += "no address range of that length is left";
      break;
    case pool::Rule::bad_request:
      text += "the size or alignment makes no sense";
      break;
    case pool::Rule::driver:
      text += "a driver call on the pool's memory failed";
      break;
  }
  return text;
}

CUresult Refusals::tell(const Device& device, const char* entry, const pool::Refusal& refusal) {
  const CUresult code = code_of(refusal);
  const std::string text = describe(device, entry, refusal);
  const std::string rule = rule_pointer(device, refusal);
  recorder().refused({device.id().index, static_cast<std::uint32_t>(code), refusal.asked, rule, entry, text});
  const std::uint64_t number = described_.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t allowed = device.policy().log.denials;
  if (number < allowed) {
    log::write(log::Level::warning, number + 1 == allowed ? text + " (further refusals are in the report only)" : text);
  }
  return code;
}

CUresult Refusals::tell_closed(const char* entry, Bytes asked, const std::string& reason) {
  recorder().refused({0, CUDA_ERROR_OUT_OF_MEMORY, asked, "no usable policy", entry, reason});
  if (described_.fetch_add(1, std::memory_order_relaxed) == 0) {
    log::write(log::Level::error, "allocations are refused: " + reason);
  }
  return CUDA_ERROR_OUT_OF_MEMORY;
}

}  // namespace cupool::shim
