// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/syntax/token_stream.h"

namespace cupool::simgpu::ptx {

std::string quoted(std::string_view text) {
  return std::string(1, '\'').append(text).append("'");
}

void TokenStream::advance() {
  if (error_) return;
  current_ = lexer_.next();
  if (!lexer_.error().empty()) fail_at(lexer_.error_line(), lexer_.error());
}

void TokenStream::skip_line() {
  if (error_) return;
  current_ = lexer_.next_after_line(current_.line);
  if (!lexer_.error().empty()) fail_at(lexer_.error_line(), lexer_.error());
}

void TokenStream::fail_at(std::uint32_t line, std::string message, SyntaxError::Kind kind) {
  if (!error_) error_ = SyntaxError{kind, line, std::move(message)};
  current_ = Token{.line = line};
}

std::string TokenStream::shown() const {
  switch (current_.kind) {
    case Token::Kind::end:
      return "end of text";
    case Token::Kind::dotted:
      return std::string("'.").append(current_.text).append("'");
    case Token::Kind::string:
      return "a string";
    default:
      return std::string("'").append(current_.text).append("'");
  }
}

bool TokenStream::accept(char symbol) {
  if (!current_.is(symbol)) return false;
  advance();
  return true;
}

bool TokenStream::accept_dotted(std::string_view word) {
  if (!current_.is_dotted(word)) return false;
  advance();
  return true;
}

void TokenStream::expect(char symbol) {
  if (!accept(symbol)) fail(std::string("expected '").append(1, symbol).append("' before ").append(shown()));
}

std::string_view TokenStream::expect_word(const char* what) {
  if (current_.kind != Token::Kind::word) {
    fail(std::string("expected ") + what + " before " + shown());
    return {};
  }
  const std::string_view word = current_.text;
  advance();
  return word;
}

std::uint64_t TokenStream::expect_integer(const char* what) {
  if (current_.kind != Token::Kind::integer) {
    fail(std::string("expected ") + what + " before " + shown());
    return 0;
  }
  const std::uint64_t value = current_.value;
  advance();
  return value;
}

namespace {

constexpr int kMaxDepth = 64;

int precedence(const Token& token) {
  if (token.kind != Token::Kind::symbol) return -1;
  if (token.text == "<<" || token.text == ">>") return 4;
  switch (token.text[0]) {
    case '|':
      return 1;
    case '^':
      return 2;
    case '&':
      return 3;
    case '+':
    case '-':
      return 5;
    case '*':
    case '/':
    case '%':
      return 6;
    default:
      return -1;
  }
}

std::uint64_t apply(TokenStream& tokens, std::string_view op, std::uint64_t a, std::uint64_t b) {
  if (op == "<<") return b < 64 ? a << b : 0;
  if (op == ">>") return b < 64 ? a >> b : 0;
  switch (op[0]) {
    case '|':
      return a | b;
    case '^':
      return a ^ b;
    case '&':
      return a & b;
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    default:
      break;
  }
  if (b == 0) {
    tokens.fail("division by zero in a constant expression");
    return 0;
  }
  return op[0] == '/' ? a / b : a % b;
}

std::uint64_t parse_level(TokenStream& tokens, int level, int depth);

std::uint64_t parse_unary(TokenStream& tokens, int depth) {
  if (depth > kMaxDepth) {
    tokens.fail("constant expression nested too deeply");
    return 0;
  }
  if (tokens.accept('-')) return std::uint64_t{0} - parse_unary(tokens, depth + 1);
  if (tokens.accept('+')) return parse_unary(tokens, depth + 1);
  if (tokens.accept('~')) return ~parse_unary(tokens, depth + 1);
  if (tokens.accept('!')) return parse_unary(tokens, depth + 1) == 0 ? 1 : 0;
  if (tokens.accept('(')) {
    const std::uint64_t value = parse_level(tokens, 1, depth + 1);
    tokens.expect(')');
    return value;
  }
  if (tokens.current().is_word("WARP_SZ")) {
    tokens.advance();
    return 32;
  }
  return tokens.expect_integer("a constant");
}

std::uint64_t parse_level(TokenStream& tokens, int level, int depth) {
  std::uint64_t left = parse_unary(tokens, depth);
  while (true) {
    const int found = precedence(tokens.current());
    if (found < level) return left;
    const std::string_view op = tokens.current().text;
    tokens.advance();
    left = apply(tokens, op, left, parse_level(tokens, found + 1, depth + 1));
  }
}

}  // namespace

std::uint64_t parse_constant(TokenStream& tokens) {
  return parse_level(tokens, 1, 0);
}

}  // namespace cupool::simgpu::ptx
