// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include <catch2/catch.hpp>

#include "shim/abi/driver_api.h"
#include "shim/abi/nvml_types.h"
#include "shim/abi/runtime_types.h"

// Every row names a declared function; a row without a prototype does not compile.
#define CUPOOL_ENTRY(family, shim, simgpu, exported, base, since, mode) \
  static_assert(std::is_function_v<decltype(exported)>, #exported " has no prototype");
#include "shim/abi/entry_points.def"

#define CUPOOL_NVML(shim, simgpu, exported) static_assert(std::is_function_v<decltype(exported)>, #exported " has no prototype");
#include "shim/abi/nvml_points.def"

// The version words that nvidia-ml-py sends: structure version and size.
static_assert(nvmlMemory_v2 == 0x02000028);
static_assert(nvmlProcessDetailList_v1 == 0x01000018);
static_assert(nvmlTemperature_v1 == 0x0100000C);
static_assert(sizeof(nvmlPciInfo_t) == 68 && sizeof(nvmlPciInfo_v2_t) == 52);
static_assert(sizeof(nvmlProcessInfo_v1_t) == 16 && sizeof(nvmlProcessInfo_t) == 24);
static_assert(sizeof(nvmlFieldValue_t) == 40 && sizeof(nvmlProcessUtilizationSample_t) == 32);

extern "C" int cupool_abi_rows_seen_from_c(void);

TEST_CASE("C sees as many entry points as C++", "[shim][abi]") {
  int rows = 0;
#define CUPOOL_ENTRY(family, shim, simgpu, exported, base, since, mode) ++rows;
#include "shim/abi/entry_points.def"
  CHECK(rows == 637);
  CHECK(cupool_abi_rows_seen_from_c() == rows);
}

TEST_CASE("the runtime names are those whose signature never changed", "[shim][abi]") {
  std::vector<std::string> names;
#define CUPOOL_RUNTIME(exported, ...) \
  names.emplace_back(#exported);      \
  static_assert(std::is_function_v<cudaError_t(__VA_ARGS__)>, #exported);
#include "shim/abi/runtime_points.def"
  for (const auto& name : names) {
    CHECK(name != "cudaMemAdvise");
    CHECK(name != "cudaMemPrefetchAsync");
    CHECK(name != "cudaGetDeviceProperties");
  }
  CHECK(names.size() == 20);
}
