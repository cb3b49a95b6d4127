// SPDX-License-Identifier: Apache-2.0
#include "shim/driver_backing.h"

#include <algorithm>
#include <iterator>

#include "shim/capture.h"
#include "shim/real_driver.h"
#include "shim/translate.h"

namespace cupool::shim {
namespace {

CUdeviceptr pointer(pool::Address at) {
  return static_cast<CUdeviceptr>(at.value);
}
CUmemGenericAllocationHandle raw(pool::HandleId handle) {
  return static_cast<CUmemGenericAllocationHandle>(handle);
}

int attribute(CUdevice_attribute which, CUdevice device) {
  int value = 0;
  return driver::cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

bool has_virtual_memory() {
  return driver::cuMemCreate.exists() && driver::cuMemAddressReserve.exists() && driver::cuMemMap.exists() &&
         driver::cuMemSetAccess.exists() && driver::cuMemUnmap.exists() && driver::cuMemRelease.exists() &&
         driver::cuMemAddressFree.exists() && driver::cuMemGetAllocationGranularity.exists();
}

}  // namespace

DriverBacking::DriverBacking(CUdevice device) : device_(device) {
  if (!has_virtual_memory() || attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device) == 0) return;
  if (attribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, device) != 0) {
    handle_type_.store(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, std::memory_order_relaxed);
  }
  rdma_.store(attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, device) != 0, std::memory_order_relaxed);
  std::size_t granularity = 0;
  const CUmemAllocationProp wanted = properties();
  if (driver::cuMemGetAllocationGranularity(&granularity, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM) == CUDA_SUCCESS) {
    granularity_ = Bytes{granularity};
  }
}

CUmemAllocationProp DriverBacking::properties() const {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(handle_type_.load(std::memory_order_relaxed));
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device_;
  properties.allocFlags.gpuDirectRDMACapable = rdma_.load(std::memory_order_relaxed) ? 1 : 0;
  return properties;
}

Result<Done> DriverBacking::outcome(CUresult code) {
  calls_.fetch_add(1, std::memory_order_relaxed);
  if (code == CUDA_SUCCESS) return Done{};
  if (is_fatal_to_context(code)) lost_.store(true, std::memory_order_relaxed);
  return fail(errc_of(code), "a driver call on the pool's memory failed");
}

Result<pool::Address> DriverBacking::reserve(Bytes size, Bytes alignment) {
  CUdeviceptr at = 0;
  const RelaxedCapture relaxed;
  const CUresult code = driver::cuMemAddressReserve(&at, size.count, alignment.count, 0, 0);
  if (const Result<Done> done = outcome(code); !done) {
    return fail(code == CUDA_ERROR_OUT_OF_MEMORY ? Errc::no_space : done.error().code, "no address range could be reserved");
  }
  pool::RankedLock lock(mutex_);
  reserved_[at] = size.count;
  return pool::Address{at};
}

bool DriverBacking::is_inside(pool::Address at) const {
  pool::RankedLock lock(mutex_);
  const auto above = reserved_.upper_bound(at.value);
  return above != reserved_.begin() && at.value - std::prev(above)->first < std::prev(above)->second;
}

CUresult DriverBacking::create_with_fallback(CUmemGenericAllocationHandle* handle, std::size_t size) {
  CUmemAllocationProp wanted = properties();
  CUresult code = driver::cuMemCreate(handle, size, &wanted, 0);
  // Out of memory is an answer; anything else may be about the flags: drop one after the other.
  if (code != CUDA_SUCCESS && code != CUDA_ERROR_OUT_OF_MEMORY && !is_fatal_to_context(code) &&
      wanted.allocFlags.gpuDirectRDMACapable != 0) {
    rdma_.store(false, std::memory_order_relaxed);
    wanted = properties();
    code = driver::cuMemCreate(handle, size, &wanted, 0);
  }
  if (code != CUDA_SUCCESS && code != CUDA_ERROR_OUT_OF_MEMORY && !is_fatal_to_context(code) &&
      wanted.requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE) {
    handle_type_.store(CU_MEM_HANDLE_TYPE_NONE, std::memory_order_relaxed);
    wanted = properties();
    code = driver::cuMemCreate(handle, size, &wanted, 0);
  }
  return code;
}

