// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>

#include "pool/deferred_free.h"

namespace cupool::pool::fakes {

/// Streams whose work completes when the test says so. Thread-safe.
class FakeCompletions final : public Completions {
 public:
  Result<Token> mark(FreeAfter after) override {
    std::lock_guard lock(mutex_);
    ++marks_;
    if (capturing_) return fail(Errc::busy, "a capture is open");
    const std::uint64_t token = next_++;
    tokens_[token] = after;
    return Token{token};
  }
  bool is_done(Token token) override {
    std::lock_guard lock(mutex_);
    ++questions_;
    return done(token);
  }
  Result<Done> wait(Token token) override {
    std::lock_guard lock(mutex_);
    ++waits_;
    if (capturing_ || !may_wait_) return fail(Errc::busy, "waiting is not allowed");
    completed_.insert(static_cast<std::uint64_t>(token));
    return Done{};
  }
  void forget(Token token) override {
    std::lock_guard lock(mutex_);
    if (tokens_.erase(static_cast<std::uint64_t>(token)) == 0) ++faults_;
    completed_.erase(static_cast<std::uint64_t>(token));
  }

  /// All work marked so far is done, of one stream or of every one.
  void finish(StreamId stream) {
    std::lock_guard lock(mutex_);
    for (const auto& [token, after] : tokens_) {
      if (after.kind == FreeAfter::Kind::stream && after.stream == stream) completed_.insert(token);
    }
  }
  void finish_all() {
    std::lock_guard lock(mutex_);
    for (const auto& [token, after] : tokens_) completed_.insert(token);
  }
  void set_capturing(bool capturing) {
    std::lock_guard lock(mutex_);
    capturing_ = capturing;
  }
  void set_may_wait(bool may_wait) {
    std::lock_guard lock(mutex_);
    may_wait_ = may_wait;
  }

  std::uint64_t marks() const { return locked(marks_); }
  std::uint64_t questions() const { return locked(questions_); }
  std::uint64_t waits() const { return locked(waits_); }
  /// Tokens asked for after they were forgotten, or forgotten twice.
  std::uint64_t faults() const { return locked(faults_); }
  std::uint64_t open_tokens() const {
    std::lock_guard lock(mutex_);
    return tokens_.size();
  }

 private:
  std::uint64_t locked(const std::uint64_t& value) const {
    std::lock_guard lock(mutex_);
    return value;
  }
  bool done(Token token) {
    const auto number = static_cast<std::uint64_t>(token);
    if (!tokens_.contains(number)) ++faults_;
    return completed_.contains(number);
  }

  mutable std::mutex mutex_;
  std::map<std::uint64_t, FreeAfter> tokens_;
  std::set<std::uint64_t> completed_;
  std::uint64_t next_ = 1;
  bool capturing_ = false, may_wait_ = true;
  std::uint64_t marks_ = 0, questions_ = 0, waits_ = 0, faults_ = 0;
};

}  // namespace cupool::pool::fakes
