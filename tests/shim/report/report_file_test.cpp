// SPDX-License-Identifier: Apache-2.0
#include "shim/report/report_file.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace cupool::report {
namespace {

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
