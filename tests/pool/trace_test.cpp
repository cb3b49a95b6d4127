// SPDX-License-Identifier: Apache-2.0
#include "pool/trace.h"

#include <unistd.h>
#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>

namespace cupool::pool {
namespace {

std::string temporary_name() {
  return "/tmp/cupool_trace_test." + std::to_string(getpid());
}

struct TemporaryFile {
  std::string path = temporary_name();
  ~TemporaryFile() { std::remove(path.c_str()); }
};

tl::expected<std::vector<TraceEvent>, TraceFault> read_all(std::string_view bytes) {
  auto reader = TraceReader::from_bytes(bytes, "input");
  if (!reader) return tl::unexpected(reader.error());
  std::vector<TraceEvent> events;
  while (true) {
    auto event = reader->next();
    if (!event) return tl::unexpected(event.error());
    if (!*event) return events;
    events.push_back(**event);
  }
}

TraceFault fault_of(std::string_view text) {
  const auto events = read_all(text);
  return events ? TraceFault{"none", ""} : events.error();
}

}  // namespace

TEST_CASE("plain text is read, with comments, blanks, streams and hexadecimal", "[pool][trace]") {
  const auto events = read_all("# a trace\n\na 1 512\r\n  a\t0x10 1048576 3  # a stream\nf 1\nf 16");
  REQUIRE(events);
  REQUIRE(events->size() == 4);
  CHECK((*events)[0].size == Bytes{512});
  CHECK((*events)[1].id == 16);
  CHECK((*events)[1].stream == StreamId{3});
  CHECK((*events)[3].kind == TraceEvent::Kind::free);
}

TEST_CASE("an ID may be used again after its free", "[pool][trace]") {
  CHECK(read_all("a 1 5\nf 1\na 1 6\n"));
}

TEST_CASE("bad text is refused with its line and what would be right", "[pool][trace]") {
  const auto [text, line, words] = GENERATE(table<std::string, std::string, std::string>({
      {"a 1 512\nb 2 3\n", "input:2", "unknown event \"b\""},
      {"a 1\n", "input:1", "the size \"\" is not a number"},
      {"a x 1\n", "input:1", "the ID \"x\""},
      {"\n\na 1 -5\n", "input:3", "the size \"-5\""},
      {"a 1 0\n", "input:1", "0 bytes"},
      {"a 1 5\na 1 6\n", "input:2", "is allocated already"},
      {"f 9\n", "input:1", "is not allocated"},
      {"a 1 5\nf 1\nf 1\n", "input:3", "is not allocated"},
      {"a 1 5 2 9\n", "input:1", "unexpected \"9\""},
      {"f\n", "input:1", "the ID \"\""},
      {"a 1 18446744073709551616\n", "input:1", "not a number"},
      {"a 1 5 s\n", "input:1", "the stream \"s\""},
      {std::string("a 1 5\n\x01\x02\n"), "input:2", "unknown event \"??\""},
      {"a 1 5\n" + std::string(300, 'x'), "input:2", "more than 256 characters"},
  }));
  CAPTURE(text);
  const TraceFault fault = fault_of(text);
  CHECK(fault.place == line);
  CHECK(fault.text.find(words) != std::string::npos);
}

TEST_CASE("what is recorded is read back, and takes a few bytes an event", "[pool][trace]") {
  const unsigned seed = GENERATE(1u, 2u);
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const TemporaryFile file;
  std::vector<TraceEvent> written;
  std::vector<std::uint64_t> live;
  {
    auto recorder = TraceRecorder::create(file.path).value();
    std::uint64_t next = 1, clock = 0;
    for (int i = 0; i < 50000; ++i) {
      clock += random() % 3 == 0 ? random() % 1000 : 0;
      TraceEvent event;
      event.time_us = clock;
      event.stream = StreamId{random() % 10 == 0 ? random() % 5 : 0};
      if (live.empty() || random() % 2 == 0) {
        event.id = next++;
        event.size = Bytes{random() % 20 == 0 ? 1 + random() % 1000 : 512 * (1 + random() % 100000)};
        live.push_back(event.id);
        recorder->allocate(event.id, event.size, event.stream, event.time_us);
      } else {
        std::swap(live[random() % live.size()], live.back());
        event.kind = TraceEvent::Kind::free;
        event.id = live.back();
        live.pop_back();
        recorder->free(event.id, event.stream, event.time_us);
      }
      written.push_back(event);
    }
    REQUIRE(recorder->close());
  }
  const auto read = read_trace(file.path);
  REQUIRE(read);
  REQUIRE(read->size() == written.size());
  for (std::size_t i = 0; i < written.size(); ++i) {
    REQUIRE((*read)[i].kind == written[i].kind);
    REQUIRE((*read)[i].id == written[i].id);
    REQUIRE((*read)[i].size == written[i].size);
    REQUIRE((*read)[i].stream == written[i].stream);
    REQUIRE((*read)[i].time_us == written[i].time_us);
  }
  std::ifstream raw(file.path, std::ios::binary | std::ios::ate);
  CHECK(static_cast<std::size_t>(raw.tellg()) < 8 * written.size());
}

TEST_CASE("a binary trace that is cut or changed anywhere is a fault or another trace, never a crash", "[pool][trace]") {
  const TemporaryFile file;
  {
    auto recorder = TraceRecorder::create(file.path).value();
    for (std::uint64_t i = 1; i <= 40; ++i) recorder->allocate(i, Bytes{i * 300}, StreamId{i % 3}, i * 7);
    for (std::uint64_t i = 1; i <= 40; i += 2) recorder->free(i);
    REQUIRE(recorder->close());
  }
  std::ifstream raw(file.path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(raw)), {});
  REQUIRE(read_all(bytes));
  for (std::size_t length = 1; length < bytes.size(); ++length) {
    CAPTURE(length);
    REQUIRE_FALSE(read_all(std::string_view(bytes).substr(0, length)));
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const int change : {1, 0x80, 0xff}) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ change);
      static_cast<void>(read_all(changed));
    }
  }
  CHECK_FALSE(read_all(bytes + "x"));
}

TEST_CASE("a file that is not there or cannot be written says so", "[pool][trace]") {
  const auto reader = TraceReader::open("/nowhere/trace");
  REQUIRE_FALSE(reader);
  CHECK(reader.error().text.find("No such file") != std::string::npos);
  CHECK(TraceRecorder::create("/nowhere/trace").error().code == Errc::io);
  CHECK_FALSE(read_trace("/"));
}

TEST_CASE("a full disk is told at close", "[pool][trace]") {
  auto recorder = TraceRecorder::create("/dev/full");
  if (!recorder) return;
  for (std::uint64_t i = 1; i < 100000; ++i) (*recorder)->allocate(i, Bytes{i});
  CHECK((*recorder)->close().error().code == Errc::io);
}

}  // namespace cupool::pool
