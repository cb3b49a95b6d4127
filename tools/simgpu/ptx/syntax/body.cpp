// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tools/simgpu/ptx/syntax/scope.h"
#include "tools/simgpu/ptx/syntax/token_stream.h"

namespace cupool::simgpu::ptx {
namespace {

constexpr int kMaxScopes = 64;
constexpr int kMaxOperandDepth = 8;

/// A use of a label before all labels are known.
struct LabelUse {
  std::size_t instruction = 0;
  std::size_t operand = 0;
  std::size_t table = 0;  ///< for .branchtargets
  bool in_table = false;
  std::string_view name = {};
  std::uint32_t scope = 0;
  std::uint32_t line = 0;
};

class BodyParser {
 public:
  BodyParser(TokenStream& tokens, Function& function) : tokens_(tokens), function_(function), scopes_(function) {}

  void run() {
    declare_parameters();
    int depth = 0;
    while (!tokens_.at_end()) {
      if (tokens_.accept('{')) {
        if (++depth > kMaxScopes) return tokens_.fail("scopes nested too deeply");
        scopes_.open();
      } else if (tokens_.accept('}')) {
        if (depth-- == 0) return resolve_labels();
        scopes_.close();
      } else {
        statement();
      }
    }
    tokens_.fail("function " + std::string(function_.name) + " has no end");
  }

 private:
  void declare_parameters() {
    const auto declare = [this](const std::vector<Variable>& list, std::vector<RegisterId>& registers) {
      for (const Variable& parameter : list) {
        registers.push_back(kNoRegister);
        if (parameter.space != Space::reg) continue;
        if (!scopes_.declare_register(parameter.name, parameter.type)) twice(parameter.name);
        registers.back() = scopes_.find_register(parameter.name).value_or(kNoRegister);
      }
    };
    declare(function_.returns, function_.register_returns);
    declare(function_.parameters, function_.register_parameters);
  }

  void twice(std::string_view name) { tokens_.fail(quoted(name) + " is declared twice in this scope"); }

  void statement() {
    const Token& token = tokens_.current();
    if (tokens_.accept(';')) return;
    if (token.kind == Token::Kind::dotted) return directive();
    if (token.is('@')) return instruction();
    if (token.kind == Token::Kind::symbol && token.text == "@@") return tokens_.skip_line();
    if (token.kind != Token::Kind::word) return tokens_.fail("expected an instruction before " + tokens_.shown());
    const std::uint32_t line = token.line;
    const std::string_view word = token.text;
    tokens_.advance();
    if (tokens_.accept(':')) return label(word, line);
    instruction_after(word, line, kNoRegister, false);
  }

  void label(std::string_view name, std::uint32_t line) {
    const Token& token = tokens_.current();
    if (token.is_dotted("branchtargets")) return branch_targets(name);
    if (token.is_dotted("callprototype") || token.is_dotted("calltargets")) {
      // What an indirect call may reach: checked when it is made.
      if (!scopes_.declare_table(name)) twice(name);
      return skip_statement();
    }
    const auto index = static_cast<std::int32_t>(function_.labels.size());
    function_.labels.push_back(Label{name, static_cast<std::uint32_t>(function_.instructions.size())});
    if (!scopes_.declare_label(name, index)) tokens_.fail_at(line, quoted(name) + " is declared twice in this scope");
  }

  void skip_statement() {
    while (!tokens_.at_end() && !tokens_.accept(';')) tokens_.advance();
  }

  void branch_targets(std::string_view name) {
    tokens_.advance();
    if (!scopes_.declare_table(name)) twice(name);
    const std::size_t table = function_.tables.size();
    function_.tables.push_back(BranchTable{name, {}});
    do {
      const std::uint32_t line = tokens_.current().line;
      const std::string_view target = tokens_.expect_word("a label");
      uses_.push_back(LabelUse{.operand = function_.tables[table].labels.size(),
                               .table = table,
                               .in_table = true,
                               .name = target,
                               .scope = scopes_.current(),
                               .line = line});
      function_.tables[table].labels.push_back(-1);
    } while (tokens_.accept(','));
    tokens_.expect(';');
  }

  void directive() {
    const std::string_view word = tokens_.current().text;
    if (word == "loc" || word == "file") return tokens_.skip_line();
    const Token taken = tokens_.current();
    tokens_.advance();
    if (word == "reg") return registers();
    if (word == "local") return variables(Space::local);
    if (word == "shared") return variables(Space::shared);
    if (word == "param") return variables(Space::param);
    if (word == "global") return variables(Space::global);
    if (word == "const") return variables(Space::constant);
    if (word == "pragma") return skip_statement();
    tokens_.fail_at(taken.line, "directive '." + std::string(word) + "' is not supported in a function");
  }

