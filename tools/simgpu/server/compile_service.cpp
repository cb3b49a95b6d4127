// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/server/compile_service.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <thread>

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

void serve(Descriptor socket) {
  while (true) {
    Request request;
    Descriptor source;
    if (receive_packet(socket.get(), &request, sizeof request, source) != static_cast<ssize_t>(sizeof request)) return;
    const std::string text = source ? content_of(source.get()) : std::string{};
    const Descriptor words = file_with("this build of the server has no compiler");
    const Reply reply{.status = Status::failed, .bytes = text.size()};
    if (!send_packet(socket.get(), &reply, sizeof reply, words.get())) return;
  }
}

}  // namespace

void start_compile_service(Descriptor socket) {
  std::thread([taken = std::move(socket)]() mutable { serve(std::move(taken)); }).detach();
}

}  // namespace cupool::simgpu
