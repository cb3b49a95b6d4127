// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/syntax/parser.h"

#include <algorithm>

#include "tools/simgpu/ptx/syntax/token_stream.h"

namespace cupool::simgpu::ptx {
namespace {

constexpr std::uint32_t kOldestVersion = 30;
constexpr std::uint32_t kNewestVersion = 99;

class ModuleParser {
 public:
  ModuleParser(TokenStream& tokens, Module& module) : tokens_(tokens), module_(module) {}

  void run() {
    if (!tokens_.accept_dotted("version")) return tokens_.fail("PTX starts with .version, not with " + tokens_.shown());
    version();
    while (!tokens_.at_end()) item();
    if (module_.target == 0) tokens_.fail("no .target");
  }

 private:
  void version() {
    const Token token = tokens_.current();
    if (token.kind != Token::Kind::real || !token.decimal) return tokens_.fail("expected a version such as 8.3");
    const std::size_t dot = token.text.find('.');
    const std::string_view minor = token.text.substr(dot + 1);
    if (dot != 1 || minor.size() != 1 || minor[0] < '0' || minor[0] > '9') return tokens_.fail("expected a version such as 8.3");
    module_.version = static_cast<std::uint32_t>(token.text[0] - '0') * 10 + static_cast<std::uint32_t>(minor[0] - '0');
    if (module_.version < kOldestVersion || module_.version > kNewestVersion) {
      return tokens_.fail_at(token.line, "PTX version " + std::string(token.text) + " is not supported (3.0 to 9.x are)",
                             SyntaxError::Kind::version);
    }
    tokens_.advance();
  }

  void target() {
    do {
      const std::uint32_t line = tokens_.current().line;
      const std::string_view word = tokens_.expect_word("a target");
      if (!word.starts_with("sm_")) continue;  // debug, texmode_unified, ...
      std::uint32_t number = 0;
      std::size_t at = 3;
      for (; at < word.size() && word[at] >= '0' && word[at] <= '9' && number < 1000; ++at) {
        number = number * 10 + static_cast<std::uint32_t>(word[at] - '0');
      }
      const bool suffixed = at + 1 == word.size() && (word[at] == 'a' || word[at] == 'f');
      if ((at != word.size() && !suffixed) || number < 20 || number > 199) {
        return tokens_.fail_at(line, "target " + quoted(word) + " is not known", SyntaxError::Kind::version);
      }
      module_.target = number;
    } while (tokens_.accept(','));
  }

  void item() {
    if (tokens_.accept(';')) return;
    const Token token = tokens_.current();
    if (token.kind == Token::Kind::symbol && token.text == "@@") return tokens_.skip_line();
    if (token.kind != Token::Kind::dotted) return tokens_.fail("expected a directive before " + tokens_.shown());
    if (token.text == "file" || token.text == "loc") return tokens_.skip_line();
    tokens_.advance();
    if (token.text == "target") return target();
    if (token.text == "address_size") return address_size();
    if (token.text == "section") return section();
    if (token.text == "pragma") return skip_statement();
    linked_item(token);
  }

  void address_size() {
    const std::uint64_t bits = tokens_.expect_integer("32 or 64");
    if (bits != 64) return tokens_.fail("only .address_size 64 is supported");
    module_.address_bits = 64;
  }

  void skip_statement() {
    while (!tokens_.at_end() && !tokens_.accept(';')) tokens_.advance();
  }

  void section() {
    while (!tokens_.at_end() && !tokens_.current().is('{')) tokens_.advance();
    tokens_.expect('{');
    while (!tokens_.at_end() && !tokens_.accept('}')) tokens_.advance();
  }

