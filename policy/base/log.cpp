// SPDX-License-Identifier: Apache-2.0
#include "policy/base/log.h"

#include <array>
#include <cstdio>
#include <string>

namespace cupool::log {
namespace detail {
std::atomic<int> g_level{static_cast<int>(Level::warning)};
}
namespace {

std::atomic<Sink> g_sink{&write_to_stderr};

struct LevelName {
  Level level;
  const char* name;
};
constexpr std::array<LevelName, 5> kLevelNames{{
    {Level::off, "off"}, {Level::error, "error"}, {Level::warning, "warning"}, {Level::info, "info"}, {Level::debug, "debug"}}};

}  // namespace

std::optional<Level> level_from_text(std::string_view text) {
  for (const LevelName& entry : kLevelNames) {
    if (text == entry.name) return entry.level;
  }
  return std::nullopt;
}

const char* to_text(Level level) {
  for (const LevelName& entry : kLevelNames) {
    if (level == entry.level) return entry.name;
  }
  return "unknown";
}

void write_to_stderr(Level level, std::string_view line) {
  // One call for the whole line: lines of several threads and processes must not mix.
  std::string text = "cupool: ";
  text += to_text(level);
  text += ": ";
  text += line;
  text += '\n';
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void set_level(Level level) { detail::g_level.store(static_cast<int>(level), std::memory_order_relaxed); }
Level level() { return static_cast<Level>(detail::g_level.load(std::memory_order_relaxed)); }
void set_sink(Sink sink) { g_sink.store(sink == nullptr ? &write_to_stderr : sink, std::memory_order_release); }

void write(Level level, std::string_view line) {
  if (level == Level::off || !enabled(level)) return;
  // Acquire pairs with set_sink's release: whatever the sink reads was written before it was set.
  g_sink.load(std::memory_order_acquire)(level, line);
}

Budget::Verdict Budget::spend() {
  std::uint32_t left = left_.load(std::memory_order_relaxed);
  while (left != 0) {
    if (left_.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) {
      return left == 1 ? Verdict::write_last : Verdict::write;
    }
  }
  skipped_.fetch_add(1, std::memory_order_relaxed);
  return Verdict::skip;
}

void write(Level level, Budget& budget, std::string_view line) {
  if (level == Level::off || !enabled(level)) return;
  switch (budget.spend()) {
    case Budget::Verdict::write: write(level, line); return;
    case Budget::Verdict::write_last: write(level, std::string(line) + " (further lines of this kind are left out)"); return;
    case Budget::Verdict::skip: return;
  }
}

}  // namespace cupool::log
