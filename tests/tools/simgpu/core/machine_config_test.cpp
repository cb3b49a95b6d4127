// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/machine_config.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "tools/simgpu/device.h"

namespace cupool::simgpu {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

MachineConfig machine(std::string_view gpus, std::string_view memory = "", std::string_view seed = "seed") {
  std::string message;
  auto parsed = parse_machine(gpus, memory, seed, message);
  INFO(message);
  REQUIRE(parsed);
  return *parsed;
}

std::string refusal(std::string_view gpus, std::string_view memory = "") {
  std::string message;
  CHECK_FALSE(parse_machine(gpus, memory, "", message));
  return message;
}

protocol::Machine of(const MachineConfig& config) {
  protocol::Machine machine{};
  machine.gpu_count = static_cast<std::uint32_t>(config.gpus.size());
  for (std::size_t i = 0; i < config.gpus.size(); ++i) {
    std::strcpy(machine.gpus[i].model, config.gpus[i].model.c_str());
    machine.gpus[i].total = config.gpus[i].total;
    std::memcpy(machine.gpus[i].uuid, config.gpus[i].uuid.data(), 16);
  }
  return machine;
}

std::string visible(const protocol::Machine& machine, const char* variable) {
  std::string text;
  for (const Device& device : visible_devices(machine, variable)) text += std::to_string(device.gpu);
  return text;
}

}  // namespace

TEST_CASE("GPUs are named by model, count or both", "[simgpu][config]") {
  CHECK(machine("").gpus.size() == 1);
  CHECK(machine("3").gpus.size() == 3);
  const MachineConfig mixed = machine("H200, 2xa100");
  REQUIRE(mixed.gpus.size() == 3);
  CHECK(mixed.gpus[0].model == "h200");
  CHECK(mixed.gpus[2].model == "a100");
  CHECK(machine("rtx4090").gpus[0].model == "rtx4090");
}

TEST_CASE("memory is the model's, one size for all, or one each", "[simgpu][config]") {
  CHECK(machine("h200").gpus[0].total == 143156 * kMiB);
  CHECK(machine("2", "16GiB").gpus[1].total == 16384 * kMiB);
  CHECK(machine("2", "1GiB,512MiB").gpus[1].total == 512 * kMiB);
}

TEST_CASE("a wrong setting is named with its remedy", "[simgpu][config]") {
  CHECK(refusal("v100").find("\"v100\"") != std::string::npos);
  CHECK(refusal("v100").find("h200") != std::string::npos);
  CHECK(refusal("11").find("at most 10") != std::string::npos);
  CHECK(refusal("", "16GB").find("\"16GB\"") != std::string::npos);
  CHECK(refusal("", "1MiB").find("2 MiB") != std::string::npos);
  CHECK(refusal("2", "1GiB,1GiB,1GiB").find("each of the 2 GPUs") != std::string::npos);
}

TEST_CASE("UUIDs are stable, and differ between GPUs and machines", "[simgpu][config]") {
  CHECK(machine("2").gpus[0].uuid == machine("2").gpus[0].uuid);
  CHECK(machine("2").gpus[0].uuid != machine("2").gpus[1].uuid);
  CHECK(machine("2", "", "a").gpus[0].uuid != machine("2", "", "b").gpus[0].uuid);
}

TEST_CASE("CUDA_VISIBLE_DEVICES selects and orders, and stops at the first unknown entry", "[simgpu][config]") {
  const protocol::Machine four = of(machine("4xa100"));
  CHECK(visible(four, nullptr) == "0123");
  CHECK(visible(four, "2,3") == "23");
  CHECK(visible(four, "3,0") == "30");
  CHECK(visible(four, " 1 ,2") == "12");
  CHECK(visible(four, "1,9,2") == "1");
  CHECK(visible(four, "").empty());
  CHECK(visible(four, "-1").empty());
  CHECK(visible(four, "1,1").empty());
  CHECK(visible(four, "1,x").compare("1") == 0);
}

TEST_CASE("a device is also named by its UUID or a prefix that only it has", "[simgpu][config]") {
  const protocol::Machine four = of(machine("4xa100"));
  const std::vector<Device> all = visible_devices(four, nullptr);
  CHECK(visible(four, (all[2].uuid_text() + "," + all[0].uuid_text()).c_str()) == "20");
  CHECK(visible(four, all[1].uuid_text().substr(0, 14).c_str()) == "1");
  CHECK(visible(four, "GPU-").empty());
}

TEST_CASE("visible devices are numbered from 0 and keep their identity", "[simgpu][config]") {
  const protocol::Machine four = of(machine("4xa100"));
  const std::vector<Device> all = visible_devices(four, nullptr);
  const std::vector<Device> two = visible_devices(four, "3,1");
  REQUIRE(two.size() == 2);
  CHECK(two[0].ordinal == 0);
  CHECK(two[0].pci_id() == all[3].pci_id());
  CHECK(two[1].uuid_text() == all[1].uuid_text());
  CHECK(all[0].pci_id() != all[1].pci_id());
}

}  // namespace cupool::simgpu
