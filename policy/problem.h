// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cupool::policy {

enum class Severity : std::uint8_t { error, warning };

/// A stretch of a file's text, in bytes from its start.
struct Stretch {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// What is wrong with a policy file, and what to write instead.
struct Problem {
  Severity severity = Severity::error;
  Stretch where;
  std::string pointer;  ///< JSON pointer (RFC 6901); empty for the whole document or the text itself
  std::string text;
};

/// Where a byte stands: both count from 1; columns count code points.
struct LineColumn {
  std::size_t line = 1;
  std::size_t column = 1;
};
LineColumn line_column(std::string_view text, std::size_t offset);

/// The problems of one file, in the order of the text once sorted. Bounded: the first kMost are kept, the rest counted.
class Problems {
 public:
  static constexpr std::size_t kMost = 100;

  void add(Severity severity, Stretch where, std::string pointer, std::string text);
  /// No more are kept: a caller may then leave costly words out.
  bool full() const { return list_.size() == kMost; }
  /// Errors first where two stand at the same place.
  void sort();

  const std::vector<Problem>& list() const { return list_; }
  std::size_t errors() const { return errors_; }      ///< counted, also beyond kMost
  std::size_t warnings() const { return warnings_; }  ///< the same
  bool empty() const { return errors_ + warnings_ == 0; }

 private:
  std::vector<Problem> list_;
  std::size_t errors_ = 0;
  std::size_t warnings_ = 0;
};

/// "file:line:col: error: /pointer: text", the line of the source and a caret under the place; ends with a newline. Safe to print:
/// whatever a terminal would act on is shown as "?" or escaped.
std::string render(const Problem& problem, std::string_view file, std::string_view text);

/// All of them, and a last line "2 errors, 1 warning". Empty when there are none.
std::string render(const Problems& problems, std::string_view file, std::string_view text);

/// Text from a file or the environment, safe for a message: control characters, bidirectional marks and invalid UTF-8 escaped,
/// at most `most` characters and then "...".
std::string printable(std::string_view text, std::size_t most = 80);

/// A reference token of a JSON pointer: "~" and "/" escaped.
std::string pointer_token(std::string_view name);

}  // namespace cupool::policy
