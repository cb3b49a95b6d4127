// SPDX-License-Identifier: Apache-2.0
#include "policy/problem.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "policy/utf8.h"

namespace cupool::policy {
namespace {

constexpr std::size_t kWidestLine = 160;  ///< characters of a source line that are shown around the place

struct Line {
  std::size_t begin;
  std::size_t end;
};

Line line_around(std::string_view text, std::size_t offset) {
  offset = std::min(offset, text.size());
  const std::size_t before = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const std::size_t end = text.find('\n', offset);
  return {begin, end == std::string_view::npos ? text.size() : end};
}

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// One column for each character, so that the caret stands right: what cannot be shown is a "?", a tab a blank.
std::string one_to_one(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    const std::size_t length = std::max<std::size_t>(point.length, 1);
    if (point.value == '\t') {
      shown += ' ';
    } else if (point.length == 0 || is_unprintable(point.value)) {
      shown += '?';
    } else {
      shown.append(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  return shown;
}

std::size_t characters(std::string_view text) {
  std::size_t count = 0;
  while (!text.empty()) {
    text.remove_prefix(std::max<std::size_t>(first_code_point(text).length, 1));
    ++count;
  }
  return count;
}

std::string source_with_caret(const Problem& problem, std::string_view text) {
  Line line = line_around(text, problem.where.begin);
  const std::size_t at = std::min(problem.where.begin, text.size());
  bool cut_front = false;
  if (at - line.begin > kWidestLine / 2) {
    line.begin = at - kWidestLine / 2;
    while (line.begin < at && is_continuation(text[line.begin])) ++line.begin;
    cut_front = true;
  }
  line.end = std::min(line.end, line.begin + kWidestLine);
  while (line.end > at && line.end < text.size() && is_continuation(text[line.end])) --line.end;
  line.end = std::max(line.end, at);
  const std::string_view before = text.substr(line.begin, at - line.begin);
  const std::size_t marked_end = std::clamp(problem.where.end, at, line.end);
  const std::size_t marked = std::max<std::size_t>(characters(text.substr(at, marked_end - at)), 1);
  const std::string lead = cut_front ? "  ..." : "  ";
  std::string out = lead + one_to_one(text.substr(line.begin, line.end - line.begin));
  while (!out.empty() && out.back() == ' ') out.pop_back();
  if (out.empty()) return {};
  return out + '\n' + std::string(lead.size() + characters(before), ' ') + '^' + std::string(marked - 1, '~') + '\n';
}

std::string counted(std::size_t count, const char* what) {
  return std::to_string(count) + ' ' + what + (count == 1 ? "" : "s");
}

}  // namespace

LineColumn line_column(std::string_view text, std::size_t offset) {
  offset = std::min(offset, text.size());
  const Line line = line_around(text, offset);
  const auto lines = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(line.begin), '\n');
  return {1 + static_cast<std::size_t>(lines), 1 + characters(text.substr(line.begin, offset - line.begin))};
}

void Problems::add(Severity severity, Stretch where, std::string pointer, std::string text) {
  ++(severity == Severity::error ? errors_ : warnings_);
  if (list_.size() < kMost) list_.push_back({severity, where, std::move(pointer), std::move(text)});
}

void Problems::sort() {
  std::stable_sort(list_.begin(), list_.end(), [](const Problem& a, const Problem& b) {
    return std::pair(a.where.begin, a.severity) < std::pair(b.where.begin, b.severity);
  });
}

std::string render(const Problem& problem, std::string_view file, std::string_view text) {
  const LineColumn place = line_column(text, problem.where.begin);
  std::string out = printable(file, 4096) + ':' + std::to_string(place.line) + ':' + std::to_string(place.column) +
                    (problem.severity == Severity::error ? ": error: " : ": warning: ");
  if (!problem.pointer.empty()) out += printable(problem.pointer, 300) + ": ";
  return out + problem.text + '\n' + source_with_caret(problem, text);
}

std::string render(const Problems& problems, std::string_view file, std::string_view text) {
  if (problems.empty()) return {};
  std::string out;
  for (const Problem& problem : problems.list()) out += render(problem, file, text);
  const std::size_t left_out = problems.errors() + problems.warnings() - problems.list().size();
  if (left_out > 0) out += "and " + std::to_string(left_out) + " more\n";
  return out + counted(problems.errors(), "error") + ", " + counted(problems.warnings(), "warning") + '\n';
}

std::string printable(std::string_view text, std::size_t most) {
  std::string out;
  for (std::size_t shown = 0; !text.empty(); ++shown) {
    if (shown == most) return out + "...";
    const CodePoint point = first_code_point(text);
    std::array<char, 16> escape{};
    if (point.length == 0) {
      std::snprintf(escape.data(), escape.size(), "\\x%02X", static_cast<unsigned>(static_cast<unsigned char>(text.front())));
      out += escape.data();
    } else if (is_unprintable(point.value)) {
      std::snprintf(escape.data(), escape.size(), "\\u%04X", static_cast<unsigned>(point.value));
      out += escape.data();
    } else {
      out.append(text.substr(0, point.length));
    }
    text.remove_prefix(std::max<std::size_t>(point.length, 1));
  }
  return out;
}

std::string pointer_token(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  }
  return out;
}

}  // namespace cupool::policy
