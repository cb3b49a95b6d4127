// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/base/result.h"

namespace cupool::simgpu {

/// One simulated GPU as the settings ask for it.
struct GpuConfig {
  std::string model;        ///< key of the model table
  std::uint64_t total = 0;  ///< bytes that CUDA calls total
  std::array<std::uint8_t, 16> uuid{};
};

/// The machine that SIMGPU_GPUS and SIMGPU_MEMORY describe.
///
/// SIMGPU_GPUS: comma-separated groups, each `[COUNTx]MODEL` or a bare count of the default model: "2", "a100", "1xh200,2xa100".
/// SIMGPU_MEMORY: one size for all GPUs or one per GPU: "16GiB", "1GiB,512MiB"; empty: what the model has. A multiple of 2 MiB.
/// `seed` enters the UUIDs, so that machines in different directories have different GPUs.
/// Errors (Errc::malformed, Errc::not_found for a model) name the setting and the remedy in `message`.
struct MachineConfig {
  std::vector<GpuConfig> gpus;
};
Result<MachineConfig> parse_machine(std::string_view gpus, std::string_view memory, std::string_view seed, std::string& message);

/// "16GiB", "512MiB", "4096": binary units only. Errc::malformed otherwise.
Result<std::uint64_t> parse_size(std::string_view text);

/// The directory of the machine: SIMGPU_DIR, or a private one in the runtime directory that is named after the settings, so that
/// programs with the same settings meet on one machine and others do not.
std::string machine_directory();

}  // namespace cupool::simgpu