  void registers() {
    std::optional<Type> type;
    while (tokens_.current().kind == Token::Kind::dotted) {
      const std::string_view word = tokens_.current().text;
      if (word == "v2" || word == "v4") return tokens_.fail("vector registers are not supported");
      type = type_from_word(word);
      if (!type) return tokens_.fail("'." + std::string(word) + "' is not a type");
      tokens_.advance();
    }
    if (!type || (type->width < 8 && type->kind != Kind::predicate))
      return tokens_.fail("expected a type before " + tokens_.shown());
    do {
      const std::string_view name = tokens_.expect_word("a register's name");
      bool fresh = false;
      if (tokens_.accept('<')) {
        fresh = scopes_.declare_registers(name, *type, tokens_.expect_integer("the number of registers"));
        tokens_.expect('>');
      } else {
        fresh = scopes_.declare_register(name, *type);
      }
      if (!fresh) twice(name);
    } while (tokens_.accept(','));
    tokens_.expect(';');
  }

  void variables(Space space) {
    const std::size_t before = function_.variables.size();
    parse_variables(tokens_, space, Linkage::none, function_.variables);
    for (std::size_t i = before; i < function_.variables.size(); ++i) {
      if (!scopes_.declare_variable(function_.variables[i].name, static_cast<std::int32_t>(i))) twice(function_.variables[i].name);
    }
  }

  void instruction() {
    const std::uint32_t line = tokens_.current().line;
    tokens_.expect('@');
    const bool negated = tokens_.accept('!');
    const std::string_view name = tokens_.expect_word("a predicate");
    const auto guard = scopes_.find_register(name);
    if (!guard || function_.registers[*guard].type != kPred) {
      return tokens_.fail_at(line, quoted(name) + " is not a predicate register");
    }
    const std::string_view opcode = tokens_.expect_word("an instruction");
    instruction_after(opcode, line, *guard, negated);
  }

  void instruction_after(std::string_view opcode, std::uint32_t line, RegisterId guard, bool negated) {
    Instruction made;
    made.line = line;
    made.guard = guard;
    made.guard_negated = negated;
    made.opcode = opcode;
    while (tokens_.current().kind == Token::Kind::dotted) {
      made.modifiers.push_back(tokens_.current().text);
      tokens_.advance();
    }
    opcode_ = opcode;
    if (!tokens_.current().is(';')) {
      do {
        operand_index_ = made.operands.size();
        made.operands.push_back(operand(0));
      } while (tokens_.accept(','));
    }
    if (!tokens_.current().is(';') && !tokens_.at_end()) tokens_.fail("expected ';' before " + tokens_.shown());
    tokens_.accept(';');
    function_.instructions.push_back(std::move(made));
  }

  Operand operand(int depth) {
    if (depth > kMaxOperandDepth) {
      tokens_.fail("operand nested too deeply");
      return {};
    }
    Operand first = simple_operand(depth);
    if (!tokens_.accept('|')) return first;
    Operand pair{.kind = Operand::Kind::pair};
    pair.elements.push_back(std::move(first));
    pair.elements.push_back(simple_operand(depth + 1));
    return pair;
  }

  Operand simple_operand(int depth) {
    const Token token = tokens_.current();
    if (token.is('[')) return address();
    if (token.is('{')) return group(Operand::Kind::vector, '}', depth);
    if (token.is('(') && opcode_ == "call") return group(Operand::Kind::list, ')', depth);
    if (token.is('!')) {
      tokens_.advance();
      Operand inner = simple_operand(depth + 1);
      if (!inner.is_register()) tokens_.fail("'!' needs a predicate register");
      inner.negated = !inner.negated;
      return inner;
    }
    if (token.kind == Token::Kind::real) {
      tokens_.advance();
      return Operand{.kind = Operand::Kind::real, .is_double = token.is_double, .decimal = token.decimal, .value = token.value};
    }
    if (token.is('-')) return negative();
    if (token.kind == Token::Kind::word && token.text != "WARP_SZ") return named();
    if (token.kind == Token::Kind::integer || token.is('(') || token.is('~') || token.kind == Token::Kind::word) {
      return Operand{.kind = Operand::Kind::integer, .value = parse_constant(tokens_)};
    }
    tokens_.fail("expected an operand before " + tokens_.shown());
    return {};
  }

