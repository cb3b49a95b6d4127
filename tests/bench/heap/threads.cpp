// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/heap/threads.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace cupool::bench {
namespace {

constexpr std::size_t kOpsOfAll = 400000;
constexpr std::size_t kKept = 256;  // live blocks of each thread

/// Where a thread leaves blocks that the next one frees.
struct Mailbox {
  std::mutex mutex;
  std::vector<Block> blocks;
};

/// Holds a mutex where there is one.
class MaybeLocked {
 public:
  explicit MaybeLocked(std::mutex* mutex) : mutex_(mutex) {
    if (mutex_ != nullptr) mutex_->lock();
  }
  ~MaybeLocked() {
    if (mutex_ != nullptr) mutex_->unlock();
  }
  MaybeLocked(const MaybeLocked&) = delete;
  MaybeLocked& operator=(const MaybeLocked&) = delete;

 private:
  std::mutex* mutex_;
};

}  // namespace

ThreadFigures storm(const ContestantKind& kind, unsigned threads) {
  const std::unique_ptr<Contestant> contestant = kind.make(std::uint64_t{1} << 34);
  std::mutex lock;
  std::mutex* const own_lock = contestant->is_thread_safe() ? nullptr : &lock;
  std::vector<Mailbox> mailboxes(threads);
  std::atomic<std::uint64_t> ops{0}, foreign{0};
  const std::size_t rounds = kOpsOfAll / 2 / threads;

  const auto work = [&](unsigned self) {
    std::mt19937_64 random(self + 1);
    std::vector<Block> kept(kKept);
    std::vector<Block> received;
    std::uint64_t done = 0, received_count = 0;
    const auto take = [&] {
      // Sizes spread evenly over the powers of two from 512 bytes to 1 MiB.
      const std::uint64_t bytes = rounded((std::uint64_t{512} << random() % 11) + random() % 512);
      const MaybeLocked hold(own_lock);
      ++done;
      return contestant->take(bytes);
    };
    const auto give_back = [&](const Block& block) {
      const MaybeLocked hold(own_lock);
      ++done;
      contestant->give_back(block);
    };
    for (Block& block : kept) block = take();
    for (std::size_t round = 0; round < rounds; ++round) {
      Block& victim = kept[random() % kKept];
      if (round % 2 == 0) {
        give_back(victim);
      } else {
        Mailbox& next = mailboxes[(self + 1) % threads];
        const std::lock_guard hold(next.mutex);
        next.blocks.push_back(victim);
      }
      victim = take();
      {
        const std::lock_guard hold(mailboxes[self].mutex);
        received.swap(mailboxes[self].blocks);
      }
      received_count += received.size();
      for (const Block& block : received) give_back(block);
      received.clear();
    }
    for (const Block& block : kept) give_back(block);
    ops += done;
    foreign += received_count;
  };

  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> workers;
  for (unsigned self = 0; self < threads; ++self) workers.emplace_back(work, self);
  for (std::thread& worker : workers) worker.join();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return ThreadFigures{threads, static_cast<double>(ops) / seconds / 1e6,
                       2 * static_cast<double>(foreign) / static_cast<double>(ops)};
}

}  // namespace cupool::bench
