// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "policy/base/result.h"
#include "pool/hazard_map.h"
#include "pool/heap/run.h"
#include "pool/request.h"

namespace cupool::pool {

/// What a free has to wait for.
struct FreeAfter {
  enum class Kind : std::uint8_t {
    nothing,  ///< nothing can be using the block any more
    stream,   ///< the work submitted to one stream before the free (a stream-ordered free)
    all,      ///< all work submitted before the free, wherever (what cudaFree promises)
  };
  Kind kind = Kind::nothing;
  StreamId stream{};  ///< for Kind::stream; else left alone

  constexpr auto operator<=>(const FreeAfter&) const = default;
};

/// A mark in the work of the device, as whoever knows streams names it.
enum class Token : std::uint64_t {};

/// Knows when work is done. Thread-safe. None of the pool's locks is held over a call.
class Completions {
 public:
  virtual ~Completions() = default;

  /// A mark behind all work submitted so far: of one stream, or of all. One mark serves a whole batch of frees. Errc::busy while no
  /// mark may be set (a stream capture is open): ask again later.
  virtual Result<Token> mark(FreeAfter after) = 0;
  /// Whether all that lies before the mark has completed. Never blocks. A stream that was destroyed counts as done.
  virtual bool is_done(Token token) = 0;
  /// Blocks until it has. Errc::busy when waiting is not allowed (a capture is open), driver when the device is lost.
  virtual Result<Done> wait(Token token) = 0;
  /// The mark is not needed any more. Called once for each.
  virtual void forget(Token token) = 0;
};

/// What the program has freed and work may still be using.
///
/// Frees gather in one open batch per stream, and one for frees that wait for everything. A batch gets one mark when it is full or
/// when memory is wanted. Batches of one lane complete in order, those of different lanes independently, so that a slow stream
/// holds back only its own. Two ways to keep the memory away from others: a block that waits for everything stays taken in the heap
/// until its batch is done; a block freed in stream order is given back to the heap at once, with a hazard on it (HazardMap), since
/// the same stream may have it.
///
/// Makes no call and holds no lock: Arena holds LockRank::arena around every call and talks to Completions between them.
class DeferredFrees {
 public:
  enum class BatchId : std::uint64_t {};
  /// An open batch of this many frees is full.
  static constexpr std::uint64_t kFull = 64;

  struct Closed {
    BatchId batch{};
    FreeAfter after;
  };
  struct Marked {
    BatchId batch{};
    Token token{};
  };
  enum class Which : std::uint8_t { full, any };
  struct Noted {
    FreeTicket ticket;
    bool filled_batch = false;  ///< worth a mark now
  };

  /// Notes a free that has to wait (Kind::stream or all). Kind::stream: the caller gives `taken` back to the heap in the same
  /// critical section; Kind::all: it stays taken until complete() returns it. Errc::no_memory, with nothing changed, when the host
  /// has none.
  Result<Noted> defer(FreeAfter after, const Taken& taken);

  /// Closes one open batch that is full, or any that is not empty. The caller asks for a mark and then calls set_mark() or
  /// reopen(). While a batch waits for its mark, others of its lane are not closed: marks of one lane are set in order. close_one()
  /// to complete() are for one thread at a time, which keeps tokens from being forgotten while another asks for them.
  std::optional<Closed> close_one(Which which);
  void set_mark(BatchId batch, Token token);
  /// No mark could be set: the frees wait for the next one.
  void reopen(BatchId batch);

  /// Appends, for each lane, the marked batch that must complete first: those worth a question.
  void heads(std::vector<Marked>& into) const;
  /// The marked batch that was closed first among all lanes.
  std::optional<Marked> oldest() const;

  /// Ends a batch whose mark is done and which is its lane's head; the caller forgets the token. Returns the blocks that stayed
  /// taken, to be given back to the heap.
  std::vector<Taken> complete(BatchId batch);

  /// Takes everything out: the context is gone, and with it all work. Returns the marks, to be forgotten.
  std::vector<Token> drop();

  HazardMap& hazards() { return hazards_; }
  const HazardMap& hazards() const { return hazards_; }

  FreeTicket last_ticket() const { return FreeTicket{next_ticket_ - 1}; }
  std::uint64_t blocks() const { return blocks_; }  ///< frees that have not completed
  Granules pinned() const { return pinned_; }       ///< of blocks that stay taken
  bool empty() const { return blocks_ == 0; }

 private:
  enum class Phase : std::uint8_t { open, closed, marked };
  struct Batch {
    BatchId id{};
    Phase phase = Phase::open;
    Token token{};
    FreeTicket last;
    std::uint64_t frees = 0;
    std::vector<Taken> pinned;
  };
  struct Lane {
    std::deque<Batch> batches;  ///< marked ones, then closed or reopened ones, then the one that new frees join
    const Batch* head() const { return batches.empty() || batches.front().phase != Phase::marked ? nullptr : &batches.front(); }
  };
  using Lanes = std::map<FreeAfter, Lane>;

  struct Place {
    Lanes::iterator lane;
    Batch* batch = nullptr;
  };
  Place find(BatchId id);

  Lanes lanes_;
  HazardMap hazards_;
  std::uint64_t next_batch_ = 1;
  std::uint64_t next_ticket_ = 1;
  std::uint64_t blocks_ = 0;
  Granules pinned_{};
};

}  // namespace cupool::pool