  Operand negative() {
    TokenStream ahead = tokens_;
    ahead.advance();
    if (ahead.current().kind != Token::Kind::real) return Operand{.kind = Operand::Kind::integer, .value = parse_constant(tokens_)};
    tokens_.advance();
    const Token real = tokens_.current();
    tokens_.advance();
    const std::uint64_t sign = real.is_double ? std::uint64_t{1} << 63 : std::uint64_t{1} << 31;
    return Operand{.kind = Operand::Kind::real, .is_double = real.is_double, .decimal = real.decimal, .value = real.value ^ sign};
  }

  Operand group(Operand::Kind kind, char end, int depth) {
    Operand made{.kind = kind};
    tokens_.advance();
    if (tokens_.accept(end)) return made;
    do {
      made.elements.push_back(operand(depth + 1));
    } while (tokens_.accept(','));
    tokens_.expect(end);
    return made;
  }

  bool takes_label() const { return opcode_ == "bra" || opcode_ == "brx"; }

  Operand named() {
    const Token token = tokens_.current();
    tokens_.advance();
    Operand made;
    if (token.text == "_") return made;
    made.name = token.text;
    if (takes_label() && !made.name.starts_with('%')) {
      made.kind = Operand::Kind::symbol;
      uses_.push_back(LabelUse{.instruction = function_.instructions.size(),
                               .operand = operand_index_,
                               .name = made.name,
                               .scope = scopes_.current(),
                               .line = token.line});
      return made;
    }
    if (const auto reg = scopes_.find_register(token.text)) {
      made.kind = Operand::Kind::reg;
      made.reg = *reg;
      return made;
    }
    if (token.text.starts_with('%')) {
      made.kind = Operand::Kind::special;
      const Token& component = tokens_.current();
      if (component.kind == Token::Kind::dotted) {
        made.name = std::string_view(token.text.data(), component.text.data() + component.text.size());
        tokens_.advance();
      }
      return made;
    }
    made.kind = Operand::Kind::symbol;
    if (const auto variable = scopes_.find_variable(token.text)) made.variable = *variable;
    if (tokens_.accept('+'))
      made.value = parse_constant(tokens_);
    else if (tokens_.accept('-'))
      made.value = std::uint64_t{0} - parse_constant(tokens_);
    return made;
  }

  Operand address() {
    Operand made{.kind = Operand::Kind::address};
    tokens_.expect('[');
    const Token token = tokens_.current();
    if (token.kind == Token::Kind::word) {
      tokens_.advance();
      made.name = token.text;
      if (const auto reg = scopes_.find_register(token.text)) {
        made.reg = *reg;
      } else if (token.text.starts_with('%')) {
        tokens_.fail(quoted(token.text) + " is not declared");
      } else if (const auto variable = scopes_.find_variable(token.text)) {
        made.variable = *variable;
      }
      if (tokens_.accept('+'))
        made.value = parse_constant(tokens_);
      else if (tokens_.accept('-'))
        made.value = std::uint64_t{0} - parse_constant(tokens_);
    } else {
      made.value = parse_constant(tokens_);
    }
    if (tokens_.current().is(',')) tokens_.fail("addresses with several coordinates (textures, tensors) are not supported");
    tokens_.expect(']');
    return made;
  }

  void resolve_labels() {
    for (const LabelUse& use : uses_) {
      const auto label = scopes_.find_label(use.name, use.scope);
      if (use.in_table) {
        if (!label) return tokens_.fail_at(use.line, "label " + quoted(use.name) + " is not defined");
        function_.tables[use.table].labels[use.operand] = *label;
        continue;
      }
      Instruction& instruction = function_.instructions[use.instruction];
      const bool table = instruction.opcode == "brx" && use.operand == 1;
      if (table) continue;
      if (!label) return tokens_.fail_at(use.line, "label " + quoted(use.name) + " is not defined");
      instruction.operands[use.operand].label = *label;
    }
  }

  TokenStream& tokens_;
  Function& function_;
  Scopes scopes_;
  std::vector<LabelUse> uses_;
  std::string_view opcode_;
  std::size_t operand_index_ = 0;
};

}  // namespace

void parse_body(TokenStream& tokens, Function& function) {
  BodyParser(tokens, function).run();
}

}  // namespace cupool::simgpu::ptx
