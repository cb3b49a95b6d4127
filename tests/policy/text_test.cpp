// SPDX-License-Identifier: Apache-2.0
//
// What policies are turned into for people and other programs: messages, encodings, paths.
#include <catch2/catch.hpp>

#include "policy/encode.h"
#include "policy/problem.h"
#include "policy/report_path.h"
#include "policy/suggest.h"
#include "policy/utf8.h"
#include "tests/policy/documents.h"

namespace cupool::policy {

TEST_CASE("the caret stands under the place, whatever the line holds", "[policy][problem]") {
  const std::string text = "{\n\t\"\xC3\xA4\xC3\xB6\": \"\xE2\x82\xAC\", \"bad\": 1 }";
  const std::size_t at = text.find("\"bad\"");
  CHECK(render({Severity::error, {at, at + 5}, "/bad", "why"}, "f.json", text) ==
        "f.json:2:13: error: /bad: why\n   \"\xC3\xA4\xC3\xB6\": \"\xE2\x82\xAC\", \"bad\": 1 }\n" + std::string(14, ' ') +
            "^~~~~\n");
  CHECK(render({Severity::warning, {text.size(), text.size()}, "", "end"}, "f.json", text).find("f.json:2:23: warning: end\n") ==
        0);
}

TEST_CASE("a line of a megabyte is shown around the place", "[policy][problem]") {
  const std::string text = std::string(500'000, 'x') + "!" + std::string(500'000, 'y');
  const std::string shown = render({Severity::error, {500'000, 500'001}, "", "here"}, "f", text);
  CHECK(shown.size() < 400);
  CHECK(shown.find("x!y") != std::string::npos);
}

TEST_CASE("text from outside is shown escaped and cut", "[policy][problem]") {
  CHECK(printable("a\x1b[31mb") == "a\\u001B[31mb");
  CHECK(printable("\xFF\xC3") == "\\xFF\\xC3");
  CHECK(printable("\xE2\x80\xAE\xF3\xA0\x80\x81") == "\\u202E\\uE0001");
  CHECK(printable("\xC3\xA4\xC3\xA4\xC3\xA4", 2) == "\xC3\xA4\xC3\xA4...");
  CHECK(pointer_token("a/b~c") == "a~1b~0c");
}

TEST_CASE("UTF-8 is recognised as the standard has it", "[policy][utf8]") {
  for (const char* good : {"", "a", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "\xEF\xBF\xBF",
                           "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    CHECK(find_invalid_utf8(good) == std::string_view::npos);
  }
  for (const char* bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xC3", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xED\xBF\xBF", "\xEF\xBF",
                          "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"}) {
    CHECK(find_invalid_utf8(std::string("ab") + bad) == 2);
  }
}

TEST_CASE("the nearest word is found for usual mistakes, and none for others", "[policy][suggest]") {
  const std::vector<std::string_view> words = {"defrag", "devices", "default_class", "pool", "max_wait"};
  CHECK(nearest("defrg", words) == "defrag");
  CHECK(nearest("dferag", words) == "defrag");
  CHECK(nearest("Defrag", words) == "defrag");
  CHECK(nearest("max-wait", words) == "max_wait");
  CHECK(nearest("defaultclass", words) == "default_class");
  CHECK(nearest("def", words) == "defrag");
  CHECK_FALSE(nearest("quota", words).has_value());
  CHECK_FALSE(nearest("", words).has_value());
  CHECK_FALSE(nearest(std::string(1000, 'p'), words).has_value());
  CHECK(suggestion("zzz", words, "known are") == "; known are defrag, devices, default_class, pool, max_wait");
  CHECK(suggestion("zzz", std::vector<std::string_view>(20, "w"), "are").ends_with("w, ..."));
}

TEST_CASE("placeholders of a report's path are filled in and lead nowhere else", "[policy][report]") {
  ReportPathParts parts{"../../etc/x", "42", "7f3a", "node", "/home/ana/.local/state", [](std::string_view name) {
                          return name == "USER" ? std::optional<std::string>("a/na") : std::nullopt;
                        }};
  CHECK(expand_report_path("%s/cupool/%c.%r.json", parts).value == "/home/ana/.local/state/cupool/.._.._etc_x.7f3a.json");
  CHECK(expand_report_path("%p-%h-%q{USER}-%%", parts).value == "42-node-a_na-%");
  CHECK(expand_report_path("%q{HOME}", parts).reason == "%q{HOME}: the variable is not set");
  CHECK_FALSE(expand_report_path("", parts).value.has_value());
  CHECK(report_path_fault("%q{A}") == std::nullopt);
  for (const char* bad : {"%", "a%", "%z", "%q", "%q{", "%q{}", "%q{1}", "%q{A", "%\xC3\xA4"}) {
    INFO(bad);
    CHECK(report_path_fault(bad).has_value());
  }
}

TEST_CASE("an encoded policy loads as an equal one", "[policy][encode]") {
  for (
      const char* text :
      {R"({"version": 1})", R"({"version": 1, "pool": {"static_zone": "95%"}})",
       R"({"version": 1, "pool": {"charge": [], "heap": "buddy", "keep": "5%", "capacity": "infinity"}, "log": {"level": "debug"}, "queue": {"order": "latest_deadline"}})",
       R"({"version": 1, "default_class": "b.c", "classes": {"a-1": {"max_hold": "1d1ms"}, "b.c": {"limit": "1.5GiB", "guarantee": "12.5%", "critical": true}},
               "jobs": [{"match": {"command": ["a\"b", "\\c"], "env": {"X": ["1", "2"], "Y": "*"}}, "class": "a-1", "reserve": "3u"}, {"serve": "direct"}],
               "devices": {"GPU-5d1e": {"keep": "0B"}, "0": {}, "*": {"capacity": "1u"}}, "report": {"gpu_hour_price": 0.1, "path": "%q{A}/%%"}, "admission": {"max_jobs": "0.001x cores"}})"}) {
    const Policy policy = policy_of(text);
    const std::string encoded = encode_document(policy);
    INFO(encoded);
    Policy again = policy_of(encoded);
    CHECK(again == policy);
    CHECK(encode_document(again) == encoded);
  }
  CHECK(json_string("a\"\\\n\x01") == R"("a\"\\\u000a\u0001")");
}

}  // namespace cupool::policy
