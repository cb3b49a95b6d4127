// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace ptx_test {

/// Number of threads in a block of every generated program.
inline constexpr std::uint32_t kGeneratedBlock = 64;
/// Words per thread in the input and output.
inline constexpr std::uint32_t kGeneratedInputs = 4;
inline constexpr std::uint32_t kGeneratedOutputs = 6;

/// One random program, as a CUDA kernel and as plain C++ loops over the threads of each block.
///
/// The statements of a phase are the same text in both; barriers, shared memory, shuffles, votes and atomics lie between phases.
/// Both are called `g<name>(const unsigned* in, unsigned* out, unsigned* sums)`, the host's with the number of blocks behind.
struct GeneratedProgram {
  std::string device;
  std::string host;
};

GeneratedProgram generate_program(std::uint64_t seed, const std::string& name);

/// What goes in front of all programs of one translation unit.
std::string device_preamble();
std::string host_preamble();

}  // namespace ptx_test
