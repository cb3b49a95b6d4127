// SPDX-License-Identifier: Apache-2.0
#include "shim/report/report_path.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace cupool::report {
namespace {

NameFacts facts() {
  NameFacts facts;
  facts.command = "train.py";
  facts.pid = 42;
  facts.run = "7f3a";
  facts.host = "gpu-3";
  facts.state_directory = "/state";
  facts.variable = [](const std::string& name) -> std::optional<std::string> {
    if (name == "RANK") return "1/2";
    return std::nullopt;
  };
  return facts;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct TemporaryFolder {
  TemporaryFolder() {
    char name[] = "/tmp/cupool-test-XXXXXX";
    path = mkdtemp(name);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  std::string path;
};

}  // namespace

TEST_CASE("every placeholder is filled in", "[shim][report]") {
  CHECK(expand_name("%s/cupool/%c.%r.json", facts()).path == "/state/cupool/train.py.7f3a.json");
  CHECK(expand_name("%h-%p-%%", facts()).path == "gpu-3-42-%");
}

TEST_CASE("what a variable holds cannot choose a folder", "[shim][report]") {
  CHECK(expand_name("out/%q{RANK}.json", facts()).path == "out/1_2.json");
}

TEST_CASE("a wrong placeholder is an error that names its place and the remedy", "[shim][report]") {
  for (const char* pattern : {"a%x", "a%", "a%q", "a%q{", "a%q{}", "a%q{NOBODY}", ""}) {
    const ExpandedName name = expand_name(pattern, facts());
    CHECK(name.path.empty());
    CHECK(name.error.find("%c (command)") != std::string::npos);
  }
  CHECK(expand_name("ab%x", facts()).error.find("character 3") != std::string::npos);
}

TEST_CASE("the state directory falls back step by step and is always absolute", "[shim][report]") {
  const auto with = [](const char* state, const char* home) {
    return state_directory([=](const std::string& name) -> std::optional<std::string> {
      const char* value = name == "HOME" ? home : state;
      return value == nullptr ? std::nullopt : std::optional<std::string>(value);
    });
  };
  CHECK(with("/s", "/h") == "/s");
  CHECK(with("relative", "/h") == "/h/.local/state");
  CHECK(with(nullptr, nullptr).starts_with("/tmp/cupool-"));
}

TEST_CASE("a report never replaces a file: the process number goes before the ending", "[shim][report]") {
  TemporaryFolder folder;
  const std::string path = folder.path + "/new/train.json";
  CHECK(write_new_file(path, "one", 42).value() == path);
  CHECK(write_new_file(path, "two", 42).value() == folder.path + "/new/train.42.json");
  CHECK(write_new_file(path, "three", 42).value() == folder.path + "/new/train.42-1.json");
  CHECK(content_of(path) == "one");
  CHECK(content_of(folder.path + "/new/train.42-1.json") == "three");
}

TEST_CASE("a name that is a dangling link is taken, not followed", "[shim][report]") {
  TemporaryFolder folder;
  std::filesystem::create_symlink(folder.path + "/elsewhere", folder.path + "/r.json");
  CHECK(write_new_file(folder.path + "/r.json", "x", 7).value() == folder.path + "/r.7.json");
  CHECK_FALSE(std::filesystem::exists(folder.path + "/elsewhere"));
}

TEST_CASE("a report that cannot be written leaves nothing behind", "[shim][report]") {
  CHECK(write_new_file("/proc/none/r.json", "x", 7).error().code == Errc::io);
}

}  // namespace cupool::report
