// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "policy/base/result.h"
#include "pool/lock_rank.h"
#include "pool/request.h"

/// Allocation traces: what was asked for and freed, in order. Two forms, told apart by the first bytes.
///
/// Text, so that anybody can bring a trace. One event per line, fields separated by blanks; blank lines and `#` comments are
/// ignored:
///     a ID BYTES [STREAM]     allocate; ID is any number not in use (decimal, or hexadecimal with 0x), BYTES is more than 0
///     f ID                    free
///
/// Binary, about 4 bytes per event. Numbers are little-endian base-128 varints (7 bits a byte, low first, bit 7: more follow):
///     header   8 bytes "CUPTRACE", one byte version (1)
///     event    one byte: bits 0-1 kind (1 allocate, 2 free, 3 end); bit 2: a stream follows; bit 3: bytes are in units of 512;
///              bit 4: time passed since the event before follows
///              [time]    varint, microseconds
///              allocate  zigzag varint: ID minus the ID allocated before (0 at first); varint bytes; [varint stream]
///              free      zigzag varint: the ID allocated last, minus this ID; [varint stream it was freed on]
///              end       varint: number of events before it. A file without it was cut short.
namespace cupool::pool {

struct TraceEvent {
  enum class Kind : std::uint8_t { allocate, free };
  Kind kind = Kind::allocate;
  std::uint64_t id = 0;
  Bytes size;  ///< of allocations
  StreamId stream{};
  std::uint64_t time_us = 0;  ///< by the recorder's clock; 0 where the trace has no times
};

/// What is wrong with a trace, and where.
struct TraceFault {
  std::string place;  ///< "FILE:LINE" of text, "FILE at byte N" of the binary form
  std::string text;   ///< what is wrong, and what would be right
};

/// Reads a trace of either form, one event at a time. Checks as it goes: an allocation of an ID in use and a free of one that is
/// not are faults. After a fault nothing more can be read. Not thread-safe.
class TraceReader {
 public:
  /// A file, or "-" for standard input.
  static tl::expected<TraceReader, TraceFault> open(const std::string& path);
  /// Either form, from memory; `name` stands for the file in messages. The bytes must outlive the reader.
  static tl::expected<TraceReader, TraceFault> from_bytes(std::string_view bytes, std::string name);

  TraceReader(TraceReader&&) noexcept;
  TraceReader& operator=(TraceReader&&) noexcept;
  ~TraceReader();

  /// The next event; none at the end.
  tl::expected<std::optional<TraceEvent>, TraceFault> next();

 private:
  class Source;
  explicit TraceReader(std::unique_ptr<Source> source);
  tl::expected<std::optional<TraceEvent>, TraceFault> next_text();
  tl::expected<std::optional<TraceEvent>, TraceFault> next_binary();
  tl::expected<std::optional<TraceEvent>, TraceFault> checked(TraceEvent event);
  tl::unexpected<TraceFault> fault(std::string text) const;
  Result<std::uint64_t> read_varint();

  std::unique_ptr<Source> source_;
  bool binary_ = false;
  std::uint64_t line_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t last_id_ = 0;
  std::uint64_t time_us_ = 0;
  std::unordered_set<std::uint64_t> live_;
};

/// All events of a trace.
tl::expected<std::vector<TraceEvent>, TraceFault> read_trace(const std::string& path);

/// Writes the binary form. Thread-safe; an event costs a lock and a few bytes in a buffer, the file is written 64 KiB at a time.
class TraceRecorder {
 public:
  /// Creates or replaces the file. Errc::io with the reason in the log's words when that fails.
  static Result<std::unique_ptr<TraceRecorder>> create(const std::string& path);
  ~TraceRecorder();

  /// `time_us` is the caller's clock; 0: no times are recorded. IDs follow the reader's rules.
  void allocate(std::uint64_t id, Bytes size, StreamId stream = {}, std::uint64_t time_us = 0);
  void free(std::uint64_t id, StreamId stream = {}, std::uint64_t time_us = 0);

  /// Writes the end and closes. Errc::io when any write failed since create(): the file is not complete then.
  Result<Done> close();

 private:
  explicit TraceRecorder(std::FILE* file) : file_(file) {}
  void begin(std::uint8_t kind, StreamId stream, std::uint8_t extra, std::uint64_t time_us) CUPOOL_REQUIRES(mutex_);
  void put_varint(std::uint64_t value) CUPOOL_REQUIRES(mutex_);
  void flush() CUPOOL_REQUIRES(mutex_);

  RankedMutex mutex_{LockRank::trace};
  std::FILE* file_ CUPOOL_GUARDED_BY(mutex_);
  std::string buffer_ CUPOOL_GUARDED_BY(mutex_);
  std::uint64_t events_ CUPOOL_GUARDED_BY(mutex_) = 0;
  std::uint64_t last_id_ CUPOOL_GUARDED_BY(mutex_) = 0;
  std::uint64_t last_time_us_ CUPOOL_GUARDED_BY(mutex_) = 0;
  bool failed_ CUPOOL_GUARDED_BY(mutex_) = false;
};

}  // namespace cupool::pool
