// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/read_scope.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <optional>
#include <thread>
#include <vector>

namespace cupool::simgpu {
namespace {

std::atomic<int> g_given_up{0};
void count(void*, std::size_t) {
  ++g_given_up;
}

// The current piece of memory that readers use; replaced and retired by a writer.
std::atomic<std::atomic<int>*> g_shared{nullptr};
void spoil_and_delete(void* memory, std::size_t) {
  auto* value = static_cast<std::atomic<int>*>(memory);
  value->store(-1);
  delete value;
}

}  // namespace

TEST_CASE("what is retired while nobody reads is given up at once", "[simgpu][read_scope]") {
  g_given_up = 0;
  retire(&g_given_up, 1, &count);
  CHECK(g_given_up == 1);
  CHECK(retired_bytes() == 0);
}

TEST_CASE("what is retired under an open scope waits for it, not for later ones", "[simgpu][read_scope]") {
  g_given_up = 0;
  {
    std::optional<ReadScope> early{std::in_place};
    retire(&g_given_up, 7, &count);
    CHECK(g_given_up == 0);
    CHECK(retired_bytes() == 7);
    std::thread([&] {
      const ReadScope late;
      CHECK(g_given_up == 0);
    }).join();
    CHECK(g_given_up == 0);
    const ReadScope nested;
    early.reset();
    CHECK(g_given_up == 0);  // the inner scope belongs to the same thread
  }
  CHECK(g_given_up == 1);
}

TEST_CASE("readers never meet memory that was given up", "[simgpu][read_scope]") {
  constexpr int kRounds = 20'000;
  g_shared = new std::atomic<int>{1};
  std::atomic<bool> stop{false};
  std::atomic<int> bad{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        const ReadScope scope;
        if (g_shared.load()->load() != 1) ++bad;
      }
    });
  }
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<int>* old = g_shared.exchange(new std::atomic<int>{1});
    retire(old, sizeof *old, &spoil_and_delete);
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  CHECK(bad == 0);
  retire(g_shared.load(), sizeof(int), &spoil_and_delete);
  CHECK(retired_bytes() == 0);
}

}  // namespace cupool::simgpu
