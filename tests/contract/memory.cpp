// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <vector>

#include "tests/contract/areas.h"

namespace contract {
namespace {

constexpr std::size_t kMiB = 1 << 20;

void observe_allocation(const Driver& driver, Observer& observer) {
  CUdeviceptr pointer = 77, other = 0;
  observer.expect("alloc_zero", driver.cuMemAlloc_v2(&pointer, 0), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("alloc_zero_leaves_output", pointer, CUdeviceptr{77}, Source::known);
  observer.expect("alloc_null", driver.cuMemAlloc_v2(nullptr, 512), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("alloc_more_than_there_is", driver.cuMemAlloc_v2(&pointer, std::size_t{1} << 50), CUDA_ERROR_OUT_OF_MEMORY,
                  Source::header);
  observer.expect("alloc_oom_leaves_output", pointer, CUdeviceptr{77}, Source::known);
  observer.expect("alloc_all_ones", driver.cuMemAlloc_v2(&pointer, ~std::size_t{0}), CUDA_ERROR_OUT_OF_MEMORY, Source::known);
  observer.expect("alloc_one_byte", driver.cuMemAlloc_v2(&pointer, 1), CUDA_SUCCESS, Source::header);
  observer.expect("alloc_aligned_512", pointer % 512, CUdeviceptr{0}, Source::sheet);
  observer.expect("alloc_again", driver.cuMemAlloc_v2(&other, 1), CUDA_SUCCESS, Source::header);
  observer.expect("blocks_are_512_apart", (other > pointer ? other - pointer : pointer - other) >= 512, Source::sheet);
  observer.expect("free", driver.cuMemFree_v2(pointer), CUDA_SUCCESS, Source::header);
  observer.expect("free_twice", driver.cuMemFree_v2(pointer), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("free_interior", driver.cuMemFree_v2(other + 256), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("free_after_refusal", driver.cuMemFree_v2(other), CUDA_SUCCESS, Source::header);
  observer.expect("free_foreign", driver.cuMemFree_v2(0x1234567000), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.open("free_null", driver.cuMemFree_v2(0));
  int on_stack = 0;
  observer.expect("free_host_address", driver.cuMemFree_v2(reinterpret_cast<CUdeviceptr>(&on_stack)), CUDA_ERROR_INVALID_VALUE,
                  Source::header);
  for (const std::size_t size : {2 * kMiB, 3 * kMiB, 33 * kMiB}) {
    pointer = 0;
    driver.cuMemAlloc_v2(&pointer, size);
    observer.expect("large_blocks_aligned_512", pointer % 512 == 0 && pointer != 0, Source::sheet);
    driver.cuMemFree_v2(pointer);
  }
}

void observe_info(const Driver& driver, Observer& observer) {
  std::size_t free_before = 0, free_during = 0, free_after = 0, total = 0, device_total = 0;
  observer.expect("info", driver.cuMemGetInfo_v2(&free_before, &total), CUDA_SUCCESS, Source::header);
  observer.expect("info_free_within_total", free_before <= total, Source::header);
  driver.cuDeviceTotalMem_v2(&device_total, 0);
  observer.expect("info_total_is_device_total", total == device_total, Source::known);
  CUdeviceptr pointer = 0;
  driver.cuMemAlloc_v2(&pointer, 64 * kMiB);
  driver.cuMemGetInfo_v2(&free_during, &total);
  observer.expect("info_free_falls", free_before - free_during >= 64 * kMiB, Source::known);
  driver.cuMemFree_v2(pointer);
  driver.cuMemGetInfo_v2(&free_after, &total);
  observer.expect("info_free_rises", free_after >= free_during + 64 * kMiB, Source::known);
  observer.open("info_nulls", driver.cuMemGetInfo_v2(nullptr, nullptr));
}

void observe_pitch(const Driver& driver, Observer& observer) {
  CUdeviceptr pointer = 0;
  std::size_t pitch = 0;
  observer.expect("pitch", driver.cuMemAllocPitch_v2(&pointer, &pitch, 100, 10, 4), CUDA_SUCCESS, Source::header);
  observer.expect("pitch_wide_enough", pitch >= 100, Source::header);
  int alignment = 1;
  driver.cuDeviceGetAttribute(&alignment, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 0);
  observer.expect("pitch_aligned", pitch % static_cast<std::size_t>(alignment), std::size_t{0}, Source::header);
  CUdeviceptr base = 0;
  std::size_t size = 0;
  driver.cuMemGetAddressRange_v2(&base, &size, pointer + pitch * 9);
  observer.expect("pitch_covers_all_rows", base == pointer && size >= pitch * 9 + 100, Source::header);
  observer.expect("pitch_free", driver.cuMemFree_v2(pointer), CUDA_SUCCESS, Source::header);
  pointer = 77;
  observer.expect("pitch_element_5", driver.cuMemAllocPitch_v2(&pointer, &pitch, 100, 10, 5), CUDA_ERROR_INVALID_VALUE,
                  Source::header);
  observer.expect("pitch_null", driver.cuMemAllocPitch_v2(nullptr, &pitch, 100, 10, 4), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("pitch_null_pitch", driver.cuMemAllocPitch_v2(&pointer, nullptr, 100, 10, 4), CUDA_ERROR_INVALID_VALUE,
                  Source::header);
  observer.expect("pitch_too_much", driver.cuMemAllocPitch_v2(&pointer, &pitch, std::size_t{1} << 40, 1 << 20, 4),
                  CUDA_ERROR_OUT_OF_MEMORY, Source::open);
  observer.expect("pitch_failure_leaves_output", pointer, CUdeviceptr{77}, Source::known);
}

void observe_range(const Driver& driver, Observer& observer) {
  CUdeviceptr pointer = 0, base = 0;
  std::size_t size = 0;
  driver.cuMemAlloc_v2(&pointer, 100'000);
  observer.expect("range", driver.cuMemGetAddressRange_v2(&base, &size, pointer + 5000), CUDA_SUCCESS, Source::header);
  observer.expect("range_base", base == pointer, Source::header);
  observer.expect("range_size_as_asked", size, std::size_t{100'000}, Source::known);
  observer.expect("range_last_byte", driver.cuMemGetAddressRange_v2(&base, &size, pointer + 99'999), CUDA_SUCCESS, Source::header);
  observer.expect("range_null_size", driver.cuMemGetAddressRange_v2(&base, nullptr, pointer), CUDA_SUCCESS, Source::header);
  observer.expect("range_null_base", driver.cuMemGetAddressRange_v2(nullptr, &size, pointer), CUDA_SUCCESS, Source::header);
  driver.cuMemFree_v2(pointer);
  observer.expect("range_unknown", driver.cuMemGetAddressRange_v2(&base, &size, 0x1234567000), CUDA_ERROR_NOT_FOUND,
                  Source::header);
}

template <class Value>
Value pointer_attribute(const Driver& driver, CUpointer_attribute which, CUdeviceptr pointer, CUresult* code = nullptr) {
  Value value{};
  const CUresult result = driver.cuPointerGetAttribute(&value, which, pointer);
  if (code != nullptr) *code = result;
  return value;
}

void observe_attributes(const Driver& driver, Observer& observer) {
  CUdeviceptr pointer = 0;
  CUcontext current = nullptr;
  driver.cuCtxGetCurrent(&current);
  driver.cuMemAlloc_v2(&pointer, 4096);
  CUresult code{};
  const auto type = pointer_attribute<unsigned>(driver, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer + 100, &code);
  observer.expect("attribute_type", code, CUDA_SUCCESS, Source::header);
  observer.expect("attribute_type_device", type, static_cast<unsigned>(CU_MEMORYTYPE_DEVICE), Source::header);
  observer.expect("attribute_context", pointer_attribute<CUcontext>(driver, CU_POINTER_ATTRIBUTE_CONTEXT, pointer) == current,
                  Source::header);
  observer.expect("attribute_device_pointer",
                  pointer_attribute<CUdeviceptr>(driver, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, pointer + 8) == pointer + 8,
                  Source::header);
  observer.expect("attribute_ordinal", pointer_attribute<int>(driver, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer), 0,
                  Source::header);
  observer.expect("attribute_not_managed", pointer_attribute<unsigned>(driver, CU_POINTER_ATTRIBUTE_IS_MANAGED, pointer), 0u,
                  Source::header);
  observer.expect("attribute_range_start",
                  pointer_attribute<CUdeviceptr>(driver, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, pointer + 100) == pointer,
                  Source::header);
  observer.expect("attribute_range_size", pointer_attribute<std::size_t>(driver, CU_POINTER_ATTRIBUTE_RANGE_SIZE, pointer),
                  std::size_t{4096}, Source::header);
  observer.expect("attribute_mapped", pointer_attribute<bool>(driver, CU_POINTER_ATTRIBUTE_MAPPED, pointer), Source::header);
  const auto first_id = pointer_attribute<unsigned long long>(driver, CU_POINTER_ATTRIBUTE_BUFFER_ID, pointer);
  observer.expect("attribute_id_same_inside",
                  pointer_attribute<unsigned long long>(driver, CU_POINTER_ATTRIBUTE_BUFFER_ID, pointer + 9) == first_id,
                  Source::header);
  observer.expect("attribute_host_pointer", driver.cuPointerGetAttribute(nullptr, CU_POINTER_ATTRIBUTE_HOST_POINTER, pointer),
                  CUDA_ERROR_INVALID_VALUE, Source::header);
  driver.cuMemFree_v2(pointer);
  CUdeviceptr again = 0;
  driver.cuMemAlloc_v2(&again, 4096);
  observer.expect("attribute_id_is_never_reused",
                  pointer_attribute<unsigned long long>(driver, CU_POINTER_ATTRIBUTE_BUFFER_ID, again) != first_id, Source::header);
  driver.cuMemFree_v2(again);
  int on_stack = 0;
  pointer_attribute<unsigned>(driver, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(&on_stack), &code);
  observer.expect("attribute_of_host_memory", code, CUDA_ERROR_INVALID_VALUE, Source::header);
  pointer_attribute<unsigned>(driver, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, again, &code);
  observer.expect("attribute_of_freed_memory", code, CUDA_ERROR_INVALID_VALUE, Source::header);
}

void observe_plural_attributes(const Driver& driver, Observer& observer) {
  CUdeviceptr pointer = 0;
  driver.cuMemAlloc_v2(&pointer, 4096);
  unsigned type = 99, managed = 99;
  CUdeviceptr start = 1;
  std::array<CUpointer_attribute, 3> which{CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                           CU_POINTER_ATTRIBUTE_RANGE_START_ADDR};
  std::array<void*, 3> out{&type, &managed, &start};
  observer.expect("plural", driver.cuPointerGetAttributes(3, which.data(), out.data(), pointer + 1), CUDA_SUCCESS, Source::header);
  observer.expect("plural_values", type == CU_MEMORYTYPE_DEVICE && managed == 0 && start == pointer, Source::header);
  int on_stack = 0;
  observer.expect("plural_host",
                  driver.cuPointerGetAttributes(3, which.data(), out.data(), reinterpret_cast<CUdeviceptr>(&on_stack)),
                  CUDA_SUCCESS, Source::header);
  observer.expect("plural_host_defaults", type == 0 && managed == 0 && start == 0, Source::header);
  observer.expect("plural_null", driver.cuPointerGetAttributes(3, nullptr, out.data(), pointer), CUDA_ERROR_INVALID_VALUE,
                  Source::header);
  observer.open("plural_none", driver.cuPointerGetAttributes(0, which.data(), out.data(), pointer));
  driver.cuMemFree_v2(pointer);
}

void observe_churn(const Driver& driver, Observer& observer) {
  std::vector<CUdeviceptr> blocks;
  bool all = true, disjoint = true;
  for (std::size_t index = 0; index < 64; ++index) {
    CUdeviceptr pointer = 0;
    all &= driver.cuMemAlloc_v2(&pointer, 1 + index * 7919) == CUDA_SUCCESS;
    for (std::size_t other = 0; other < blocks.size(); ++other) {
      disjoint &= pointer + 1 + index * 7919 <= blocks[other] || blocks[other] + 1 + other * 7919 <= pointer;
    }
    blocks.push_back(pointer);
  }
  observer.expect("many_blocks", all, Source::header);
  observer.expect("many_blocks_do_not_overlap", disjoint, Source::header);
  bool freed = true;
  for (std::size_t index = 0; index < blocks.size(); ++index)
    freed &= driver.cuMemFree_v2(blocks[(index * 37) % blocks.size()]) == CUDA_SUCCESS;
  observer.expect("many_blocks_freed_in_any_order", freed, Source::header);
}

}  // namespace

void observe_memory(const Driver& driver, Observer& observer) {
  observer.area("memory");
  observe_allocation(driver, observer);
  observe_info(driver, observer);
  observe_pitch(driver, observer);
  observe_range(driver, observer);
  observe_attributes(driver, observer);
  observe_plural_attributes(driver, observer);
  observe_churn(driver, observer);
}

}  // namespace contract
