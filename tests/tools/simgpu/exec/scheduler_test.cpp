// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/exec/scheduler.h"

#include <xmmintrin.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "tools/simgpu/exec/stream.h"

using namespace cupool::simgpu;

namespace {

Order doing(Action action, std::uint64_t cost_ns = 0) {
  Order order;
  order.action = std::move(action);
  order.cost_ns = cost_ns;
  return order;
}

// Blocks its worker until the test lets it go.
struct Gate {
  std::atomic<bool> open{false};
  std::atomic<bool> entered{false};
  Action pass() {
    return [this] {
      entered = true;
      while (!open) std::this_thread::yield();
      return Outcome::done();
    };
  }
  void await_entered() const {
    while (!entered) std::this_thread::yield();
  }
};

}  // namespace

TEST_CASE("a marker on idle queues is done at once and starts no thread", "[simgpu][order]") {
  Scheduler scheduler;
  const Fence fence = scheduler.submit(Order{}, {});
  CHECK(fence.is_done());
  CHECK(scheduler.workers() == 0);
}

TEST_CASE("a synchronous piece runs on the calling thread", "[simgpu][order]") {
  Scheduler scheduler;
  StreamGroup group(scheduler, std::make_shared<FailureDomain>());
  std::thread::id ran_on;
  CHECK(group.run(group.legacy(), doing([&] {
                    ran_on = std::this_thread::get_id();
                    return Outcome::done();
                  })) == 0);
  CHECK(ran_on == std::this_thread::get_id());
  CHECK(scheduler.workers() == 0);
}

TEST_CASE("work goes on although nobody waits for it", "[simgpu][order]") {
  Scheduler scheduler;
  std::atomic<bool> ran{false};
  const Fence fence = scheduler.submit(doing([&] {
                                         ran = true;
                                         return Outcome::done();
                                       }),
                                       {});
  while (!ran) std::this_thread::yield();
  scheduler.wait(fence);
  CHECK(fence.is_done());
}

TEST_CASE("a waiting host thread is not caught by work of another stream", "[simgpu][order]") {
  Scheduler scheduler;
  StreamGroup group(scheduler, std::make_shared<FailureDomain>());
  auto endless = group.make(StreamKind::non_blocking, 0);
  auto other = group.make(StreamKind::non_blocking, 0);
  Gate gate;
  group.submit(*endless, doing(gate.pass()));
  group.submit(*other, doing([] { return Outcome::done(); }));
  group.wait(*other);  // would never return if this thread had taken the gate
  CHECK_FALSE(gate.open);
  gate.open = true;
  group.wait_all();
}

TEST_CASE("kernels that wait for one another all get to run", "[simgpu][order]") {
  Scheduler scheduler;
  StreamGroup group(scheduler, std::make_shared<FailureDomain>());
  std::atomic<int> arrived{0};
  std::vector<std::unique_ptr<StreamQueue>> queues;
  for (int i = 0; i < Scheduler::kMaxWorkers; ++i) {
    queues.push_back(group.make(StreamKind::non_blocking, 0));
    group.submit(*queues.back(), doing([&] {
      ++arrived;
      while (arrived < Scheduler::kMaxWorkers) std::this_thread::yield();
      return Outcome::done();
    }));
  }
  group.wait_all();
  CHECK(arrived == Scheduler::kMaxWorkers);
}

TEST_CASE("a host function that blocks does not hold up the device", "[simgpu][order]") {
  Scheduler scheduler;
  StreamGroup group(scheduler, std::make_shared<FailureDomain>());
  auto with_callback = group.make(StreamKind::non_blocking, 0);
  auto plain = group.make(StreamKind::non_blocking, 0);
  Gate gate;
  Order callback = doing(gate.pass());
  callback.on_host_thread = true;
  group.submit(*with_callback, std::move(callback));
  gate.await_entered();
  for (int i = 0; i < 100; ++i) group.submit(*plain, doing([] { return Outcome::done(); }));
  group.wait(*plain);
  CHECK_FALSE(group.is_idle(*with_callback));
  gate.open = true;
  group.wait_all();
}

TEST_CASE("of two ready pieces the one with the greater priority runs first", "[simgpu][order]") {
  Scheduler scheduler;
  StreamGroup group(scheduler, std::make_shared<FailureDomain>());
  std::vector<std::unique_ptr<StreamQueue>> blockers;
  std::vector<Gate> gates(Scheduler::kMaxWorkers);
  for (Gate& gate : gates) {
    blockers.push_back(group.make(StreamKind::non_blocking, 0));
    group.submit(*blockers.back(), doing(gate.pass()));
    gate.await_entered();
  }
  auto low = group.make(StreamKind::non_blocking, 0);
  auto high = group.make(StreamKind::non_blocking, Scheduler::kGreatestPriority);
  std::atomic<int> turn{0};
  int low_turn = 0;
  int high_turn = 0;
  group.submit(*low, doing([&] { return low_turn = ++turn, Outcome::done(); }));
  group.submit(*high, doing([&] { return high_turn = ++turn, Outcome::done(); }));
  gates[0].open = true;
  while (turn < 2) std::this_thread::yield();
  for (Gate& gate : gates) gate.open = true;
  group.wait_all();
  CHECK(high_turn == 1);
  CHECK(low_turn == 2);
}

TEST_CASE("after a failure the rest of that domain is dropped, in order, and others go on", "[simgpu][order]") {
  Scheduler scheduler;
  StreamGroup bad(scheduler, std::make_shared<FailureDomain>());
  StreamGroup good(scheduler, std::make_shared<FailureDomain>());
  std::atomic<int> ran{0};
  bad.submit(bad.legacy(), doing([] { return Outcome::failed(700); }));
  bad.submit(bad.legacy(), doing([&] { return ++ran, Outcome::done(); }));
  bad.wait_all();
  CHECK(bad.domain().code() == 700);
  CHECK(ran == 0);
  CHECK(good.run(good.legacy(), doing([&] { return ++ran, Outcome::done(); })) == 0);
  CHECK(ran == 1);
}

