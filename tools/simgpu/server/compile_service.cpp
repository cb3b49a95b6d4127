// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/server/compile_service.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <thread>

#include "tools/simgpu/ptx/compile/compiler.h"
#include "tools/simgpu/server/packet.h"
#include "tools/simgpu/server/protocol.h"

namespace cupool::simgpu {
namespace {

using protocol::Reply;
using protocol::Request;
using protocol::Status;

Descriptor file_with(std::string_view text) {
  Descriptor file{memfd_create("simgpu-compiler-says", MFD_CLOEXEC)};
  if (file && write(file.get(), text.data(), text.size()) < 0) return Descriptor{};
  return file;
}

std::string content_of(int file) {
  struct stat status {};
  if (fstat(file, &status) != 0) return {};
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t length = pread(file, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (length <= 0) return {};
    done += static_cast<std::size_t>(length);
  }
  return text;
}

/// Never destroyed: a connection's thread may be in the midst of a compilation when the server ends.
ptx::LocalCompiler& compiler() {
  static ptx::LocalCompiler* const made = new ptx::LocalCompiler;
  return *made;
}

/// Takes the line that names the asking program's own choice of compiler off the text.
std::string_view take_preference(std::string_view& text) {
  if (!text.starts_with(kCompilerLine)) return {};
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return {};
  const std::string_view preference = text.substr(kCompilerLine.size(), end - kCompilerLine.size());
  text.remove_prefix(end + 1);
  return preference;
}

/// The object, or with Status::failed the compiler's words.
Descriptor answer(const Request& request, std::string_view text, Reply& reply) {
  const std::string_view preference = take_preference(text);
  const ptx::Backend backend = request.word == 0 ? ptx::Backend::quick : ptx::Backend::optimised;
  ptx::Compiled compiled = compiler().compile({.source = text, .backend = backend, .preference = preference});
  if (compiled) return Descriptor{compiled->release()};
  reply.status = Status::failed;
  return file_with(compiled.error().message);
}

void serve(Descriptor socket) {
  while (true) {
    Request request;
    Descriptor source;
    if (receive_packet(socket.get(), &request, sizeof request, source) != static_cast<ssize_t>(sizeof request)) return;
    const std::string text = source ? content_of(source.get()) : std::string{};
    Reply reply{.bytes = text.size()};
    const Descriptor file = answer(request, text, reply);
    if (!send_packet(socket.get(), &reply, sizeof reply, file.get())) return;
  }
}

}  // namespace

void start_compile_service(Descriptor socket) {
  std::thread([taken = std::move(socket)]() mutable { serve(std::move(taken)); }).detach();
}

}  // namespace cupool::simgpu
