// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/server/packet.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace cupool::simgpu {
namespace {

union ControlBuffer {
  cmsghdr header;
  std::byte space[CMSG_SPACE(sizeof(int))];
};

}  // namespace

bool send_packet(int socket, const void* data, std::size_t bytes, int descriptor) {
  iovec part{const_cast<void*>(data), bytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  ControlBuffer control{};
  if (descriptor >= 0) {
    message.msg_control = &control;
    message.msg_controllen = sizeof control.space;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes);
}

ssize_t receive_packet(int socket, void* data, std::size_t bytes, Descriptor& descriptor, int flags) {
  iovec part{data, bytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  ControlBuffer control{};
  message.msg_control = &control;
  message.msg_controllen = sizeof control.space;
  ssize_t received = 0;
  do {
    received = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  if (received <= 0) return received;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    int number = -1;
    std::memcpy(&number, CMSG_DATA(header), sizeof number);
    descriptor = Descriptor{number};
  }
  return received;
}

}  // namespace cupool::simgpu
