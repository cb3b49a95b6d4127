// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pool/arena.h"
#include "tests/support/fake_backing.h"

namespace cupool::pool {

/// Streams with numbered work: a mark is done when the work submitted before it is.
class StreamWorld final : public Completions {
 public:
  static constexpr std::size_t kStreams = 3;
  using Positions = std::array<std::uint64_t, kStreams>;

  Result<Token> mark(FreeAfter after) override;
  bool is_done(Token token) override;
  Result<Done> wait(Token token) override;
  void forget(Token token) override;

  void submit(std::size_t stream) { ++submitted[stream]; }
  /// What has to complete before memory freed now may be reused by anybody.
  Positions needed(FreeAfter after) const;
  bool is_past(const Positions& positions) const;

  Positions submitted{}, completed{};
  bool capturing = false, may_wait = true;
  std::uint64_t faults = 0;  ///< tokens asked for after they were forgotten

 private:
  std::map<std::uint64_t, Positions> tokens_;
  std::uint64_t next_ = 1;
};

/// Plays operations, each given by a number, on an arena over fakes, and checks what it answers against a plain record of blocks.
class ArenaDriver {
 public:
  struct Setting {
    const char* name = "";
    ArenaConfig config;
    std::uint64_t limit_units = 0;
  };
  explicit ArenaDriver(const Setting& setting);

  /// Plays one operation; what is wrong, or nothing.
  std::string play(std::uint32_t operation);
  /// The expensive checks: every live byte backed by the handle it had, books that agree, nothing lost.
  std::string recount();
  /// Frees everything, closes, and checks that nothing is left.
  std::string drain();
  static std::string describe(std::uint32_t operation);

  std::uint64_t moved() const { return arena_->stats().counters.handles_moved; }
  std::uint64_t refusals() const { return arena_->stats().counters.refusals; }

 private:
  struct Live {
    Block block;
    std::vector<HandleId> handles;
  };
  /// Part of a freed block that work may still be using.
  struct Pending {
    std::uint64_t begin = 0, end = 0;
    FreeAfter after;
    FreeTicket ticket;
    StreamWorld::Positions positions{};
    std::vector<HandleId> handles;  ///< of the whole block, from `first`
    std::uint64_t first = 0;
  };

  std::string take(std::uint32_t parameter);
  std::string give_back(std::uint32_t parameter);
  std::string bad_free(std::uint32_t parameter);
  std::string hold(std::uint32_t parameter);
  std::string let_go(std::uint32_t parameter);
  std::string check_new(const Block& block, const Request& request);
  std::string check_refusal(const Request& request, const Refusal& refusal, const ArenaStats& before);
  std::vector<HandleId> handles_under(Address base, Bytes length) const;
  Bytes size_of(std::uint32_t parameter) const;
  bool is_disturbed() const { return failing_ || world_.capturing || !world_.may_wait; }

  Setting setting_;
  fakes::CountingBacking counting_;
  fakes::FailingBacking backing_{counting_};
  LimitedUnits units_;
  StreamWorld world_;
  std::unique_ptr<Arena> arena_;
  std::map<std::uint64_t, Live> live_;
  std::vector<Pending> pending_;
  std::vector<HeldHandle> held_;
  std::uint64_t last_identity_ = 0;
  std::uint64_t limit_ = 0;
  Bytes capacity_{};
  bool failing_ = false;
};

}  // namespace cupool::pool
