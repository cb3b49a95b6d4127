// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cupool::simgpu::ptx {

struct Token {
  enum class Kind : std::uint8_t {
    end,      ///< end of text, or after an error
    word,     ///< identifier: `add`, `%r1`, `$L__BB0_1`
    dotted,   ///< `.global`, `.L2::128B`: text holds it without the dot
    integer,  ///< value
    real,     ///< value holds the bits; is_double tells whether of an f64 (`0d`, decimal) or an f32 (`0f`)
    string,   ///< text without the quotes
    symbol,   ///< one character of punctuation, or `@@`, `<<`, `>>`
  };
  Kind kind = Kind::end;
  bool is_double = false;
  bool decimal = false;      ///< a real written in decimals: takes the instruction's type
  bool is_unsigned = false;  ///< an integer with the suffix U
  std::uint32_t line = 1;
  std::string_view text = {};
  std::uint64_t value = 0;

  bool is(char c) const { return kind == Kind::symbol && text.size() == 1 && text[0] == c; }
  bool is_word(std::string_view w) const { return kind == Kind::word && text == w; }
  bool is_dotted(std::string_view w) const { return kind == Kind::dotted && text == w; }
};

/// Splits PTX text into tokens. The text must outlive the lexer and its tokens. Comments and white space vanish.
///
/// A character that starts no token, an unterminated string or comment, or a number out of range is an error: it is kept (once),
/// and from then on every token is `end`, so that callers need not look after each call.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next();
  /// Skips to the end of the line that `token` stands on and gives the first token after it (for .loc and .file).
  Token next_after_line(std::uint32_t line);
  /// "" while all is well, else what was wrong, for the line error_line().
  const std::string& error() const { return error_; }
  std::uint32_t error_line() const { return error_line_; }

 private:
  bool skip_blanks();
  Token word();
  Token dotted();
  Token number();
  Token hex_real(bool is_double);
  Token string();
  Token symbol();
  Token fail(std::string what);
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  std::string error_;
  std::uint32_t error_line_ = 0;
};

}  // namespace cupool::simgpu::ptx
