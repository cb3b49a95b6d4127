// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <unordered_map>

#include "pool/backing.h"

namespace cupool::pool::fakes {

/// How often each call was made, those that failed too.
struct CallCounts {
  std::uint64_t reserve = 0, create = 0, map = 0, unmap = 0, release = 0, free_range = 0;
  std::uint64_t handles_mapped = 0;  ///< the sum over map calls

  std::uint64_t total() const { return reserve + create + map + unmap + release + free_range; }
};

/// A device that has nothing but its books, kept as strictly as a driver keeps them: what breaks a rule of pool/backing.h is
/// refused with Errc::invalid_argument and remembered in faults(). Thread-safe.
class CountingBacking : public Backing {
 public:
  /// `capacity`: what create() may hand out in all; 0: endless.
  /// Ranges of different backings do not overlap, as those of different devices do not.
  explicit CountingBacking(Bytes capacity = {});

  Result<Address> reserve(Bytes size, Bytes alignment) override;
  Result<HandleId> create(Bytes size) override;
  Result<Done> map(Address at, Bytes size, std::span<const HandleId> handles) override;
  Result<Done> unmap(Address at, Bytes length) override;
  Result<Done> release(HandleId handle) override;
  Result<Done> free_range(Address at, Bytes size) override;

  CallCounts counts() const;
  /// How often a rule was broken: a correct caller leaves it at 0.
  std::uint64_t faults() const;
  Bytes created() const;
  Bytes mapped() const;
  /// Whether every byte of [at, at + length) is mapped.
  bool is_mapped(Address at, Bytes length) const;
  /// The handle mapped at this address; kNoHandle when none is.
  HandleId handle_at(Address at) const;
  /// Nothing exists any more.
  bool is_empty() const;
  void set_capacity(Bytes capacity);

 private:
  struct Mapping {
    Bytes size;
    HandleId handle{};
  };
  struct Handle {
    Bytes size;
    bool mapped = false;
  };
  Result<Done> broken(const char* rule);
  bool in_range(Address at, Bytes length) const;

  mutable std::mutex mutex_;
  Bytes capacity_;
  Bytes created_{}, mapped_{};
  std::uint64_t next_range_;
  std::uint64_t next_handle_ = 1;
  std::map<std::uint64_t, std::uint64_t> ranges_;  // start -> end
  std::map<std::uint64_t, Mapping> mappings_;      // by start
  std::unordered_map<std::uint64_t, Handle> handles_;
  CallCounts counts_;
  std::uint64_t faults_ = 0;
};

/// Passes calls on to another backing, but lets some of them fail without effect.
class FailingBacking final : public Backing {
 public:
  explicit FailingBacking(Backing& real) : real_(real) {}

  /// Lets the k-th call from now on (1: the next) fail with `code`; with `Repeat::from_then_on` all later ones as well. 0: none.
  enum class Repeat { once, from_then_on };
  void fail_call(std::uint64_t k, Errc code = Errc::driver, Repeat repeat = Repeat::once);
  /// True when a call has been failed since fail_call().
  bool has_failed() const;
  /// Runs before each call is passed on or failed, on the caller's thread.
  void set_hook(std::function<void()> hook) { hook_ = std::move(hook); }

  Result<Address> reserve(Bytes size, Bytes alignment) override;
  Result<HandleId> create(Bytes size) override;
  Result<Done> map(Address at, Bytes size, std::span<const HandleId> handles) override;
  Result<Done> unmap(Address at, Bytes length) override;
  Result<Done> release(HandleId handle) override;
  Result<Done> free_range(Address at, Bytes size) override;

 private:
  bool fails_now(Errc& code);

  Backing& real_;
  mutable std::mutex mutex_;
  std::uint64_t countdown_ = 0;
  Errc code_ = Errc::driver;
  Repeat repeat_ = Repeat::once;
  bool failing_ = false, has_failed_ = false;
  std::function<void()> hook_;
};

}  // namespace cupool::pool::fakes
