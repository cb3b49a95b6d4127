// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>

#include "shim/abi/driver_api.h"

/// What tests of the driver through its own interface share: one simulated machine per test program, a context per test, gates.
namespace simgpu_test {

/// `REQUIRE` for calls that must succeed; names the code otherwise.
#define DRIVER_OK(call) REQUIRE((call) == CUDA_SUCCESS)

/// Gives this process a machine of its own (SIMGPU_DIR in a temporary directory, 4 GiB a GPU: a context takes about half of one)
/// and initialises the driver. Call first.
void start_machine(const char* gpus = "h200");

/// A context that is current while it lives.
class TestContext {
 public:
  TestContext();
  ~TestContext();
  TestContext(const TestContext&) = delete;
  TestContext& operator=(const TestContext&) = delete;
  CUcontext handle() const { return context_; }

 private:
  CUcontext context_ = nullptr;
};

/// Holds a stream up until it is opened, without occupying anything: a wait for a value in pinned memory.
class Gate {
 public:
  Gate();
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  void hold(CUstream stream);
  void open();

 private:
  std::uint32_t* flag_ = nullptr;
  CUdeviceptr address_ = 0;
};

/// Device memory of `count` 32-bit words.
class Words {
 public:
  explicit Words(std::size_t count, std::uint32_t value = 0);
  ~Words();
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;
  CUdeviceptr address() const { return address_; }
  std::uint32_t operator[](std::size_t index) const;

 private:
  CUdeviceptr address_ = 0;
};

/// add_one(p, n): p[i] += 1. store(p, v): *p = v. bounded: .maxntid 64. A variable `table` of four words.
extern const char* const kKernels;

CUmodule load_kernels();
CUfunction kernel(CUmodule module, const char* name);
/// Launches store(address, value) with one thread.
CUresult launch_store(CUfunction store, CUdeviceptr address, std::uint32_t value, CUstream stream);

}  // namespace simgpu_test
