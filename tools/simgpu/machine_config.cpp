// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/machine_config.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "policy/base/units.h"
#include "tools/simgpu/device_model.h"
#include "tools/simgpu/page_table.h"
#include "tools/simgpu/server/protocol.h"

namespace cupool::simgpu {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool parse_count(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

// FNV-1a: only to spread names over identifiers.
std::uint64_t hash(std::string_view text, std::uint64_t seed) {
  std::uint64_t value = 0xcbf29ce484222325 ^ seed;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return value;
}

std::array<std::uint8_t, 16> make_uuid(std::string_view seed, std::string_view model, std::size_t ordinal) {
  std::array<std::uint8_t, 16> uuid{};
  const std::string text = std::string(seed) + '/' + std::string(model) + '/' + std::to_string(ordinal);
  const std::uint64_t halves[2] = {hash(text, 1), hash(text, 2)};
  for (std::size_t i = 0; i < 16; ++i) uuid[i] = static_cast<std::uint8_t>(halves[i / 8] >> (8 * (i % 8)));
  uuid[6] = static_cast<std::uint8_t>((uuid[6] & 0x0f) | 0x50);  // RFC 4122: version 5 (made from a name), variant 1
  uuid[8] = static_cast<std::uint8_t>((uuid[8] & 0x3f) | 0x80);
  return uuid;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

Result<Done> add_group(std::string_view group, MachineConfig& machine, std::string& message) {
  std::uint64_t count = 1;
  std::string_view model = group;
  const std::size_t cross = group.find('x');
  if (parse_count(group, count)) {
    model = default_model().key;
  } else if (cross != std::string_view::npos && parse_count(group.substr(0, cross), count)) {
    model = group.substr(cross + 1);
  }
  const DeviceModel* found = find_model(lower_case(model));
  if (found == nullptr) {
    message = "SIMGPU_GPUS: no model is called \"" + std::string(model) + "\" (there are: " + model_keys() + ")";
    return fail(Errc::not_found);
  }
  if (machine.gpus.size() + count > protocol::kMaxGpus) {
    message = "SIMGPU_GPUS: at most " + std::to_string(protocol::kMaxGpus) + " GPUs can be simulated";
    return fail(Errc::malformed);
  }
  for (; count > 0; --count) machine.gpus.push_back(GpuConfig{found->key, found->total_bytes, {}});
  return Done{};
}

Result<Done> set_memory(std::string_view memory, MachineConfig& machine, std::string& message) {
  const std::vector<std::string_view> parts = split(memory, ',');
  if (parts.size() != 1 && parts.size() != machine.gpus.size()) {
    message = "SIMGPU_MEMORY: one size, or one for each of the " + std::to_string(machine.gpus.size()) + " GPUs";
    return fail(Errc::malformed);
  }
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const std::string_view text = trimmed(parts[parts.size() == 1 ? 0 : i]);
    const Result<std::uint64_t> size = parse_size(text);
    if (!size || *size == 0 || *size % kDevicePage != 0) {
      message = "SIMGPU_MEMORY: \"" + std::string(text) + "\" is not a size (a multiple of 2 MiB, such as 16GiB or 512MiB)";
      return fail(Errc::malformed);
    }
    machine.gpus[i].total = *size;
  }
  return Done{};
}

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  std::size_t digits = 0;
  while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])) != 0) ++digits;
  std::uint64_t number = 0;
  if (!parse_count(text.substr(0, digits), number)) return fail(Errc::malformed);
  const std::string_view unit = trimmed(text.substr(digits));
  std::uint64_t factor = 1;
  if (unit == "KiB")
    factor = kKiB.count;
  else if (unit == "MiB")
    factor = kMiB.count;
  else if (unit == "GiB")
    factor = kGiB.count;
  else if (!unit.empty() && unit != "B")
    return fail(Errc::malformed);
  const auto bytes = checked_mul(number, factor);
  return bytes ? Result<std::uint64_t>{*bytes} : fail(Errc::overflow);
}

Result<MachineConfig> parse_machine(std::string_view gpus, std::string_view memory, std::string_view seed, std::string& message) {
  MachineConfig machine;
  for (const std::string_view group : split(trimmed(gpus).empty() ? std::string_view{"1"} : gpus, ',')) {
    if (auto added = add_group(trimmed(group), machine, message); !added) return tl::unexpected(added.error());
  }
  if (!trimmed(memory).empty()) {
    if (auto set = set_memory(memory, machine, message); !set) return tl::unexpected(set.error());
  }
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) machine.gpus[i].uuid = make_uuid(seed, machine.gpus[i].model, i);
  return machine;
}

std::string machine_directory() {
  const std::string chosen = environment("SIMGPU_DIR");
  if (!chosen.empty()) return chosen;
  const std::string runtime = environment("XDG_RUNTIME_DIR");
  const std::string settings = std::string(environment("SIMGPU_GPUS")) + ';' + environment("SIMGPU_MEMORY");
  char name[64];
  std::snprintf(name, sizeof name, "/simgpu-%u-%08x", static_cast<unsigned>(getuid()), static_cast<unsigned>(hash(settings, 0)));
  return (runtime.empty() ? std::string("/tmp") : runtime) + name;
}

}  // namespace cupool::simgpu
