// SPDX-License-Identifier: Apache-2.0
#include "policy/host/policy_file.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "tests/policy/host/folder.h"

namespace cupool::policy::host {
namespace {

std::string refusal(const std::string& path) {
  const auto file = read_policy_file(path);
  return file ? "read" : file.error();
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a regular file is read with its owner and rights", "[policy][host]") {
  const Folder folder;
  const std::string path = folder.write("a.json", "{}");
  const auto file = read_policy_file(path);
  REQUIRE(file.has_value());
  CHECK(file->text == "{}");
  CHECK(file->owner == geteuid());
  CHECK(file->stamp == stamp_of(path));
  chmod(path.c_str(), 0664);
  CHECK(read_policy_file(path)->others_may_write);
}

TEST_CASE("what is no regular file is refused at once and never waited for", "[policy][host]") {
  const Folder folder;
  REQUIRE(mkfifo(folder.at("fifo").c_str(), 0600) == 0);
  CHECK(contains(refusal(folder.at("fifo")), "is a FIFO"));
  CHECK(contains(refusal(folder.path()), "is a directory"));
  CHECK(contains(refusal("/dev/zero"), "is a device"));
  CHECK(contains(refusal(folder.at("none")), "No such file"));
  CHECK(contains(refusal(folder.at("a\x1b[31m")), "a\\u001B[31m: cannot be opened"));
  std::filesystem::create_symlink("loop", folder.at("loop"));
  CHECK(contains(refusal(folder.at("loop")), "cannot be opened"));
}

TEST_CASE("a file that may not be read is an error with a remedy", "[policy][host]") {
  const Folder folder;
  const std::string path = folder.write("a.json", "{}");
  chmod(path.c_str(), 0);
  if (access(path.c_str(), R_OK) == 0) {
    WARN("SKIPPED: this user may read everything");
    return;
  }
  CHECK(contains(refusal(path), "make it readable"));
}

TEST_CASE("a file larger than a megabyte is not read", "[policy][host]") {
  const Folder folder;
  const std::string path = folder.write("big.json", "");
  std::filesystem::resize_file(path, std::uintmax_t{1} << 30);
  CHECK(contains(refusal(path), "larger than 1 MiB"));
}

TEST_CASE("a symbolic link to a policy is followed", "[policy][host]") {
  const Folder folder;
  folder.write("a.json", "{}");
  std::filesystem::create_symlink("a.json", folder.at("link"));
  CHECK(read_policy_file(folder.at("link"))->text == "{}");
}

TEST_CASE("a file that is rewritten all the time is read whole or refused, never half", "[policy][host]") {
  const Folder folder;
  const std::string first(8000, 'a');
  const std::string second(5000, 'b');
  const std::string path = folder.write("a.json", first);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    // In place, as a careless editor does it: empty, half, whole.
    while (!stop.load()) {
      for (const std::string* text : {&second, &first}) {
        std::ofstream out(path, std::ios::trunc);
        out << text->substr(0, 3000) << std::flush << text->substr(3000);
      }
    }
  });
  std::size_t read = 0;
  std::size_t mixed = 0;
  for (int i = 0; i < 300; ++i) {
    const auto file = read_policy_file(path);
    if (!file) {
      mixed += contains(file.error(), "changed while it was read") ? 0 : 1;
      continue;
    }
    ++read;
    // Between two writes the file is a beginning of one text; letters of both would be two moments at once.
    mixed +=
        file->text.find_first_not_of('a') != std::string::npos && file->text.find_first_not_of('b') != std::string::npos ? 1 : 0;
  }
  stop = true;
  writer.join();
  INFO(read << " of 300 were read");
  CHECK(mixed == 0);
}

}  // namespace cupool::policy::host
