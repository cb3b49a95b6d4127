// SPDX-License-Identifier: Apache-2.0
//
// Random work on random streams against a naive model of what CUDA promises: the model keeps, for each piece, the whole set of
// pieces that must be over before it begins, and every run is checked pair by pair.
#include <atomic>
#include <bitset>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "tools/simgpu/exec/stream.h"

using namespace cupool::simgpu;

namespace {

constexpr std::size_t kPieces = 96;
using Set = std::bitset<kPieces>;

struct ModelStream {
  StreamKind kind;
  Set before;  // what the next piece in this stream comes after
};

struct Stamp {
  std::atomic<unsigned> begin{0};
  std::atomic<unsigned> end{0};
};

class Trial {
 public:
  Trial(unsigned seed, Scheduler& scheduler) : random_(seed), group_(scheduler, std::make_shared<FailureDomain>()) {
    model_.push_back({StreamKind::legacy, {}});
    queues_.push_back(&group_.legacy());
    for (int i = 0; i < 4; ++i) add_stream(i % 3 == 2 ? StreamKind::non_blocking : StreamKind::blocking);
  }

  void play() {
    for (std::size_t piece = 0; piece < kPieces; ++piece) {
      const std::size_t stream = pick(queues_.size());
      switch (pick(10)) {
        case 0:
          record(stream);
          break;
        case 1:
          wait_event(stream);
          break;
        case 2:
          replace_stream();
          break;
        case 3:
          synchronize(pick(queues_.size()), piece);
          break;
        default:
          break;
      }
      launch(pick(queues_.size()), piece);
    }
    group_.wait_all();
  }

  void check() const {
    for (std::size_t later = 0; later < kPieces; ++later) {
      REQUIRE(stamps_[later].end.load() != 0);
      for (std::size_t earlier = 0; earlier < later; ++earlier) {
        if (comes_after_[later][earlier] && stamps_[earlier].end.load() > stamps_[later].begin.load()) {
          FAIL("piece " << later << " began before piece " << earlier << " was over");
        }
      }
    }
  }

 private:
  std::size_t pick(std::size_t count) { return random_() % count; }

  void add_stream(StreamKind kind) {
    owned_.push_back(group_.make(kind, -static_cast<int>(pick(3))));
    queues_.push_back(owned_.back().get());
    model_.push_back({kind, {}});
  }

  // All that work submitted to `stream` now must come after.
  Set order_of(std::size_t stream) const {
    Set before = model_[stream].before;
    if (model_[stream].kind == StreamKind::blocking) before |= model_[0].before;
    if (model_[stream].kind == StreamKind::legacy) {
      for (const ModelStream& other : model_) {
        if (other.kind == StreamKind::blocking) before |= other.before;
      }
      before |= retired_;
    }
    return before;
  }

  void launch(std::size_t stream, std::size_t piece) {
    comes_after_[piece] = order_of(stream) | synchronized_;
    model_[stream].before = order_of(stream);
    model_[stream].before.set(piece);
    Order order;
    order.on_host_thread = pick(8) == 0;
    const unsigned spins = static_cast<unsigned>(pick(300));
    const int polls = pick(16) == 0 ? 2 : 0;
    order.action = [this, piece, spins, left = polls]() mutable {
      if (left > 0) {
        --left;
        return Outcome::not_yet();
      }
      stamps_[piece].begin = ++clock_;
      for (unsigned i = 0; i < spins; ++i) asm volatile("");
      stamps_[piece].end = ++clock_;
      return Outcome::done();
    };
    if (pick(6) == 0) {
      group_.run(*queues_[stream], std::move(order));
      synchronized_ |= model_[stream].before;
    } else {
      group_.submit(*queues_[stream], std::move(order));
    }
  }

  void record(std::size_t stream) {
    events_.push_back({group_.mark(*queues_[stream], 0), order_of(stream)});
    model_[stream].before = order_of(stream);
  }

  void wait_event(std::size_t stream) {
    if (events_.empty()) return;
    const auto& [fence, before] = events_[pick(events_.size())];
    group_.hold(*queues_[stream], fence);
    model_[stream].before = order_of(stream) | before;
  }

  void synchronize(std::size_t stream, std::size_t next_piece) {
    group_.wait(*queues_[stream]);
    // Waiting for a blocking stream promises what was put into it; only the legacy stream stands for others too.
    const Set over = model_[stream].kind == StreamKind::legacy ? order_of(stream) : model_[stream].before;
    synchronized_ |= over;
    for (std::size_t piece = 0; piece < next_piece; ++piece) {
      if (over[piece]) REQUIRE(stamps_[piece].end.load() != 0);
    }
    CHECK(group_.is_idle(*queues_[stream]));
  }

  void replace_stream() {
    const std::size_t place = 1 + pick(queues_.size() - 1);
    const StreamKind kind = model_[place].kind;
    if (kind == StreamKind::blocking) retired_ |= model_[place].before;
    group_.retire(std::move(owned_[place - 1]));
    owned_[place - 1] = group_.make(kind, 0);
    queues_[place] = owned_[place - 1].get();
    model_[place] = {kind, {}};
  }

  std::mt19937 random_;
  StreamGroup group_;
  std::vector<std::unique_ptr<StreamQueue>> owned_;
  std::vector<StreamQueue*> queues_;
  std::vector<ModelStream> model_;
  std::vector<std::pair<Fence, Set>> events_;
  Set retired_;
  Set synchronized_;
  std::vector<Set> comes_after_ = std::vector<Set>(kPieces);
  std::vector<Stamp> stamps_ = std::vector<Stamp>(kPieces);
  std::atomic<unsigned> clock_{0};
};

unsigned first_seed() {
  const char* fixed = std::getenv("CUPOOL_TEST_SEED");
  return fixed != nullptr ? static_cast<unsigned>(std::strtoul(fixed, nullptr, 10)) : std::random_device{}();
}

}  // namespace

TEST_CASE("work on several streams never begins before what the model says it comes after", "[simgpu][order]") {
  const int trials = std::getenv("CUPOOL_TEST_LONG") != nullptr ? 20000 : 600;
  const unsigned seed = first_seed();
  WARN("seed " << seed << " (CUPOOL_TEST_SEED=" << seed << " repeats it), " << trials << " trials of " << kPieces << " pieces");
  Scheduler scheduler;
  for (int i = 0; i < trials; ++i) {
    INFO("seed " << seed + static_cast<unsigned>(i));
    Trial trial(seed + static_cast<unsigned>(i), scheduler);
    trial.play();
    trial.check();
  }
}
