// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cupool::log {

enum class Level : int { off, error, warning, info, debug };

/// "off", "error", "warning", "info" or "debug"; nothing for any other text.
std::optional<Level> level_from_text(std::string_view text);
const char* to_text(Level level);

/// Receives one line without its newline. May be called from any thread at once; must not throw and must not log.
using Sink = void (*)(Level level, std::string_view line);

/// The default sink: one write of "cupool: <level>: <line>" to standard error, never to standard output.
void write_to_stderr(Level level, std::string_view line);

/// Process-wide settings. Constant-initialised, so that a hook may log before any constructor has run. Thread-safe.
void set_level(Level level);
Level level();
void set_sink(Sink sink);

/// Sends a line to the sink if `level` is enabled and `budget`, when given, is not used up.
///
/// Nothing is formatted here: callers format, after asking enabled(), so that a disabled line costs one relaxed load.
void write(Level level, std::string_view line);
inline bool enabled(Level wanted);

/// How often one kind of line may still be written. The line that uses the last of it says that more will be left out.
class Budget {
 public:
  explicit constexpr Budget(std::uint32_t lines) : left_(lines) {}

  enum class Verdict { write, write_last, skip };
  /// Thread-safe; counts what it skips.
  Verdict spend();
  std::uint64_t skipped() const { return skipped_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint32_t> left_;
  std::atomic<std::uint64_t> skipped_{0};
};

void write(Level level, Budget& budget, std::string_view line);

namespace detail {
extern std::atomic<int> g_level;
}
inline bool enabled(Level wanted) {
  // Relaxed: a level set by another thread may be seen a few lines late, which harms nobody.
  return static_cast<int>(wanted) <= detail::g_level.load(std::memory_order_relaxed);
}

}  // namespace cupool::log
