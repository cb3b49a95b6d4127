// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/base/result.h"
#include "shim/report/journal.h"

namespace cupool::report {

/// The memory file in which the processes of one run keep their journals. The launcher's side.
///
/// Sealed against shrinking, so that no process that writes to it can be hit by SIGBUS; its pages are reserved when a process
/// claims a record. It vanishes with its last user: nothing is left on disk. Not thread-safe.
class Region {
 public:
  /// `run` names the run in the report. Errc::io when the system refuses a memory file.
  static Result<Region> create(std::string_view run);

  Region(Region&& other) noexcept;
  Region& operator=(Region&& other) noexcept;
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region();

  /// A path under which processes of this user can open the region for as long as this object lives.
  std::string path() const;

  /// The records that processes have claimed so far, in order of their start. Borrowed from this object.
  std::vector<const ProcessRecord*> records() const;
  std::uint64_t turned_away() const { return header().turned_away.load(std::memory_order_relaxed); }

 private:
  Region(int descriptor, void* base) : descriptor_(descriptor), base_(base) {}
  const RegionHeader& header() const { return *static_cast<const RegionHeader*>(base_); }

  int descriptor_ = -1;
  void* base_ = nullptr;
};

/// The process's side: a record to count in, of the run's region when `region_path` names one that fits, else in own memory.
///
/// Never null, never given back: hooks may count until the last instruction. `from_region` says which it became. Keeps no
/// descriptor open. Thread-safe.
struct Claim {
  ProcessRecord* record;
  bool from_region;
  const char* why_not = "";  ///< static text: why a named region was not used
};
Claim claim_record(const char* region_path);

}  // namespace cupool::report
