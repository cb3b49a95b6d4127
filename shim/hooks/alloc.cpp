// SPDX-License-Identifier: Apache-2.0
//
// cuMemAlloc and its kin. The forms of CUDA before 3.2 hand out 32-bit addresses, which the pool's range does not have: the driver
// serves them, under the limit.
#include "shim/hooks/hooks.h"
#include "shim/real_driver.h"
#include "shim/serving.h"

namespace cupool {
namespace {

using shim::Wanted;

/// The driver's pitch for a row: asked of the device once would be wrong, because it depends on the width.
struct Pitch {
  std::size_t row = 0;
  std::size_t total = 0;
};

/// Rounds a row up to what textures and 2D copies need. Nothing for arguments that the driver refuses, and for sizes that overflow.
std::optional<Pitch> pitch_of(std::size_t width, std::size_t height, unsigned element) {
  if (width == 0 || height == 0 || (element != 4 && element != 8 && element != 16)) return std::nullopt;
  constexpr std::uint64_t kPitchStep = 512;
  const auto row = round_up(width, kPitchStep);
  const auto total = row ? checked_mul(*row, height) : std::nullopt;
  if (!total) return std::nullopt;
  return Pitch{*row, *total};
}

}  // namespace

CUresult hook::cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  return shim::serve({"cuMemAlloc", bytes}, address, [&](CUdeviceptr* out) { return driver::cuMemAlloc_v2(out, bytes); });
}

CUresult hook::cuMemAlloc(CUdeviceptr_v1* address, unsigned int bytes) {
  CUdeviceptr wide = 0;
  const CUresult code =
      shim::serve_beside({"cuMemAlloc", bytes}, pool::BesideKind::direct, Bytes{round_up(bytes, 2 * kMiB.count).value_or(bytes)},
                         address == nullptr ? nullptr : &wide, [&](CUdeviceptr* out) {
                           CUdeviceptr_v1 narrow = 0;
                           const CUresult result = driver::cuMemAlloc(address == nullptr ? nullptr : &narrow, bytes);
                           if (out != nullptr) *out = narrow;
                           return result;
                         });
  if (code == CUDA_SUCCESS) *address = static_cast<CUdeviceptr_v1>(wide);
  return code;
}

CUresult hook::cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width, size_t height, unsigned int element) {
  const std::optional<Pitch> shape = pitch_of(width, height, element);
  const auto by_driver = [&](CUdeviceptr* out) { return driver::cuMemAllocPitch_v2(out, pitch, width, height, element); };
  if (pitch == nullptr || address == nullptr || !shape) return by_driver(address);
  std::size_t given = shape->row;
  const CUresult code = shim::serve({"cuMemAllocPitch", shape->total}, address, [&](CUdeviceptr* out) {
    return driver::cuMemAllocPitch_v2(out, &given, width, height, element);
  });
  if (code == CUDA_SUCCESS) *pitch = given;
  return code;
}

CUresult hook::cuMemAllocPitch(CUdeviceptr_v1* address, unsigned int* pitch, unsigned int width, unsigned int height,
                               unsigned int element) {
  const std::optional<Pitch> shape = pitch_of(width, height, element);
  if (address == nullptr || !shape) return driver::cuMemAllocPitch(address, pitch, width, height, element);
  CUdeviceptr wide = 0;
  const CUresult code =
      shim::serve_beside({"cuMemAllocPitch", shape->total}, pool::BesideKind::direct,
                         Bytes{round_up(shape->total, 2 * kMiB.count).value_or(shape->total)}, &wide, [&](CUdeviceptr* out) {
                           CUdeviceptr_v1 narrow = 0;
                           const CUresult result = driver::cuMemAllocPitch(&narrow, pitch, width, height, element);
                           *out = narrow;
                           return result;
                         });
  if (code == CUDA_SUCCESS) *address = static_cast<CUdeviceptr_v1>(wide);
  return code;
}

CUresult hook::cuMemFree_v2(CUdeviceptr address) {
  return shim::give_back(address, [&] { return driver::cuMemFree_v2(address); });
}

CUresult hook::cuMemFree(CUdeviceptr_v1 address) {
  return shim::give_back(address, [&] { return driver::cuMemFree(address); });
}

}  // namespace cupool
