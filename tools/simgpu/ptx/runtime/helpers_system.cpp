// SPDX-License-Identifier: Apache-2.0
// What kernels ask of the system: the clock, printf, assert, the end.
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>

#include "tools/simgpu/ptx/runtime/helpers.h"
#include "tools/simgpu/ptx/runtime/worker.h"

namespace cupool::simgpu::ptx {
namespace {

/// Arguments of a vprintf: 4 or 8 bytes each at their own alignment.
class Arguments {
 public:
  Arguments(Worker& worker, std::uint64_t address) : worker_(worker), at_(address) {}

  template <class T>
  T next() {
    at_ = (at_ + sizeof(T) - 1) & ~static_cast<std::uint64_t>(sizeof(T) - 1);
    T value{};
    if (const std::uint8_t* place = peek(worker_, at_, sizeof(T))) std::memcpy(&value, place, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

 private:
  Worker& worker_;
  std::uint64_t at_;
};

template <class T>
void append(std::string& out, const std::string& directive, T value) {
  char text[512];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  const int written = std::snprintf(text, sizeof text, directive.c_str(), value);
#pragma GCC diagnostic pop
  if (written > 0)
    out.append(text, static_cast<std::size_t>(written) < sizeof text ? static_cast<std::size_t>(written) : sizeof text - 1);
}

/// One directive, from '%' to its letter; `*` is replaced by the argument that it takes. The letter is 0 at the end of the text.
struct Directive {
  std::string head = "%";
  bool is_long = false;
  char letter = 0;
};

Directive read_directive(const std::string& format, std::size_t& at, Arguments& arguments) {
  Directive directive;
  for (; at < format.size(); ++at) {
    const char c = format[at];
    if (c == '*') {
      directive.head += std::to_string(arguments.next<std::int32_t>());
    } else if (std::strchr("-+ #0123456789.", c) != nullptr) {
      directive.head += c;
    } else if (c == 'l' || c == 'z' || c == 'j' || c == 't') {
      directive.is_long = true;
    } else if (c != 'h') {
      directive.letter = c;
      ++at;
      break;
    }
    if (directive.head.size() > 32) break;
  }
  return directive;
}

std::string formatted(Worker& worker, const std::string& format, Arguments arguments, std::uint32_t& count) {
  std::string out;
  for (std::size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      out += format[at++];
      continue;
    }
    ++at;
    if (at < format.size() && format[at] == '%') {
      out += format[at++];
      continue;
    }
    const Directive directive = read_directive(format, at, arguments);
    ++count;
    switch (directive.letter) {
      case 'd':
      case 'i':
        append(out, directive.head + PRId64, directive.is_long ? arguments.next<std::int64_t>() : arguments.next<std::int32_t>());
        break;
      case 'u':
      case 'x':
      case 'X':
      case 'o': {
        const std::uint64_t value = directive.is_long ? arguments.next<std::uint64_t>() : arguments.next<std::uint32_t>();
        append(out, directive.head + "l" + directive.letter, value);
        break;
      }
      case 'c':
        append(out, directive.head + "c", arguments.next<std::int32_t>());
        break;
      case 'p':
        append(out, "0x%" PRIx64, arguments.next<std::uint64_t>());
        break;
      case 's':
        append(out, directive.head + "s", read_text(worker, arguments.next<std::uint64_t>()).c_str());
        break;
      case 'f':
      case 'F':
      case 'e':
      case 'E':
      case 'g':
      case 'G':
      case 'a':
      case 'A':
        append(out, directive.head + directive.letter, arguments.next<double>());
        break;
      default:
        out += directive.head;
        break;
    }
  }
  return out;
}

}  // namespace

namespace abi::helper {

u64 clock(void) {
  return static_cast<u64>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

void refuel(sg_ctx* c, u32 line) {
  Worker& worker = Worker::from(c);
  c->fuel = kFuel;
  const Outcome::Kind reason = worker.interruption();
  if (reason == Outcome::Kind::ok) return;
  worker.fault = Fault{};
  worker.leave(reason, line);
}

void trap(sg_ctx* c, u32 line) {
  Worker& worker = Worker::from(c);
  worker.fault = Fault{};
  worker.leave(Outcome::Kind::trap, line);
}

void unsupported(sg_ctx* c, u32 line) {
  Worker& worker = Worker::from(c);
  worker.fault = Fault{};
  worker.leave(Outcome::Kind::unsupported, line);
}

void assert_fail(sg_ctx* c, u64 message, u64 file, u32 number, u64 function, u32 line) {
  Worker& worker = Worker::from(c);
  worker.fault = Fault{};
  worker.fault.message = message;
  worker.fault.file = file;
  worker.fault.file_line = number;
  worker.fault.function = function;
  worker.leave(Outcome::Kind::assert_failed, line);
}

u32 print(sg_ctx* c, u64 format, u64 arguments, u32) {
  Worker& worker = Worker::from(c);
  u32 count = 0;
  const std::string text = formatted(worker, read_text(worker, format), Arguments(worker, arguments), count);
  if (worker.state->control.print) {
    const std::lock_guard lock(worker.state->mutex);
    worker.state->control.print(text);
  }
  return count;
}

/// There is no heap in the simulated device: as on hardware whose heap is used up, malloc gives a null pointer.
u64 allocate(sg_ctx*, u64, u32) {
  return 0;
}
void release(sg_ctx*, u64, u32) {}

}  // namespace abi::helper

#define SG_ENTRY(result, name, arguments) .name = abi::helper::name,
using abi::sg_ctx;
const abi::sg_runtime kRuntime = {SG_HELPERS(SG_ENTRY)};
#undef SG_ENTRY

}  // namespace cupool::simgpu::ptx
