// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/call_log.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string_view>

#include "tools/simgpu/cost.h"

namespace cupool::simgpu {
namespace {

// Opened once and never closed: calls may come while the process exits. -1: no log.
int log_file() {
  static const int file = [] {
    const char* path = std::getenv("SIMGPU_LOG");
    if (path == nullptr || *path == '\0') return -1;
    if (std::string_view{path} == "stderr") return 2;
    const int opened = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (opened < 0) std::fprintf(stderr, "simgpu: SIMGPU_LOG: cannot write to %s\n", path);
    return opened;
  }();
  return file;
}

template <class T>
void append_number(std::string& text, T value, int base) {
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value, base);
  if (error == std::errc{}) text.append(digits, end);
}

}  // namespace

namespace detail {
void append(std::string& text, std::uint64_t value) {
  // Addresses are more readable in hexadecimal, sizes in decimal.
  if (value >= 0x1000'0000'0000) {
    text += "0x";
    append_number(text, value, 16);
  } else {
    append_number(text, value, 10);
  }
}
void append(std::string& text, std::int64_t value) {
  append_number(text, value, 10);
}
void append(std::string& text, const void* value) {
  if (value == nullptr) {
    text += "NULL";
  } else {
    text += "0x";
    append_number(text, reinterpret_cast<std::uintptr_t>(value), 16);
  }
}
}  // namespace detail

bool call_log_enabled() {
  return log_file() >= 0;
}

void write_call_log(const std::string& line) {
  const std::string text = line + '\n';
  // One write to a file opened for appending: lines of several processes do not mix.
  if (log_file() >= 0 && write(log_file(), text.data(), text.size()) < 0) return;
}

void log_call(const char* name, const std::string& arguments, int code) {
  if (!call_log_enabled()) return;
  std::string line;
  append_number(line, getpid(), 10);
  line += '.';
  append_number(line, syscall(SYS_gettid), 10);
  line += " +";
  append_number(line, virtual_clock().now_ns() / 1000, 10);
  line += "us ";
  line += name;
  line += '(';
  line += arguments;
  line += ") = ";
  append_number(line, code, 10);
  write_call_log(line);
}

void log_not_simulated(const char* name) {
  if (!call_log_enabled()) return;
  static std::mutex* const mutex = new std::mutex;
  static std::set<std::string>* const seen = new std::set<std::string>;
  const std::lock_guard lock(*mutex);
  if (seen->insert(name).second) write_call_log(std::string(name) + " is not simulated");
}

}  // namespace cupool::simgpu
