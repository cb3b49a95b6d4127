// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "tests/contract/areas.h"

namespace contract {
namespace {

/// A device block of `size` bytes that is freed at the end of the scope.
class DeviceBlock {
 public:
  DeviceBlock(const Driver& driver, std::size_t size) : driver_(driver) { driver.cuMemAlloc_v2(&pointer, size); }
  ~DeviceBlock() { driver_.cuMemFree_v2(pointer); }
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;
  CUdeviceptr pointer = 0;

 private:
  const Driver& driver_;
};

std::vector<unsigned char> counting(std::size_t size) {
  std::vector<unsigned char> bytes(size);
  std::iota(bytes.begin(), bytes.end(), 1);
  return bytes;
}

void observe_linear(const Driver& driver, Observer& observer) {
  constexpr std::size_t kSize = 5 * 1024 * 1024 + 13;
  DeviceBlock one{driver, kSize}, two{driver, kSize};
  const auto source = counting(kSize);
  std::vector<unsigned char> back(kSize);
  observer.expect("to_device", driver.cuMemcpyHtoD_v2(one.pointer, source.data(), kSize), CUDA_SUCCESS, Source::header);
  observer.expect("between", driver.cuMemcpyDtoD_v2(two.pointer, one.pointer, kSize), CUDA_SUCCESS, Source::header);
  observer.expect("to_host", driver.cuMemcpyDtoH_v2(back.data(), two.pointer, kSize), CUDA_SUCCESS, Source::header);
  observer.expect("bytes_arrive", back == source, Source::header);
  std::fill(back.begin(), back.end(), 0);
  driver.cuMemcpyDtoH_v2(back.data(), two.pointer + 1'000'003, 77);
  observer.expect("interior_addresses", std::equal(back.begin(), back.begin() + 77, source.begin() + 1'000'003), Source::header);
  observer.expect("nothing", driver.cuMemcpyHtoD_v2(one.pointer, source.data(), 0), CUDA_SUCCESS, Source::known);
  observer.expect("unified_to_device", driver.cuMemcpy(one.pointer, reinterpret_cast<CUdeviceptr>(back.data()), 77), CUDA_SUCCESS,
                  Source::header);
  std::vector<unsigned char> again(77);
  observer.expect("unified_to_host", driver.cuMemcpy(reinterpret_cast<CUdeviceptr>(again.data()), one.pointer, 77), CUDA_SUCCESS,
                  Source::header);
  observer.expect("unified_bytes_arrive", std::equal(again.begin(), again.end(), back.begin()), Source::header);
  observer.open("null_host", driver.cuMemcpyHtoD_v2(one.pointer, nullptr, 16));
  observer.expect("null_device", driver.cuMemcpyHtoD_v2(0, source.data(), 16), CUDA_ERROR_INVALID_VALUE, Source::known);
}

void observe_sets(const Driver& driver, Observer& observer) {
  DeviceBlock block{driver, 4096};
  std::vector<unsigned char> bytes(4096);
  const auto read = [&] { driver.cuMemcpyDtoH_v2(bytes.data(), block.pointer, bytes.size()); };
  observer.expect("set_8", driver.cuMemsetD8_v2(block.pointer, 0xAB, 4096), CUDA_SUCCESS, Source::header);
  read();
  observer.expect("set_8_value", std::all_of(bytes.begin(), bytes.end(), [](unsigned char byte) { return byte == 0xAB; }),
                  Source::header);
  observer.expect("set_16", driver.cuMemsetD16_v2(block.pointer + 2, 0x1234, 10), CUDA_SUCCESS, Source::header);
  read();
  observer.expect("set_16_value",
                  bytes[1] == 0xAB && bytes[2] == 0x34 && bytes[3] == 0x12 && bytes[21] == 0x12 && bytes[22] == 0xAB,
                  Source::header);
  observer.expect("set_32", driver.cuMemsetD32_v2(block.pointer + 64, 0xCAFEF00D, 5), CUDA_SUCCESS, Source::header);
  read();
  observer.expect("set_32_value", bytes[64] == 0x0D && bytes[83] == 0xCA && bytes[84] == 0xAB, Source::header);
  observer.expect("set_16_misaligned", driver.cuMemsetD16_v2(block.pointer + 1, 1, 1), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("set_32_misaligned", driver.cuMemsetD32_v2(block.pointer + 2, 1, 1), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("set_nothing", driver.cuMemsetD8_v2(block.pointer, 1, 0), CUDA_SUCCESS, Source::known);
  observer.expect("set_null", driver.cuMemsetD8_v2(0, 1, 16), CUDA_ERROR_INVALID_VALUE, Source::known);
  observer.expect("set_2d", driver.cuMemsetD2D8_v2(block.pointer, 64, 0x11, 16, 4), CUDA_SUCCESS, Source::header);
  read();
  observer.expect("set_2d_value", bytes[15] == 0x11 && bytes[24] == 0xAB && bytes[192] == 0x11 && bytes[208] == 0xAB,
                  Source::header);
  observer.expect("set_2d_32", driver.cuMemsetD2D32_v2(block.pointer, 128, 0x22222222, 2, 2), CUDA_SUCCESS, Source::header);
  read();
  observer.expect("set_2d_32_value", bytes[7] == 0x22 && bytes[8] == 0x11 && bytes[135] == 0x22, Source::header);
}

void observe_planes(const Driver& driver, Observer& observer) {
  DeviceBlock block{driver, 64 * 32};
  driver.cuMemsetD8_v2(block.pointer, 0, 64 * 32);
  const auto source = counting(20 * 10);
  CUDA_MEMCPY2D_v2 plane{};
  plane.srcMemoryType = CU_MEMORYTYPE_HOST;
  plane.srcHost = source.data();
  plane.srcPitch = 20;
  plane.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  plane.dstDevice = block.pointer;
  plane.dstPitch = 64;
  plane.dstXInBytes = 4;
  plane.dstY = 2;
  plane.WidthInBytes = 20;
  plane.Height = 10;
  observer.expect("plane", driver.cuMemcpy2D_v2(&plane), CUDA_SUCCESS, Source::header);
  std::vector<unsigned char> bytes(64 * 32);
  driver.cuMemcpyDtoH_v2(bytes.data(), block.pointer, bytes.size());
  bool right = bytes[64 * 2 + 3] == 0 && bytes[64 * 2 + 24] == 0 && bytes[64 * 1 + 4] == 0;
  for (std::size_t row = 0; row < 10; ++row) right &= std::memcmp(&bytes[64 * (row + 2) + 4], &source[20 * row], 20) == 0;
  observer.expect("plane_bytes_arrive", right, Source::header);
  plane.WidthInBytes = 100;
  observer.expect("plane_wider_than_pitch", driver.cuMemcpy2D_v2(&plane), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("plane_null", driver.cuMemcpy2D_v2(nullptr), CUDA_ERROR_INVALID_VALUE, Source::header);

  CUDA_MEMCPY3D_v2 volume{};
  volume.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  volume.srcDevice = block.pointer;
  volume.srcPitch = 64;
  volume.srcHeight = 16;
  volume.srcXInBytes = 4;
  volume.srcY = 2;
  std::vector<unsigned char> out(8 * 4 * 2, 0xEE);
  volume.dstMemoryType = CU_MEMORYTYPE_HOST;
  volume.dstHost = out.data();
  volume.dstPitch = 8;
  volume.dstHeight = 4;
  volume.WidthInBytes = 8;
  volume.Height = 4;
  volume.Depth = 2;
  observer.expect("volume", driver.cuMemcpy3D_v2(&volume), CUDA_SUCCESS, Source::header);
  bool volume_right = true;
  for (std::size_t layer = 0; layer < 2; ++layer) {
    for (std::size_t row = 0; row < 4; ++row) {
      volume_right &= std::memcmp(&out[(layer * 4 + row) * 8], &bytes[64 * (layer * 16 + row + 2) + 4], 8) == 0;
    }
  }
  observer.expect("volume_bytes_arrive", volume_right, Source::header);
}

void observe_contents(const Driver& driver, Observer& observer) {
  CUstream stream = nullptr;
  driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  DeviceBlock block{driver, 1 << 20};
  const auto source = counting(1 << 20);
  std::vector<unsigned char> back(1 << 20);
  observer.expect("async_to_device", driver.cuMemcpyHtoDAsync_v2(block.pointer, source.data(), source.size(), stream), CUDA_SUCCESS,
                  Source::header);
  observer.expect("async_between", driver.cuMemcpyDtoDAsync_v2(block.pointer + 512, block.pointer, 256, stream), CUDA_SUCCESS,
                  Source::header);
  observer.expect("async_set", driver.cuMemsetD8Async(block.pointer, 9, 16, stream), CUDA_SUCCESS, Source::header);
  observer.expect("async_to_host", driver.cuMemcpyDtoHAsync_v2(back.data(), block.pointer, back.size(), stream), CUDA_SUCCESS,
                  Source::header);
  observer.expect("async_synchronize", driver.cuStreamSynchronize(stream), CUDA_SUCCESS, Source::header);
  observer.expect("async_in_order",
                  back[0] == 9 && back[15] == 9 && back[16] == source[16] && back[512] == source[0] && back[1000] == source[1000],
                  Source::header);
  observer.expect("async_unified", driver.cuMemcpyAsync(block.pointer, reinterpret_cast<CUdeviceptr>(source.data()), 16, stream),
                  CUDA_SUCCESS, Source::header);
  driver.cuStreamSynchronize(stream);
  driver.cuStreamDestroy_v2(stream);
}

}  // namespace

void observe_copies(const Driver& driver, Observer& observer) {
  observer.area("copy");
  observe_linear(driver, observer);
  observe_sets(driver, observer);
  observe_planes(driver, observer);
  observe_contents(driver, observer);
}

}  // namespace contract
