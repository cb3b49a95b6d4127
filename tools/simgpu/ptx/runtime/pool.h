// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

namespace cupool::simgpu::ptx {

/// How many host threads a launch may use: SIMGPU_WORKERS, else the number of cores, at most 8.
std::uint32_t worker_count();

/// For tests: overrides SIMGPU_WORKERS from now on.
void set_worker_count(std::uint32_t workers);

/// Runs `work` on the calling thread and on up to `others` threads of the process-wide pool at once; returns when all have
/// returned.
///
/// The threads are started when they are first needed, take no signals, and sleep between launches. Thread-safe. Pool threads that
/// are busy with another launch are not waited for: the caller does the work alone.
void run_on_workers(std::uint32_t others, const std::function<void()>& work);

}  // namespace cupool::simgpu::ptx
