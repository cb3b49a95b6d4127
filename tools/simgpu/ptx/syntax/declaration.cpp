// SPDX-License-Identifier: Apache-2.0
#include "policy/base/units.h"
#include "tools/simgpu/ptx/syntax/token_stream.h"

namespace cupool::simgpu::ptx {
namespace {

/// Larger variables do not fit any device, and their product of dimensions might not fit in 64 bits.
constexpr std::uint64_t kMaxVariableBytes = std::uint64_t{1} << 36;
constexpr std::uint64_t kMaxInitialisedBytes = std::uint64_t{1} << 26;

struct Shape {
  Type type;
  std::uint32_t vector = 1;
  std::uint32_t alignment = 0;
  bool has_type = false;
};

void skip_parentheses(TokenStream& tokens) {
  tokens.expect('(');
  while (!tokens.at_end() && !tokens.accept(')')) tokens.advance();
}

std::uint32_t parse_alignment(TokenStream& tokens) {
  const std::uint64_t value = tokens.expect_integer("an alignment");
  if (!is_power_of_two(value) || value > 4096) tokens.fail("alignment must be a power of two up to 4096");
  return static_cast<std::uint32_t>(value);
}

Shape parse_shape(TokenStream& tokens) {
  Shape shape;
  while (tokens.current().kind == Token::Kind::dotted) {
    const std::string_view word = tokens.current().text;
    tokens.advance();
    if (word == "align") {
      shape.alignment = parse_alignment(tokens);
    } else if (word == "v2" || word == "v4") {
      shape.vector = word == "v2" ? 2 : 4;
    } else if (word == "attribute") {
      skip_parentheses(tokens);
    } else if (word == "ptr") {
      // .ptr .global .align 16: what a pointer points to, which we do not rely on.
      if (tokens.current().is_dotted("global") || tokens.current().is_dotted("const") || tokens.current().is_dotted("shared") ||
          tokens.current().is_dotted("local")) {
        tokens.advance();
      }
      if (tokens.accept_dotted("align")) parse_alignment(tokens);
    } else if (const auto type = type_from_word(word)) {
      shape.type = *type;
      shape.has_type = true;
    } else {
      tokens.fail("'." + std::string(word) + "' is not supported in a declaration");
    }
  }
  if (!shape.has_type) tokens.fail("expected a type before " + tokens.shown());
  if (shape.type.width < 8 && shape.type.kind != Kind::predicate) tokens.fail("'." + to_text(shape.type) + "' cannot be declared");
  return shape;
}

Initialiser parse_initial_address(TokenStream& tokens) {
  Initialiser initial;
  const std::string_view word = tokens.expect_word("a name");
  if (word == "generic") {
    tokens.expect('(');
    initial.symbol = tokens.expect_word("a name");
    if (tokens.accept('+')) initial.value = parse_constant(tokens);
    tokens.expect(')');
  } else {
    initial.symbol = word;
  }
  if (tokens.accept('+')) initial.value += parse_constant(tokens);
  if (tokens.accept('-')) initial.value -= parse_constant(tokens);
  return initial;
}

/// 0xff00(name): one byte of an address.
Initialiser parse_masked(TokenStream& tokens, std::uint64_t mask) {
  tokens.expect('(');
  Initialiser initial = parse_initial_address(tokens);
  tokens.expect(')');
  initial.masked = true;
  while (initial.mask_shift < 56 && (mask >> initial.mask_shift & 0xff) == 0) initial.mask_shift += 8;
  if (mask >> initial.mask_shift != 0xff) tokens.fail("a mask must be 0xff shifted by whole bytes");
  return initial;
}

Initialiser parse_initial_value(TokenStream& tokens) {
  Initialiser initial;
  const Token& token = tokens.current();
  const bool negative = token.is('-');
  if (token.kind == Token::Kind::word && token.text != "WARP_SZ") return parse_initial_address(tokens);
  if (token.kind == Token::Kind::real) {
    initial = Initialiser{.value = token.value, .is_real = true, .is_double = token.is_double, .symbol = {}};
    tokens.advance();
    return initial;
  }
  if (token.kind == Token::Kind::integer) {
    const std::uint64_t mask = token.value;
    // A constant expression also starts with an integer; only the parenthesis tells a mask.
    TokenStream ahead = tokens;
    ahead.advance();
    if (ahead.current().is('(')) {
      tokens.advance();
      return parse_masked(tokens, mask);
    }
  }
  if (negative) {
    TokenStream ahead = tokens;
    ahead.advance();
    if (ahead.current().kind == Token::Kind::real) {
      tokens.advance();
      const Token real = tokens.current();
      tokens.advance();
      const std::uint64_t sign = real.is_double ? std::uint64_t{1} << 63 : std::uint64_t{1} << 31;
      return Initialiser{.value = real.value ^ sign, .is_real = true, .is_double = real.is_double, .symbol = {}};
    }
  }
  initial.value = parse_constant(tokens);
  return initial;
}

void parse_initial_list(TokenStream& tokens, std::vector<Initialiser>& out, int depth) {
  if (depth > 16) return tokens.fail("initialiser nested too deeply");
  if (!tokens.accept('{')) {
    out.push_back(parse_initial_value(tokens));
    return;
  }
  if (tokens.accept('}')) return;
  do {
    parse_initial_list(tokens, out, depth + 1);
  } while (tokens.accept(','));
  tokens.expect('}');
}

void parse_dimensions(TokenStream& tokens, Variable& variable) {
  while (tokens.accept('[')) {
    if (tokens.accept(']')) {
      variable.count = 0;
      continue;
    }
    const std::uint64_t dimension = parse_constant(tokens);
    tokens.expect(']');
    const auto product = checked_mul(variable.count, dimension);
    if (!product || *product > kMaxVariableBytes) return tokens.fail("variable is too large");
    variable.count = *product;
  }
}

void finish(TokenStream& tokens, Variable& variable, const Shape& shape) {
  const std::uint64_t element = std::uint64_t{shape.type.bytes()} * shape.vector;
  variable.type = shape.type;
  variable.alignment = shape.alignment != 0 ? shape.alignment : static_cast<std::uint32_t>(element);
  variable.size = variable.count * element;
  if (variable.size > kMaxVariableBytes) tokens.fail("variable is too large");
}

}  // namespace

void parse_variables(TokenStream& tokens, Space space, Linkage linkage, std::vector<Variable>& out) {
  const Shape shape = parse_shape(tokens);
  do {
    Variable variable;
    variable.line = tokens.current().line;
    variable.space = space;
    variable.linkage = linkage;
    variable.name = tokens.expect_word("a name");
    if (tokens.current().is('<')) return tokens.fail("only registers can be declared in ranges");
    parse_dimensions(tokens, variable);
    if (tokens.accept('=')) {
      parse_initial_list(tokens, variable.initial, 0);
      if (variable.count == 0) variable.count = variable.initial.size();
    }
    finish(tokens, variable, shape);
    const std::uint64_t elements = variable.count * shape.vector;
    if (variable.initial.size() > elements) tokens.fail("more initial values than elements");
    if (!variable.initial.empty() && variable.size > kMaxInitialisedBytes) tokens.fail("initialised variable is too large");
    if (tokens.at_end()) return;
    out.push_back(std::move(variable));
  } while (tokens.accept(','));
  tokens.expect(';');
}

Variable parse_parameter(TokenStream& tokens, Space space) {
  Variable variable;
  variable.space = space;
  const Shape shape = parse_shape(tokens);
  variable.line = tokens.current().line;
  variable.name = tokens.expect_word("a parameter's name");
  parse_dimensions(tokens, variable);
  finish(tokens, variable, shape);
  return variable;
}

}  // namespace cupool::simgpu::ptx
