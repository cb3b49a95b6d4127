// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pool/request.h"
#include "shim/contexts.h"
#include "shim/report/recorder.h"

namespace cupool::shim {

/// What a block carries for us through the pool, in the 32 bits of its CallSite: where it was asked for, and in which context.
struct BlockTag {
  report::SiteNumber site = 0;
  ContextNumber context = 0;

  pool::CallSite packed() const { return static_cast<pool::CallSite>(std::uint32_t{site} | std::uint32_t{context} << 16); }
  static BlockTag of(const pool::Block& block) {
    const auto bits = static_cast<std::uint32_t>(block.call_site);
    return {static_cast<report::SiteNumber>(bits & 0xffff), static_cast<ContextNumber>(bits >> 16)};
  }
};

}  // namespace cupool::shim
