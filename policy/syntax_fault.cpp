// SPDX-License-Identifier: Apache-2.0
#include "policy/syntax_fault.h"

#include <algorithm>

namespace cupool::policy {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The last byte before `offset` that is not blank; 0 when there is none.
char before(std::string_view text, std::size_t offset) {
  while (offset > 0 && is_blank(text[offset - 1])) --offset;
  return offset == 0 ? '\0' : text[offset - 1];
}

/// The whole word or number around a byte.
Stretch word_around(std::string_view text, std::size_t offset) {
  Stretch word{offset, offset};
  const auto belongs = [](char c) { return is_word(c) || c == '.' || c == '+' || c == '-'; };
  while (word.begin > 0 && belongs(text[word.begin - 1])) --word.begin;
  while (word.end < text.size() && belongs(text[word.end])) ++word.end;
  word.end = std::max(word.end, std::min(offset + 1, text.size()));
  return word;
}

/// The string whose closing quote stands at `close`: the reader stops there, not where the string begins.
Stretch whole_string(std::string_view text, std::size_t close) {
  std::size_t begin = close;
  while (begin > 0) {
    --begin;
    if (text[begin] != '"') continue;
    std::size_t backslashes = 0;
    while (backslashes < begin && text[begin - 1 - backslashes] == '\\') ++backslashes;
    if (backslashes % 2 == 0) break;
  }
  return {begin, close + 1};
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

SyntaxFault in_string(std::string_view text, std::size_t offset, std::string_view reason) {
  const Stretch where{offset, std::min(offset + 1, text.size())};
  if (contains(reason, "missing closing quote")) return {where, "the string never ends; close it with a double quote"};
  if (contains(reason, "control character"))
    return {where, R"(a line break or control character inside a string; close the string, or write \n)"};
  if (contains(reason, "surrogate")) return {where, R"(a lone surrogate; \uD800 to \uDFFF stand for a character in pairs only)"};
  if (contains(reason, "'\\u'")) return {where, R"(\u needs four hexadecimal digits)"};
  return {where, R"(no such escape; write \\ for a backslash)"};
}

SyntaxFault at_word(std::string_view text, Stretch word, bool name_expected) {
  const std::string_view written = text.substr(word.begin, word.end - word.begin);
  const std::string small = lower(written);
  const std::string shown = '"' + printable(written, 40) + '"';
  if (name_expected) return {word, "names stand in double quotes: " + shown};
  std::string_view bare = small;
  while (!bare.empty() && (bare.front() == '-' || bare.front() == '+')) bare.remove_prefix(1);
  if (bare == "nan" || bare == "inf" || bare == "infinity") {
    return {word,
            printable(written, 40) + R"( is no JSON value; write a number, or "infinity" in quotes where a limit may be infinite)"};
  }
  if (bare.starts_with("0x")) return {word, printable(written, 40) + " is hexadecimal; write the number in decimal"};
  if (bare.size() > 1 && bare[0] == '0' && is_digit(bare[1]))
    return {word, printable(written, 40) + " has a leading zero; leave it out"};
  if (small == "true" || small == "false" || small == "null") return {word, "write " + small + " in small letters"};
  if (small == "none" || small == "undefined")
    return {word, "there is no " + printable(written, 40) + " in JSON; leave the key out"};
  if (is_digit(written.front()) || written.front() == '-' || written.front() == '+' || written.front() == '.') {
    return {word, printable(written, 40) + R"( is not a number; put it in quotes if it has a unit: "12GiB")"};
  }
  return {word, "text stands in double quotes: " + shown};
}

/// An unexpected byte outside strings and comments.
SyntaxFault at_byte(std::string_view text, std::size_t offset, std::string_view reason) {
  const char found = text[offset];
  const char previous = before(text, offset);
  const Stretch here{offset, offset + 1};
  const bool name_expected = contains(reason, "parsing object key");
  if (contains(reason, "expected end of input")) return {here, "more text after the end of the document; remove it"};
  if (found == '\'') return {here, "strings stand in double quotes, not in single ones"};
  if (found == '#') return {here, "comments begin with // or /*"};
  if (found == '}' || found == ']') {
    if (previous == ',') return {here, "the comma before this bracket is one too many"};
    if (offset > 0 && text[offset - 1] == '.') return {here, "digits are missing behind the decimal point"};
    if (contains(reason, "; expected '}'")) return {here, "a } is missing before this"};
    if (contains(reason, "; expected ']'")) return {here, "a ] is missing before this"};
    return {here, "a value is missing before this"};
  }
  if (found == ',') return {here, previous == ':' ? "a value is missing before this" : "this comma is one too many"};
  if (contains(reason, "object separator"))
    return {found == '"' ? whole_string(text, offset) : here, "a colon is missing between the name and its value"};
  if (is_word(found) || found == '-' || found == '+' || found == '.') {
    const Stretch word = word_around(text, offset);
    // A second number right behind a first one is a leading zero or the like, not a missing comma.
    const bool is_apart = word.begin == offset;
    if (is_apart && (contains(reason, "; expected ']'") || contains(reason, "; expected '}'")))
      return {here, "a comma is missing before this"};
    return at_word(text, word, name_expected);
  }
  if (name_expected) return {here, "a name in double quotes is missing here"};
  if (found == '"') return {whole_string(text, offset), "a comma is missing before this"};
  if (found == '{' || found == '[') return {here, "a comma is missing before this"};
  return {here, std::string("\"") + printable(text.substr(offset, 1)) +
                    "\" is not expected here; a value, a comma or a bracket is missing"};
}

}  // namespace

SyntaxFault explain_syntax(std::string_view text, std::size_t offset, std::string_view reason) {
  offset = std::min(offset, text.size());
  if (contains(reason, "invalid comment")) {
    if (contains(reason, "missing closing")) return {{offset, offset}, "the comment never ends; close it with */"};
    return {{offset == 0 ? 0 : offset - 1, offset}, "comments begin with // or /*"};
  }
  if (contains(reason, "invalid string")) return in_string(text, offset, reason);
  if (offset == text.size()) {
    if (std::all_of(text.begin(), text.end(), is_blank)) return {{0, 0}, R"(is empty; a policy is at least {"version": 1})"};
    return {{offset, offset}, "the text ends inside the document; a bracket is missing, or the file was half-written"};
  }
  return at_byte(text, offset, reason);
}

}  // namespace cupool::policy
