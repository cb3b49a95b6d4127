// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/syntax/lexer.h"

#include <bit>
#include <cstdlib>

namespace cupool::simgpu::ptx {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_follow(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '$';
}
bool is_word_start(char c) {
  return is_letter(c) || c == '_' || c == '$' || c == '%';
}

int digit_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

std::string printable(char c) {
  if (c >= ' ' && c <= '~') return std::string("'") + c + "'";
  static const char* kHex = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  return std::string("byte 0x") + kHex[byte >> 4] + kHex[byte & 15];
}

}  // namespace

Token Lexer::fail(std::string what) {
  if (error_.empty()) {
    error_ = std::move(what);
    error_line_ = line_;
  }
  at_ = text_.size();
  return Token{.line = line_};
}

bool Lexer::skip_blanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') {
      ++line_;
      ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++at_;
    } else if (c == '/' && peek(1) == '/') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (c == '/' && peek(1) == '*') {
      const std::size_t end = text_.find("*/", at_ + 2);
      if (end == std::string_view::npos) {
        fail("comment without end");
        return false;
      }
      for (; at_ < end + 2; ++at_) line_ += text_[at_] == '\n' ? 1 : 0;
    } else {
      return true;
    }
  }
  return false;
}

Token Lexer::next() {
  if (!skip_blanks()) return Token{.line = line_};
  const char c = text_[at_];
  if (is_word_start(c)) return word();
  if (c == '.' && (is_follow(peek(1)))) return dotted();
  if (is_digit(c)) return number();
  if (c == '"') return string();
  return symbol();
}

Token Lexer::next_after_line(std::uint32_t line) {
  while (line_ <= line && at_ < text_.size()) {
    if (text_[at_++] == '\n') ++line_;
  }
  return next();
}

Token Lexer::word() {
  const std::size_t begin = at_++;
  while (is_follow(peek())) ++at_;
  return Token{.kind = Token::Kind::word, .line = line_, .text = text_.substr(begin, at_ - begin)};
}

Token Lexer::dotted() {
  const std::size_t begin = ++at_;
  while (true) {
    while (is_follow(peek())) ++at_;
    if (peek() != ':' || peek(1) != ':' || !is_follow(peek(2))) break;
    at_ += 2;
  }
  return Token{.kind = Token::Kind::dotted, .line = line_, .text = text_.substr(begin, at_ - begin)};
}

Token Lexer::hex_real(bool is_double) {
  const std::size_t begin = at_;
  const std::size_t digits = is_double ? 16 : 8;
  at_ += 2;
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < digits; ++i, ++at_) {
    if (digit_value(peek()) > 15) return fail(is_double ? "0d needs 16 hexadecimal digits" : "0f needs 8 hexadecimal digits");
    bits = bits << 4 | static_cast<std::uint64_t>(digit_value(peek()));
  }
  return Token{
      .kind = Token::Kind::real, .is_double = is_double, .line = line_, .text = text_.substr(begin, at_ - begin), .value = bits};
}

Token Lexer::number() {
  const std::size_t begin = at_;
  const char second = peek(1);
  if (peek() == '0' && (second == 'f' || second == 'F')) return hex_real(false);
  if (peek() == '0' && (second == 'd' || second == 'D')) return hex_real(true);
  std::uint64_t base = 10;
  if (peek() == '0' && (second == 'x' || second == 'X')) base = 16;
  if (peek() == '0' && (second == 'b' || second == 'B')) base = 2;
  if (base != 10) at_ += 2;

  std::size_t end = at_;
  while (is_digit(end < text_.size() ? text_[end] : '\0')) ++end;
  const char after = end < text_.size() ? text_[end] : '\0';
  const bool decimal = base == 10 && (after == '.' || after == 'e' || after == 'E');
  if (decimal) {
    if (after == '.') {
      ++end;
      while (end < text_.size() && is_digit(text_[end])) ++end;
    }
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      ++end;
      if (end < text_.size() && (text_[end] == '+' || text_[end] == '-')) ++end;
      if (end >= text_.size() || !is_digit(text_[end])) return fail("exponent without digits");
      while (end < text_.size() && is_digit(text_[end])) ++end;
    }
    const std::string text(text_.substr(begin, end - begin));
    at_ = end;
    return Token{.kind = Token::Kind::real,
                 .is_double = true,
                 .decimal = true,
                 .line = line_,
                 .text = text_.substr(begin, end - begin),
                 .value = std::bit_cast<std::uint64_t>(std::strtod(text.c_str(), nullptr))};
  }
  if (base == 10 && peek() == '0' && is_digit(second)) base = 8;
  std::uint64_t value = 0;
  std::size_t digits = 0;
  for (; digit_value(peek()) < static_cast<int>(base); ++at_, ++digits) {
    const auto digit = static_cast<std::uint64_t>(digit_value(peek()));
    if (value > (~std::uint64_t{0} - digit) / base) return fail("integer does not fit in 64 bits");
    value = value * base + digit;
  }
  if (digits == 0) return fail("number without digits");
  const bool is_unsigned = peek() == 'U' || peek() == 'u';
  if (is_unsigned) ++at_;
  if (is_follow(peek())) return fail(std::string("number followed by ") + printable(peek()));
  return Token{.kind = Token::Kind::integer,
               .is_unsigned = is_unsigned,
               .line = line_,
               .text = text_.substr(begin, at_ - begin),
               .value = value};
}

Token Lexer::string() {
  const std::size_t begin = ++at_;
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') at_ += text_[at_] == '\\' && at_ + 1 < text_.size() ? 2 : 1;
  if (at_ >= text_.size() || text_[at_] != '"') return fail("string without end");
  const Token token{.kind = Token::Kind::string, .line = line_, .text = text_.substr(begin, at_ - begin)};
  ++at_;
  return token;
}

Token Lexer::symbol() {
  static constexpr std::string_view kSingle = ",;:{}[]()<>@!|+-*/%&^~=?.";
  const char c = peek();
  if (kSingle.find(c) == std::string_view::npos) return fail("unexpected " + printable(c));
  std::size_t length = 1;
  if ((c == '@' && peek(1) == '@') || (c == '<' && peek(1) == '<') || (c == '>' && peek(1) == '>')) length = 2;
  const Token token{.kind = Token::Kind::symbol, .line = line_, .text = text_.substr(at_, length)};
  at_ += length;
  return token;
}

}  // namespace cupool::simgpu::ptx