  void linked_item(Token token) {
    Linkage linkage = Linkage::none;
    while (true) {
      if (token.text == "visible")
        linkage = Linkage::visible;
      else if (token.text == "extern")
        linkage = Linkage::external;
      else if (token.text == "weak")
        linkage = Linkage::weak;
      else if (token.text == "common")
        linkage = Linkage::common;
      else
        break;
      token = tokens_.current();
      if (token.kind != Token::Kind::dotted) return tokens_.fail("expected a directive before " + tokens_.shown());
      tokens_.advance();
    }
    if (token.text == "entry") return function(linkage, true, token.line);
    if (token.text == "func") return function(linkage, false, token.line);
    if (token.text == "global") return parse_variables(tokens_, Space::global, linkage, module_.variables);
    if (token.text == "const") return parse_variables(tokens_, Space::constant, linkage, module_.variables);
    if (token.text == "shared") return parse_variables(tokens_, Space::shared, linkage, module_.variables);
    tokens_.fail_at(token.line, "directive '." + std::string(token.text) + "' is not supported");
  }

  void parameters(std::vector<Variable>& out) {
    tokens_.expect('(');
    if (tokens_.accept(')')) return;
    do {
      const bool reg = tokens_.accept_dotted("reg");
      if (!reg && !tokens_.accept_dotted("param")) return tokens_.fail("expected .param or .reg before " + tokens_.shown());
      out.push_back(parse_parameter(tokens_, reg ? Space::reg : Space::param));
    } while (tokens_.accept(','));
    tokens_.expect(')');
  }

  void function(Linkage linkage, bool is_entry, std::uint32_t line) {
    Function made;
    made.is_entry = is_entry;
    made.linkage = linkage;
    made.line = line;
    tokens_.accept_dotted("attribute");
    if (tokens_.current().is('(') && !is_entry) parameters(made.returns);
    made.name = tokens_.expect_word("a function's name");
    if (tokens_.current().is('(')) parameters(made.parameters);
    if (is_entry &&
        std::any_of(made.parameters.begin(), made.parameters.end(), [](const Variable& v) { return v.space == Space::reg; })) {
      tokens_.fail("a kernel's parameters are .param");
    }
    performance_directives(made);
    if (tokens_.accept('{')) {
      made.has_body = true;
      parse_body(tokens_, made);
    } else {
      tokens_.expect(';');
    }
    if (!tokens_.at_end() || !tokens_.error()) module_.functions.push_back(std::move(made));
  }

  void dimensions(std::uint32_t (&out)[3]) {
    out[1] = out[2] = 1;
    for (std::uint32_t& value : out) {
      const std::uint64_t given = tokens_.expect_integer("a number of threads");
      if (given > 1024 * 1024) return tokens_.fail("number of threads out of range");
      value = static_cast<std::uint32_t>(given);
      if (!tokens_.accept(',')) return;
    }
  }

  void performance_directives(Function& made) {
    while (tokens_.current().kind == Token::Kind::dotted) {
      const Token token = tokens_.current();
      tokens_.advance();
      if (token.text == "maxntid") {
        dimensions(made.max_block);
      } else if (token.text == "reqntid") {
        dimensions(made.required_block);
      } else if (token.text == "minnctapersm" || token.text == "maxnreg" || token.text == "maxnctapersm" ||
                 token.text == "maxclusterrank") {
        tokens_.expect_integer("a number");
      } else if (token.text == "reqnctapercluster") {
        std::uint32_t cluster[3] = {0, 0, 0};
        dimensions(cluster);
        if (std::uint64_t{cluster[0]} * cluster[1] * cluster[2] != 1) {
          tokens_.fail_at(token.line, "clusters of more than one block are not supported");
        }
      } else if (token.text == "pragma") {
        skip_statement();
      } else if (token.text != "noreturn" && token.text != "explicitcluster" && token.text != "blocksareclusters") {
        tokens_.fail_at(token.line, "directive '." + std::string(token.text) + "' is not supported");
      }
    }
  }

  TokenStream& tokens_;
  Module& module_;
};

}  // namespace

tl::expected<Module, SyntaxError> parse(std::string_view text) {
  Module module;
  TokenStream tokens(text);
  ModuleParser(tokens, module).run();
  if (tokens.error()) return tl::unexpected<SyntaxError>(*tokens.error());
  return module;
}

}  // namespace cupool::simgpu::ptx
