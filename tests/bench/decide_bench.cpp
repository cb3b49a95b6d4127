// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <array>
#include <vector>

#include "policy/decide/admission.h"
#include "policy/decide/decide.h"

// What a verdict costs with as many jobs and units as one large GPU has: 64 jobs, 1,128 units of 128 MiB (141 GiB). Prints JSON
// with
// --benchmark_format=json. Budget: 2 us for the account and the verdict.
using namespace cupool;
using namespace cupool::policy;

namespace {

constexpr std::uint32_t kJobs = 64;
constexpr std::uint64_t kUnits = 1128;

/// 64 jobs of three classes; most of the pool is in use.
struct Pool {
  Rules rules{.capacity = Units{kUnits},
              .static_zone = Units{676},
              .critical_reserve = Units{112},
              .order = QueueOrder::priority,
              .aging = 4,
              .bypass = 8,
              .levels = 3,
              .admission = {.max_jobs = 96, .on_full = OnFull::wait, .max_wait = Duration{600 * kSecond.ns}}};
  std::vector<JobAccount> jobs;
  std::vector<Request> waiting;
  std::vector<std::uint16_t> owner_of_unit;
  std::array<Revocation, kJobs> revocations;

  Pool(std::uint64_t held_each, OnRevoke on_revoke) {
    for (std::uint32_t i = 0; i < kJobs; ++i) {
      JobAccount job;
      job.standing = {.guarantee = Units{i % 3 == 2 ? 20U : 4U},
                      .reserve = Units{0},
                      .limit = Units{400},
                      .level = i % 3,
                      .critical = i % 3 == 2,
                      .on_revoke = on_revoke,
                      .on_full = OnFull::wait,
                      .max_wait = Duration{30 * kSecond.ns},
                      .max_hold = std::nullopt,
                      .weight = 1 + i % 4};
      job.held = Units{held_each};
      jobs.push_back(job);
      for (std::uint64_t unit = 0; unit < held_each; ++unit) owner_of_unit.push_back(static_cast<std::uint16_t>(i));
    }
    owner_of_unit.resize(kUnits, 0xffff);
  }

  void enqueue_all_but(std::uint32_t asker, std::uint64_t units) {
    for (std::uint32_t i = 0; i < kJobs; ++i)
      if (i != asker) waiting.push_back({.job = i, .units = Units{units}, .ticket = i, .passed_over = i % 11});
  }
  Account account() const { return {.capacity = Units{kUnits}, .draining = {}, .set_aside = {}, .jobs = jobs, .waiting = waiting}; }

  void run(benchmark::State& state, const Request& request) {
    for (auto _ : state) benchmark::DoNotOptimize(decide(rules, account(), request, Instant{1}, revocations));
  }
};

Request request_of(std::uint32_t job, std::uint64_t units) {
  return {.job = job, .units = Units{units}, .ticket = 1'000'000};
}

void grant_with_nobody_waiting(benchmark::State& state) {
  Pool(12, OnRevoke::park).run(state, request_of(0, 2));
}

/// As a ledger does it: the account is counted from the token table, then judged.
void count_tokens_and_grant(benchmark::State& state) {
  Pool pool(12, OnRevoke::park);
  for (auto _ : state) {
    count_held(pool.owner_of_unit, pool.jobs);
    benchmark::DoNotOptimize(decide(pool.rules, pool.account(), request_of(0, 2), Instant{1}, pool.revocations));
  }
}

void grant_behind_63_that_fit(benchmark::State& state) {
  Pool pool(12, OnRevoke::idle);
  pool.enqueue_all_but(0, 1);
  pool.run(state, request_of(0, 2));
}

void wait_behind_63_in_a_full_pool(benchmark::State& state) {
  Pool pool(17, OnRevoke::idle);
  pool.enqueue_all_but(0, 60);
  pool.run(state, request_of(0, 60));
}

void call_back_alone(benchmark::State& state) {
  Pool(17, OnRevoke::park).run(state, request_of(2, 60));
}

/// The dearest case: everybody waits, and everybody calls back.
void call_back_behind_63(benchmark::State& state) {
  Pool pool(17, OnRevoke::park);
  pool.enqueue_all_but(2, 6);
  pool.run(state, request_of(2, 6));
}

void admit(benchmark::State& state) {
  Pool pool(12, OnRevoke::park);
  const Arrival arrival{.standing = pool.jobs[1].standing, .ticket = 1'000'000};
  for (auto _ : state) benchmark::DoNotOptimize(decide_admission(pool.rules, pool.account(), {}, arrival, Instant{1}));
}

BENCHMARK(grant_with_nobody_waiting);
BENCHMARK(count_tokens_and_grant);
BENCHMARK(grant_behind_63_that_fit);
BENCHMARK(wait_behind_63_in_a_full_pool);
BENCHMARK(call_back_alone);
BENCHMARK(call_back_behind_63);
BENCHMARK(admit);

}  // namespace

BENCHMARK_MAIN();
