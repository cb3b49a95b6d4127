// SPDX-License-Identifier: Apache-2.0
#include "shim/entry_table.h"

#include <set>
#include <string>

#include <catch2/catch.hpp>

using namespace cupool::shim;

namespace {

std::string form(const char* base, int version, bool per_thread) {
  const auto found = find_form(base, version, per_thread);
  return found ? row(*found).exported : "none";
}

}  // namespace

TEST_CASE("an exported name is found exactly", "[shim]") {
  for (std::size_t i = 0; i < kEntryCount; ++i) {
    const Entry entry = static_cast<Entry>(i);
    REQUIRE(find_exported(row(entry).exported) == entry);
  }
  CHECK_FALSE(find_exported("cuMemAlloc_v3"));
  CHECK_FALSE(find_exported("cuMemAlloc_v"));
  CHECK_FALSE(find_exported(""));
}

TEST_CASE("a request gets the newest form that is not newer than its version", "[shim]") {
  CHECK(form("cuMemAlloc", 2000, false) == "cuMemAlloc");
  CHECK(form("cuMemAlloc", 3019, false) == "cuMemAlloc");
  CHECK(form("cuMemAlloc", 3020, false) == "cuMemAlloc_v2");
  CHECK(form("cuMemAlloc", 99999, false) == "cuMemAlloc_v2");
  CHECK(form("cuCtxCreate", 11039, false) == "cuCtxCreate_v2");
  CHECK(form("cuCtxCreate", 11040, false) == "cuCtxCreate_v3");
  CHECK(form("cuCtxCreate", 13000, false) == "cuCtxCreate_v4");
  CHECK(form("cuStreamGetCaptureInfo", 12030, false) == "cuStreamGetCaptureInfo_v3");
}

TEST_CASE("a form that is too new and a name that nobody knows give nothing", "[shim]") {
  CHECK(form("cuMemAllocAsync", 11019, false) == "none");
  CHECK(form("cuNoSuchFunction", 13000, false) == "none");
  CHECK(form("", 0, false) == "none");
}

TEST_CASE("per-thread requests get the per-thread form, and the legacy one where there is none yet", "[shim]") {
  CHECK(form("cuMemcpyHtoD", 7000, true) == "cuMemcpyHtoD_v2_ptds");
  CHECK(form("cuMemcpyHtoD", 6999, true) == "cuMemcpyHtoD_v2");
  CHECK(form("cuMemcpyHtoD", 13000, false) == "cuMemcpyHtoD_v2");
  CHECK(form("cuMemAlloc", 13000, true) == "cuMemAlloc_v2");
  CHECK(form("cuMemcpyBatchAsync", 12080, true) == "cuMemcpyBatchAsync_ptsz");
  CHECK(form("cuMemcpyBatchAsync", 13000, true) == "cuMemcpyBatchAsync_v2_ptsz");
}

TEST_CASE("every governed row has a slot of its own, and only those", "[shim]") {
  std::set<std::int16_t> slots;
  for (std::size_t i = 0; i < kEntryCount; ++i) {
    const EntryRow& entry = row(static_cast<Entry>(i));
    CHECK((entry.slot == kNoSlot) == (entry.treatment == Treatment::pass));
    if (entry.slot == kNoSlot) continue;
    CHECK(slots.insert(entry.slot).second);
    CHECK(std::string(slot_name(static_cast<std::uint32_t>(entry.slot))) == entry.exported);
  }
  CHECK(std::string(slot_name(CUPOOL_SLOT_COUNT)).empty());
}
