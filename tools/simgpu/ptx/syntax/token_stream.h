// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tools/simgpu/ptx/syntax/lexer.h"
#include "tools/simgpu/ptx/syntax/module.h"
#include "tools/simgpu/ptx/syntax/parser.h"

namespace cupool::simgpu::ptx {

/// The parser's view of the text: one current token, and the first error.
///
/// After fail() the current token is `end` for ever, so parsing functions run out by themselves and nobody checks after each step.
class TokenStream {
 public:
  explicit TokenStream(std::string_view text) : lexer_(text) { advance(); }

  const Token& current() const { return current_; }
  bool at_end() const { return current_.kind == Token::Kind::end; }
  void advance();
  /// Leaves the line of the current token (.loc and .file have no end mark).
  void skip_line();

  /// Takes the token if it is this one.
  bool accept(char symbol);
  bool accept_dotted(std::string_view word);
  void expect(char symbol);
  std::string_view expect_word(const char* what);
  std::uint64_t expect_integer(const char* what);

  void fail(std::string message) { fail_at(current_.line, std::move(message)); }
  void fail_at(std::uint32_t line, std::string message, SyntaxError::Kind kind = SyntaxError::Kind::syntax);
  const std::optional<SyntaxError>& error() const { return error_; }

  /// "';'" or "end of text": the current token for messages.
  std::string shown() const;

 private:
  Lexer lexer_;
  Token current_;
  std::optional<SyntaxError> error_;
};

/// The text between apostrophes, for messages.
std::string quoted(std::string_view text);

/// Integer constant expression with C's operators and precedence, e.g. `(1 << 4) + 3`.
std::uint64_t parse_constant(TokenStream& tokens);

/// `.align 16 .v2 .f32 name[4][2] = {...}` after its space; adds each declared variable to `out`. Ends behind the semicolon.
void parse_variables(TokenStream& tokens, Space space, Linkage linkage, std::vector<Variable>& out);

/// One parameter: after `.param` or `.reg`, up to the comma or the parenthesis.
Variable parse_parameter(TokenStream& tokens, Space space);

/// Everything between the braces of a function; the opening one has been taken.
void parse_body(TokenStream& tokens, Function& function);

}  // namespace cupool::simgpu::ptx
