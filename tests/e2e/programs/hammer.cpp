// SPDX-License-Identifier: Apache-2.0
//
// Allocates, writes, reads back and frees from eight threads at once, each block freed by another thread than its owner; then frees
// blocks that work under way still uses. Prints what it saw; status 1 when a byte was not what was written.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "shim/abi/driver_api.h"

namespace {

std::atomic<unsigned> g_wrong{0}, g_refused{0}, g_served{0};

/// Blocks on their way to whoever frees them.
class Exchange {
 public:
  CUdeviceptr swap(CUdeviceptr block) {
    const std::lock_guard lock(mutex_);
    blocks_.push_back(block);
    if (blocks_.size() < 16) return 0;
    const CUdeviceptr oldest = blocks_.front();
    blocks_.erase(blocks_.begin());
    return oldest;
  }
  std::vector<CUdeviceptr> rest() { return std::move(blocks_); }

 private:
  std::mutex mutex_;
  std::vector<CUdeviceptr> blocks_;
};

void check(bool right) {
  if (!right) ++g_wrong;
}

void work(unsigned seed, CUcontext context, Exchange& exchange) {
  cuCtxSetCurrent(context);
  std::mt19937 random(seed);
  CUstream stream = nullptr;
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  std::vector<unsigned char> back(4096);
  for (int round = 0; round < 150; ++round) {
    const std::size_t bytes = 1 + random() % (round % 5 == 0 ? 6 << 20 : 60'000);
    const auto tag = static_cast<unsigned char>(random());
    CUdeviceptr block = 0;
    if (cuMemAlloc_v2(&block, bytes) != CUDA_SUCCESS) {
      ++g_refused;
      continue;
    }
    ++g_served;
    const std::size_t sample = std::min(bytes, back.size());
    check(cuMemsetD8Async(block, tag, bytes, stream) == CUDA_SUCCESS);
    check(cuMemcpyDtoHAsync_v2(back.data(), block + bytes - sample, sample, stream) == CUDA_SUCCESS);
    check(cuStreamSynchronize(stream) == CUDA_SUCCESS);
    for (std::size_t index = 0; index < sample; ++index) check(back[index] == tag);
    if (const CUdeviceptr other = exchange.swap(block)) check(cuMemFree_v2(other) == CUDA_SUCCESS);
  }
  cuStreamDestroy_v2(stream);
}

/// A stream held up by a host function; what is queued behind it must still find its memory, although that is freed meanwhile.
void free_under_work() {
  static std::atomic<bool> open{false};
  open = false;
  CUstream stream = nullptr, other = nullptr;
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  cuStreamCreate(&other, CU_STREAM_NON_BLOCKING);
  constexpr std::size_t kBytes = 1 << 20;
  CUdeviceptr source = 0, target = 0;
  cuMemAlloc_v2(&source, kBytes);
  cuMemAlloc_v2(&target, kBytes);
  cuMemsetD8_v2(source, 0x11, kBytes);
  cuCtxSynchronize();
  cuLaunchHostFunc(
      stream,
      [](void*) {
        while (!open.load(std::memory_order_acquire)) std::this_thread::yield();
      },
      nullptr);
  cuMemcpyDtoDAsync_v2(target, source, kBytes, stream);
  std::thread freeing([&, context = [] {
    CUcontext c = nullptr;
    cuCtxGetCurrent(&c);
    return c;
  }()] {
    cuCtxSetCurrent(context);
    cuMemFree_v2(source);  // the driver's own free blocks here until the copy is done; cupool's does not
  });
  std::vector<CUdeviceptr> later;
  for (int index = 0; index < 20; ++index) {
    CUdeviceptr block = 0;
    if (cuMemAlloc_v2(&block, kBytes) != CUDA_SUCCESS) break;
    cuMemsetD8Async(block, 0x99, kBytes, other);
    later.push_back(block);
  }
  cuStreamSynchronize(other);
  open.store(true, std::memory_order_release);
  freeing.join();
  cuStreamSynchronize(stream);
  std::vector<unsigned char> back(kBytes);
  cuMemcpyDtoH_v2(back.data(), target, kBytes);
  for (const unsigned char byte : back) check(byte == 0x11);
  for (const CUdeviceptr block : later) cuMemFree_v2(block);
  cuMemFree_v2(target);
  cuStreamDestroy_v2(stream);
  cuStreamDestroy_v2(other);
}

}  // namespace

int main() {
  CUcontext context = nullptr;
  if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS) return 2;
  cuCtxSetCurrent(context);
  Exchange exchange;
  std::vector<std::thread> threads;
  for (unsigned index = 0; index < 8; ++index) threads.emplace_back(work, index, context, std::ref(exchange));
  for (std::thread& thread : threads) thread.join();
  for (const CUdeviceptr block : exchange.rest()) check(cuMemFree_v2(block) == CUDA_SUCCESS);
  for (int round = 0; round < 10; ++round) free_under_work();
  cuCtxSynchronize();
  std::size_t free_bytes = 0, total = 0;
  cuMemGetInfo_v2(&free_bytes, &total);
  std::printf("wrong bytes or codes: %u, served: %u, refused: %u\n", g_wrong.load(), g_served.load(), g_refused.load());
  cuCtxSetCurrent(nullptr);
  cuDevicePrimaryCtxRelease_v2(0);
  return g_wrong.load() == 0 ? 0 : 1;
}
