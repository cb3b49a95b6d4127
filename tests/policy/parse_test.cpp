// SPDX-License-Identifier: Apache-2.0
#include "policy/parse.h"

#include <pthread.h>

#include <catch2/catch.hpp>
#include <vector>

#include "policy/utf8.h"
#include "tests/policy/documents.h"

namespace cupool::policy {
namespace {

std::string repeated(std::string_view part, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += part;
  return out;
}

struct Refusal {
  std::string text;
  std::size_t line, column;
  const char* message;
};

/// Runs a function on a stack of 64 KiB.
template <class Work>
void on_small_stack(Work work) {
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, 64 * 1024) == 0);
  pthread_t thread;
  const auto start = [](void* argument) -> void* {
    (*static_cast<Work*>(argument))();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, start, &work) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace

TEST_CASE("text that is no JSON is refused with the place and the usual reason", "[policy][parse]") {
  const std::vector<Refusal> refusals = {
      {"", 1, 1, "is empty"},
      {" \n\t\n", 1, 1, "is empty"},
      {"{", 1, 2, "ends inside the document"},
      {"{\"a\": [1, 2", 1, 12, "ends inside the document"},
      {"{\"a\"", 1, 5, "ends inside the document"},
      {"{\"a\": tru", 1, 10, "ends inside the document"},
      {"{\"a\": \"b", 1, 9, "never ends"},
      {"{\"a\": 1, /* b", 1, 14, "comment never ends"},
      {"/ a\n{}", 1, 1, "comments begin with"},
      {"# a\n{}", 1, 1, "comments begin with"},
      {"{\"a\": 1,}", 1, 9, "one too many"},
      {"[1,]", 1, 4, "one too many"},
      {"[1,,2]", 1, 4, "one too many"},
      {"{,}", 1, 2, "one too many"},
      {"{\"a\": 1 \"b\": 2}", 1, 9, "comma is missing"},
      {"[1 2]", 1, 4, "comma is missing"},
      {"[{} {}]", 1, 5, "comma is missing"},
      {"{\"a\" 1}", 1, 6, "colon is missing"},
      {"{\"a\":}", 1, 6, "value is missing"},
      {"{\"a\":,}", 1, 6, "value is missing"},
      {"[1}", 1, 3, "] is missing"},
      {"{\"a\": 1]", 1, 8, "} is missing"},
      {"{a: 1}", 1, 2, "names stand in double quotes"},
      {"{1: 1}", 1, 2, "names stand in double quotes"},
      {"{{}: 1}", 1, 2, "name in double quotes is missing"},
      {"{'a': 1}", 1, 2, "not in single ones"},
      {"{\"a\": 'b'}", 1, 7, "not in single ones"},
      {"{\"a\": b}", 1, 7, "text stands in double quotes"},
      {"{\"a\": 12GiB}", 1, 7, "put it in quotes"},
      {"{\"a\": NaN}", 1, 7, "NaN is no JSON value"},
      {"{\"a\": nan}", 1, 7, "nan is no JSON value"},
      {"{\"a\": -Infinity}", 1, 7, "-Infinity is no JSON value"},
      {"{\"a\": 0x1F}", 1, 7, "hexadecimal"},
      {"{\"a\": 007}", 1, 7, "leading zero"},
      {"{\"a\": +1}", 1, 7, "not a number"},
      {"{\"a\": .5}", 1, 7, "not a number"},
      {"{\"a\": 1.}", 1, 9, "behind the decimal point"},
      {"{\"a\": True}", 1, 7, "write true"},
      {"{\"a\": None}", 1, 7, "no None in JSON"},
      {"{\"a\": 1e400}", 1, 7, "too large"},
      {"{\"a\":\n  -1e400}", 2, 3, "too large"},
      {"{} x", 1, 4, "after the end"},
      {"{}}", 1, 3, "after the end"},
      {"{\"a\": \"\\q\"}", 1, 9, "no such escape"},
      {"{\"a\": \"\\u12g4\"}", 1, 12, "four hexadecimal digits"},
      {"{\"a\": \"\\ud800\"}", 1, 14, "lone surrogate"},
      {"{\"a\": \"\\udc00\"}", 1, 13, "lone surrogate"},
      {"{\"a\": \"\\ud800\\u0041\"}", 1, 19, "lone surrogate"},
      {"{\"a\": \"x\ny\"}", 1, 9, "line break or control character"},
      {"{\"a\": \"\x01\"}", 1, 8, "line break or control character"},
      {"\xEF\xBB\xBF{}", 1, 1, "byte order mark"},
      {"{\"a\": \"\xFF\"}", 1, 8, "not valid UTF-8 (\\xFF)"},
      {"{}// \xC0\x80", 1, 6, "not valid UTF-8"},
      {"\xFF\xFE{\0}\0", 1, 1, "not valid UTF-8"},
      {std::string("{}\0 x", 5), 1, 3, "NUL byte"},
      {"@", 1, 1, "is not expected here"},
      {repeated("[", 100'000), 1, 33, "nested more than 32 deep"},
      {repeated("{\"a\":", 100'000), 1, 161, "nested more than 32 deep"},
      {repeated(" ", kMostText + 1), 1, 1, "larger than 1 MiB"},
      {"[" + repeated("0,", 10'000) + "0]", 1, 20'000, "more than 10000 values"},
      {"{\"a\": \"" + repeated("x", 4097) + "\"}", 1, 7, "longer than 4096 bytes"},
  };
  for (const Refusal& refusal : refusals) {
    Problems problems;
    const auto document = parse(refusal.text, problems);
    INFO(printable(refusal.text, 60) << '\n' << problem_texts(problems) << "wanted: " << refusal.message);
    CHECK_FALSE(document.has_value());
    REQUIRE(problems.errors() == 1);
    const LineColumn place = line_column(refusal.text, problems.list()[0].where.begin);
    CHECK(place.line == refusal.line);
    CHECK(place.column == refusal.column);
    CHECK(problems.list()[0].text.find(refusal.message) != std::string::npos);
  }
}

TEST_CASE("what JSON allows and comments are read with exact places", "[policy][parse]") {
  const std::string text =
      "// first\n{ /* \"a\": 2 */ \"a\" /*,*/ : // :\r\n [ 1.5e2 ,-0, true,false , null, {\"b\\u00e4\\n\" : \"c\\\"\\\\ /* */ //\" "
      "} ] }\n// last";
  Problems problems;
  const auto document = parse(text, problems);
  REQUIRE(document.has_value());
  const auto shown = [&](const char* pointer) { return document->shown(document->find(pointer)); };
  CHECK(shown("/a/0") == "1.5e2");
  CHECK(shown("/a/1") == "-0");
  CHECK(shown("/a/2") == "true");
  CHECK(shown("/a/3") == "false");
  CHECK(shown("/a/4") == "null");
  const Node& object = document->find("/a/5");
  REQUIRE(object.kind == NodeKind::object);
  const Node* member = document->first_child(object);
  CHECK(member->key == "b\xC3\xA4\n");
  CHECK(member->text == "c\"\\ /* */ //");
  CHECK(text.substr(member->key_where.begin, member->key_where.end - member->key_where.begin) == "\"b\\u00e4\\n\"");
  CHECK(document->pointer(*member) == "/a/5/b\xC3\xA4\n");
  CHECK(text.substr(object.where.begin, object.where.end - object.where.begin) == "{\"b\\u00e4\\n\" : \"c\\\"\\\\ /* */ //\" }");
}

TEST_CASE("a name that occurs twice is refused wherever it stands", "[policy][parse]") {
  for (const char* text : {R"({"version": 1, "version": 1})", R"({"version": 1, "x-a": {"b": 1, "c": 2, "b": 3}})",
                           R"({"version": 1, "pool": {"unit": "128MiB", "un\u0069t": "1GiB"}})"}) {
    const Loaded loaded = load(text);
    INFO(text);
    CHECK_FALSE(loaded.policy.has_value());
    CHECK(problem_texts(loaded.problems).find("occurs twice") != std::string::npos);
  }
}

TEST_CASE("characters that a terminal would act on are refused and never shown raw", "[policy][parse]") {
  for (const char* escape :
       {"\\u0000", "\\u001b", "\\u009b", "\\u202e", "\\u200b", "\\ufeff", "\\u007f", "\xE2\x80\xAE", "\xC2\x9B"}) {
    const std::string text =
        std::string(R"({"version": 1, "jobs": [{"match": {"user": "a)") + escape + R"("}}], "x)" + escape + R"(": 1})";
    const Loaded loaded = load(text);
    const std::string shown = render(loaded.problems, "a\x1b[31m.json", text);
    INFO(escape);
    CHECK(loaded.problems.errors() >= 2);
    CHECK(shown.find("unprintable") != std::string::npos);
    std::string_view rest = shown;
    while (!rest.empty()) {
      const CodePoint point = first_code_point(rest);
      REQUIRE(point.length > 0);
      CHECK((point.value == '\n' || !is_unprintable(point.value)));
      rest.remove_prefix(point.length);
    }
  }
}

TEST_CASE("the deepest, widest and longest documents need little stack", "[policy][parse]") {
  const std::string deep = repeated("[", 100'000);
  const std::string wide = "{\"version\": 1, \"jobs\": [" + repeated("{\"match\":{\"user\":[\"a\",1]}},", 1200) + "{}]}";
  const std::string blank = repeated(" ", kMostText - 20) + "{\"version\": 1}";
  const std::string strings = "[\"" + repeated("\\\\", 2000) + "\"" + repeated(",\"a\"", 9000) + "]";
  const std::string duplicates = "{" + repeated("\"a\":1,", 9000) + "\"a\":1}";
  std::size_t good = 0;
  on_small_stack([&] {
    for (const std::string* text : {&deep, &wide, &blank, &strings, &duplicates}) {
      const Loaded loaded = load(*text);
      good += loaded.policy.has_value() ? 1 : 0;
      (void)render(loaded.problems, "x", *text);
    }
  });
  CHECK(good == 1);
}

TEST_CASE("only a bounded number of problems is kept, and all are counted", "[policy][parse]") {
  const std::string text = "{\"version\": 1" + repeated(", \"x\": 1", 5000) + "}";
  const Loaded loaded = load(text);
  CHECK(loaded.problems.list().size() == Problems::kMost);
  CHECK(loaded.problems.errors() == 9999);
  CHECK(render(loaded.problems, "x", text).find("and 9899 more") != std::string::npos);
}

}  // namespace cupool::policy
