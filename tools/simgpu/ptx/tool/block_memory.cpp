// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/tool/block_memory.h"

#include <cstdio>
#include <cstring>

namespace cupool::simgpu::ptx {
namespace {

constexpr std::uint64_t kPage = 4096;

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

std::uint64_t BlockMemory::allocate(std::size_t bytes, bool writable) {
  Block block;
  block.bytes = bytes;
  block.pages = (bytes + kPage - 1) / kPage;
  block.writable = writable;
  block.storage.resize((block.pages + 1) * kPage);
  const auto raw = reinterpret_cast<std::uintptr_t>(block.storage.data());
  block.base = block.storage.data() + ((kPage - raw % kPage) % kPage);
  const std::uint64_t address = next_;
  next_ += (block.pages + 1) * kPage;  // an unmapped page between any two
  blocks_.emplace(address, std::move(block));
  return address;
}

void BlockMemory::release(std::uint64_t address, bool keep_mapped) {
  if (keep_mapped)
    blocks_.at(address).live = false;
  else
    blocks_.erase(address);
}

std::byte* BlockMemory::host(std::uint64_t address) {
  const auto next = blocks_.upper_bound(address);
  if (next == blocks_.begin()) return nullptr;
  const auto& [begin, block] = *std::prev(next);
  return address < begin + block.bytes ? block.base + (address - begin) : nullptr;
}

std::shared_ptr<Instance> BlockMemory::instantiate(const Program& program) {
  std::vector<std::uint64_t> addresses;
  for (const GlobalInfo& global : program.globals()) addresses.push_back(allocate(global.size, !global.constant));
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto bytes = program.initial_bytes(i, addresses);
    if (!bytes.empty()) std::memcpy(host(addresses[i]), bytes.data(), bytes.size());
  }
  return program.instantiate(std::move(addresses));
}

std::optional<Window> BlockMemory::find(std::uint64_t address) {
  const auto next = blocks_.upper_bound(address);
  if (next == blocks_.begin()) return std::nullopt;
  const auto& [begin, block] = *std::prev(next);
  if (address >= begin + block.pages * kPage) return std::nullopt;
  return Window{begin, begin + block.pages * kPage, block.base, true, block.writable};
}

BlockReport BlockMemory::check(std::uint64_t address, std::uint32_t size, bool write) {
  const auto next = blocks_.upper_bound(address);
  if (next == blocks_.begin()) return BlockReport{};
  const auto& [begin, block] = *std::prev(next);
  const bool inside = block.live && address + size <= begin + block.bytes && (block.writable || !write);
  if (inside) return BlockReport{.inside = true, .neighbour = {}};
  const std::string name = (block.live ? "block " : "freed block ") + hex(begin) + " (" + std::to_string(block.bytes) + " bytes)";
  if (address < begin + block.bytes) return BlockReport{.inside = false, .neighbour = "inside of " + name};
  return BlockReport{.inside = false,
                     .neighbour = std::to_string(address - begin - block.bytes) + " bytes past the end of " + name};
}

}  // namespace cupool::simgpu::ptx
