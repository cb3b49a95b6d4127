// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/exec/copy_job.h"

#include <algorithm>
#include <cstring>

#include "tools/simgpu/context.h"
#include "tools/simgpu/memory.h"
#include "tools/simgpu/read_scope.h"
#include "tools/simgpu/virtual_memory.h"

namespace cupool::simgpu {
namespace {

/// Host memory behind a stretch of one side.
struct Stretch {
  std::byte* host = nullptr;
  std::uint64_t length = 0;
};

/// Walks one side of a copy. A copy between devices need not be able to reach the other's linear memory: the driver reaches it for
/// it.
class Walker {
 public:
  Walker(const CopySide& side, Access access)
      : access_(access),
        is_host_(side.space == CopySide::Space::host || (!is_device_side(side) && is_pageable(side))),
        gpu_(side.context->device().gpu) {}

  Stretch at(std::uint64_t address, std::uint64_t wanted) {
    if (is_host_) return {reinterpret_cast<std::byte*>(address), wanted};
    std::byte* host = page_table().translate(address, gpu_, access_);
    if (host == nullptr && adopt_owner(address)) host = page_table().translate(address, gpu_, access_);
    if (host == nullptr) return {};
    const std::uint64_t page = page_table().in_device_range(address) ? kDevicePage : kHostPage;
    return {host, std::min(wanted, page - (address & (page - 1)))};
  }

 private:
  bool adopt_owner(std::uint64_t address) {
    const std::optional<Block> block = memory().find(address);
    if (!block || block->device == nullptr || block->device->gpu == gpu_) return false;
    gpu_ = block->device->gpu;
    return true;
  }

  const Access access_;
  const bool is_host_;
  std::uint32_t gpu_;
};

bool copy_row(Walker& from, std::uint64_t source, Walker& to, std::uint64_t target, std::uint64_t bytes) {
  while (bytes > 0) {
    const Stretch read = from.at(source, bytes);
    if (read.host == nullptr) return false;
    const Stretch write = to.at(target, read.length);
    if (write.host == nullptr) return false;
    std::memmove(write.host, read.host, write.length);
    source += write.length;
    target += write.length;
    bytes -= write.length;
  }
  return true;
}

void fill(std::byte* host, std::uint64_t bytes, unsigned value, unsigned size) {
  if (size == 1) {
    std::memset(host, static_cast<int>(value & 0xff), bytes);
    return;
  }
  for (std::uint64_t at = 0; at < bytes; at += size) std::memcpy(host + at, &value, size);
}

// Rows and layers that follow one another without a gap on both sides are one long row.
void merge_rows(CopyJob& job) {
  if (job.height > 1 && job.from.pitch == job.width && job.to.pitch == job.width) {
    const bool layers_too = job.depth == 1 || (job.from.layer == job.width * job.height && job.to.layer == job.width * job.height);
    job.width *= job.height;
    job.height = 1;
    if (!layers_too) return;
  }
  if (job.height == 1 && job.depth > 1 && job.from.layer == job.width && job.to.layer == job.width) {
    job.width *= job.depth;
    job.depth = 1;
  }
}

}  // namespace

bool is_device_side(const CopySide& side) {
  return side.space == CopySide::Space::device ||
         (side.space == CopySide::Space::unified && page_table().in_device_range(side.address));
}

bool is_pageable(const CopySide& side) {
  if (is_device_side(side)) return false;
  return page_table().translate(side.address, side.context->device().gpu, Access::read) == nullptr;
}

Reach reach_of(std::uint64_t address, std::uint64_t bytes) {
  if (!page_table().in_device_range(address)) return Reach::inside;
  if (const std::optional<Block> block = memory().find(address); block) {
    return bytes <= block->base + block->size - address ? Reach::inside : Reach::beyond_end;
  }
  const auto place = virtual_memory().find(address);
  return place && place->is_mapped ? Reach::inside : Reach::stray;
}

Reach reach_of(const CopySide& side, const CopyJob& job) {
  if (side.space == CopySide::Space::host || job.bytes() == 0) return Reach::inside;
  return reach_of(side.address, (job.depth - 1) * side.layer + (job.height - 1) * side.pitch + job.width);
}

CopyPath path_of(const CopyJob& job) {
  const bool from_device = page_table().in_device_range(job.from.address);
  const bool to_device = page_table().in_device_range(job.to.address);
  if (from_device && to_device) return job.from.context != job.to.context ? CopyPath::peer : CopyPath::device_to_device;
  return from_device ? CopyPath::device_to_host : CopyPath::host_to_device;
}

CopyJob flat_copy(CopySide::Space to_space, std::uint64_t to, CopySide::Space from_space, std::uint64_t from, std::uint64_t bytes,
                  Context& context) {
  CopyJob job;
  job.from = {from_space, from, bytes, bytes, &context};
  job.to = {to_space, to, bytes, bytes, &context};
  job.width = bytes;
  return job;
}

void stage_source(CopyJob& job) {
  auto copy = std::make_shared<std::vector<std::byte>>(job.bytes());
  CopyJob now = job;
  now.to = {CopySide::Space::host, reinterpret_cast<std::uint64_t>(copy->data()), job.width, job.width * job.height,
            job.from.context};
  perform(now);
  job.from = now.to;
  job.staged = std::move(copy);
}

CUresult perform(const CopyJob& whole) {
  if (whole.bytes() == 0) return CUDA_SUCCESS;
  if (whole.is_stray) return CUDA_ERROR_ILLEGAL_ADDRESS;
  CopyJob job = whole;
  merge_rows(job);
  const ReadScope scope;
  Walker from(job.from, Access::read);
  Walker to(job.to, Access::write);
  for (std::uint64_t layer = 0; layer < job.depth; ++layer) {
    for (std::uint64_t row = 0; row < job.height; ++row) {
      const std::uint64_t source = job.from.address + layer * job.from.layer + row * job.from.pitch;
      const std::uint64_t target = job.to.address + layer * job.to.layer + row * job.to.pitch;
      if (!copy_row(from, source, to, target, job.width)) return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
  }
  return CUDA_SUCCESS;
}

CUresult perform_set(const CUDA_MEMSET_NODE_PARAMS& set, Context& context) {
  const ReadScope scope;
  CopySide side;
  side.space = CopySide::Space::device;
  side.context = &context;
  Walker to(side, Access::write);
  for (std::size_t row = 0; row < set.height; ++row) {
    std::uint64_t target = set.dst + row * set.pitch;
    std::uint64_t left = set.width * set.elementSize;
    while (left > 0) {
      const Stretch write = to.at(target, left);
      if (write.host == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
      fill(write.host, write.length, set.value, set.elementSize);
      target += write.length;
      left -= write.length;
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace cupool::simgpu