Result<pool::HandleId> DriverBacking::create(Bytes size) {
  if (lost_.load(std::memory_order_relaxed)) return fail(Errc::driver, "the context is lost");
  CUmemGenericAllocationHandle handle = 0;
  const RelaxedCapture relaxed;
  if (const Result<Done> done = outcome(create_with_fallback(&handle, size.count)); !done) return tl::unexpected(done.error());
  return pool::HandleId{handle};
}

CUresult DriverBacking::set_access(pool::Address at, Bytes length) {
  std::vector<CUmemAccessDesc> access;
  {
    pool::RankedLock lock(mutex_);
    access.resize(1 + peers_.size());
    for (std::size_t index = 0; index < peers_.size(); ++index) access[index + 1].location.id = peers_[index];
  }
  access[0].location.id = device_;
  for (CUmemAccessDesc& entry : access) {
    entry.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    entry.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  }
  return driver::cuMemSetAccess(pointer(at), length.count, access.data(), access.size());
}

Result<Done> DriverBacking::map(pool::Address at, Bytes size, std::span<const pool::HandleId> handles) {
  if (lost_.load(std::memory_order_relaxed)) return fail(Errc::driver, "the context is lost");
  const RelaxedCapture relaxed;
  CUresult code = CUDA_SUCCESS;
  std::size_t mapped = 0;
  for (; mapped < handles.size() && code == CUDA_SUCCESS; ++mapped) {
    code = driver::cuMemMap(pointer(at + size * mapped), size.count, 0, raw(handles[mapped]), 0);
    calls_.fetch_add(1, std::memory_order_relaxed);
    if (code != CUDA_SUCCESS) break;
  }
  if (code == CUDA_SUCCESS) code = set_access(at, size * handles.size());
  const Result<Done> done = outcome(code);
  // All or nothing: what was mapped before the failure goes again.
  if (!done) {
    if (mapped != 0) driver::cuMemUnmap(pointer(at), size.count * mapped);
    return done;
  }
  pool::RankedLock lock(mutex_);
  for (std::size_t index = 0; index < handles.size(); ++index) mapped_[(at + size * index).value] = size.count;
  return done;
}

Result<Done> DriverBacking::unmap(pool::Address at, Bytes length) {
  if (lost_.load(std::memory_order_relaxed)) return fail(Errc::driver, "the context is lost");
  if (OpenCaptures::any()) return fail(Errc::busy, "a stream capture is open");
  const RelaxedCapture relaxed;
  const Result<Done> done = outcome(driver::cuMemUnmap(pointer(at), length.count));
  if (!done) return done;
  pool::RankedLock lock(mutex_);
  mapped_.erase(mapped_.lower_bound(at.value), mapped_.lower_bound((at + length).value));
  return done;
}

Result<Done> DriverBacking::release(pool::HandleId handle) {
  if (lost_.load(std::memory_order_relaxed)) return fail(Errc::driver, "the context is lost");
  const RelaxedCapture relaxed;
  return outcome(driver::cuMemRelease(raw(handle)));
}

Result<Done> DriverBacking::free_range(pool::Address at, Bytes size) {
  if (lost_.load(std::memory_order_relaxed)) return fail(Errc::driver, "the context is lost");
  const RelaxedCapture relaxed;
  const Result<Done> done = outcome(driver::cuMemAddressFree(pointer(at), size.count));
  if (!done) return done;
  pool::RankedLock lock(mutex_);
  reserved_.erase(at.value);
  return done;
}

void DriverBacking::open_mapped_to(CUdevice peer) {
  std::map<std::uint64_t, std::uint64_t> mapped;
  {
    pool::RankedLock lock(mutex_);
    mapped = mapped_;
  }
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = peer;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const RelaxedCapture relaxed;
  for (const auto& [start, length] : mapped) outcome(driver::cuMemSetAccess(start, length, &access, 1));
}

void DriverBacking::add_peer(CUdevice peer) {
  {
    pool::RankedLock lock(mutex_);
    if (peer == device_ || std::find(peers_.begin(), peers_.end(), peer) != peers_.end()) return;
    peers_.push_back(peer);
  }
  open_mapped_to(peer);
}

Result<int> DriverBacking::export_handle(pool::HandleId handle) {
  if (!exports()) return fail(Errc::unsupported, "this device's handles cannot be shared");
  int descriptor = -1;
  const RelaxedCapture relaxed;
  const CUresult code = driver::cuMemExportToShareableHandle(&descriptor, raw(handle), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  if (const Result<Done> done = outcome(code); !done) return tl::unexpected(done.error());
  return descriptor;
}

}  // namespace cupool::shim