TEST_CASE("the first failure of a domain is the one that stays", "[simgpu][order]") {
  FailureDomain domain;
  domain.fail(700);
  domain.fail(719);
  CHECK(domain.code() == 700);
}

TEST_CASE("what an action holds is released before its work counts as done", "[simgpu][order]") {
  Scheduler scheduler;
  auto held = std::make_shared<int>(1);
  std::weak_ptr<int> watch = held;
  const Fence fence = scheduler.submit(doing([held = std::move(held)] { return Outcome::done(); }), {});
  scheduler.wait(fence);
  CHECK(watch.expired());
}

TEST_CASE("a condition is asked again until it holds", "[simgpu][order]") {
  Scheduler scheduler;
  std::atomic<int> asked{0};
  const Fence fence = scheduler.submit(doing([&] { return ++asked < 5 ? Outcome::not_yet() : Outcome::done(); }), {});
  scheduler.wait(fence);
  CHECK(asked == 5);
}

TEST_CASE("a condition that never holds ends with its domain", "[simgpu][order]") {
  Scheduler scheduler;
  StreamGroup group(scheduler, std::make_shared<FailureDomain>());
  group.submit(group.legacy(), doing([] { return Outcome::not_yet(); }));
  group.domain().fail(4);
  group.wait_all();
  CHECK(group.is_idle(group.legacy()));
}

TEST_CASE("virtual time adds up along a stream and joins at events", "[simgpu][order]") {
  Scheduler scheduler;
  StreamGroup group(scheduler, std::make_shared<FailureDomain>());
  auto a = group.make(StreamKind::non_blocking, 0);
  auto b = group.make(StreamKind::non_blocking, 0);
  const auto nothing = [] { return Outcome::done(); };
  const Fence begin = group.mark(*a, 1000);
  group.submit(*a, doing(nothing, 500));
  group.submit(*a, doing(nothing, 700));
  const Fence in_a = group.mark(*a, 0);
  group.submit(*b, doing(nothing, 100));
  group.hold(*b, in_a);
  group.submit(*b, doing(nothing, 50));
  const Fence in_b = group.mark(*b, 0);
  group.wait_all();
  CHECK(begin.end_ns() == 1000);
  CHECK(in_a.end_ns() == 2200);
  CHECK(in_b.end_ns() == 2250);
}

TEST_CASE("virtual time holds across streams even when the earlier work is long done", "[simgpu][order]") {
  Scheduler scheduler;
  StreamGroup group(scheduler, std::make_shared<FailureDomain>());
  auto side = group.make(StreamKind::blocking, 0);
  group.submit(*side, doing([] { return Outcome::done(); }, 5000));
  CHECK(group.wait(*side) == 5000);
  group.submit(group.legacy(), doing([] { return Outcome::done(); }, 10));
  CHECK(group.wait(group.legacy()) == 5010);
}

TEST_CASE("with real pacing work takes its cost, and streams overlap without holding a thread", "[simgpu][order]") {
  Scheduler scheduler(Scheduler::Pacing::real);
  StreamGroup group(scheduler, std::make_shared<FailureDomain>());
  std::vector<std::unique_ptr<StreamQueue>> queues;
  const std::uint64_t cost_ns = 20'000'000;
  const std::uint64_t begin = steady_now_ns();
  for (int i = 0; i < 40; ++i) {
    queues.push_back(group.make(StreamKind::non_blocking, 0));
    group.submit(*queues.back(), doing([] { return Outcome::done(); }, cost_ns));
  }
  CHECK(group.wait_all() >= begin + cost_ns);
  CHECK(scheduler.workers() <= Scheduler::kMaxWorkers);
}

TEST_CASE("a host program's flush-to-zero mode does not reach the device's arithmetic", "[simgpu][order]") {
  Scheduler scheduler;
  StreamGroup group(scheduler, std::make_shared<FailureDomain>());
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);
  volatile float tiny = 1e-40f;
  float on_caller = 0;
  float on_worker = 0;
  group.run(group.legacy(), doing([&] { return on_caller = tiny * 0.5f, Outcome::done(); }));
  std::atomic<bool> ran{false};
  group.submit(group.legacy(), doing([&] { return on_worker = tiny * 0.5f, ran = true, Outcome::done(); }));
  while (!ran) std::this_thread::yield();  // a worker's thread: nobody helps
  group.wait_all();
  const unsigned during = _mm_getcsr();
  _mm_setcsr(before);
  CHECK(on_caller > 0);
  CHECK(on_worker > 0);
  CHECK((during & 0x8040) == 0x8040);
}

TEST_CASE("many host threads use their own and one common stream", "[simgpu][order]") {
  Scheduler scheduler;
  StreamGroup group(scheduler, std::make_shared<FailureDomain>());
  int unguarded = 0;  // only the order of the common stream keeps this right
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      auto own = group.make(StreamKind::blocking, 0);
      for (int i = 0; i < 300; ++i) {
        group.submit(group.legacy(), doing([&] { return ++unguarded, Outcome::done(); }));
        group.submit(*own, doing([] { return Outcome::done(); }));
        if (i % 50 == 0) group.wait(*own);
      }
      group.retire(std::move(own));
    });
  }
  for (std::thread& thread : threads) thread.join();
  group.wait_all();
  CHECK(unguarded == 1200);
}
