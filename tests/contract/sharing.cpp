// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "tests/contract/areas.h"

namespace contract {
namespace {

constexpr std::size_t kMiB = 1 << 20;

/// What goes to the peer and comes back, over a socket pair; a descriptor may travel with it.
struct Message {
  CUipcMemHandle handle{};
  CUresult code = CUDA_SUCCESS;
  unsigned char first = 0, second = 0;
};

bool send_message(int socket, const Message& message, int descriptor = -1) {
  iovec part{const_cast<Message*>(&message), sizeof message};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  if (descriptor >= 0) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof(int));
  }
  return sendmsg(socket, &header, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof message);
}

bool receive_message(int socket, Message& message, int* descriptor = nullptr) {
  iovec part{&message, sizeof message};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  if (recvmsg(socket, &header, 0) != static_cast<ssize_t>(sizeof message)) return false;
  const cmsghdr* rights = CMSG_FIRSTHDR(&header);
  if (descriptor != nullptr && rights != nullptr) std::memcpy(descriptor, CMSG_DATA(rights), sizeof(int));
  return true;
}

struct Peer {
  pid_t process = -1;
  int socket = -1;
};

Peer start_peer(const char* self, const char* route) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 3);
    if (ends[0] != 3) close(ends[0]);
    if (ends[1] != 3) close(ends[1]);
    execl(self, self, "--route", route, "--sharing-peer", static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[1]);
  return {child, ends[0]};
}

CUmemAccessDesc read_write() {
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return access;
}

void observe_handles(const Driver& driver, Observer& observer, CUdeviceptr block, CUipcMemHandle& handle) {
  CUipcMemHandle again{};
  observer.expect("get", driver.cuIpcGetMemHandle(&handle, block), CUDA_SUCCESS, Source::header);
  driver.cuIpcGetMemHandle(&again, block);
  observer.expect("get_is_repeatable", std::memcmp(&handle, &again, sizeof handle) == 0, Source::header);
  observer.expect("get_null", driver.cuIpcGetMemHandle(nullptr, block), CUDA_ERROR_INVALID_VALUE, Source::header);
  observer.expect("get_unknown", driver.cuIpcGetMemHandle(&again, 0x1234567000), CUDA_ERROR_INVALID_VALUE, Source::header);
  CUdeviceptr opened = 0;
  observer.open("open_in_the_same_process", driver.cuIpcOpenMemHandle_v2(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  observer.expect("close_unknown", driver.cuIpcCloseMemHandle(block), CUDA_ERROR_INVALID_VALUE, Source::header);
}

}  // namespace

void observe_sharing(const Driver& driver, Observer& observer, const char* self, const char* route) {
  observer.area("sharing");
  CUdeviceptr block = 0;
  driver.cuMemAlloc_v2(&block, 4 * kMiB);
  driver.cuMemsetD8_v2(block, 0x61, 4 * kMiB);
  driver.cuCtxSynchronize();
  Message message;
  observe_handles(driver, observer, block, message.handle);

  const Peer peer = start_peer(self, route);
  send_message(peer.socket, message);
  Message answer;
  receive_message(peer.socket, answer);
  observer.expect("peer_opens", answer.code, CUDA_SUCCESS, Source::header);
  observer.expect("peer_reads_first_and_last", answer.first == 0x61 && answer.second == 0x61, Source::header);
  unsigned char byte = 0;
  driver.cuMemcpyDtoH_v2(&byte, block + 100, 1);
  observer.expect("peer_writes_are_seen", byte == 0x62, Source::header);
  receive_message(peer.socket, answer);
  observer.expect("peer_opens_again", answer.code, CUDA_SUCCESS, Source::header);
  observer.expect("peer_opens_again_same_address", answer.first == 1, Source::header);
  receive_message(peer.socket, answer);
  observer.expect("peer_closes", answer.code, CUDA_SUCCESS, Source::header);

  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr range = 0;
  const CUmemAccessDesc access = read_write();
  driver.cuMemCreate(&handle, 2 * kMiB, &properties, 0);
  driver.cuMemAddressReserve(&range, 2 * kMiB, 0, 0, 0);
  driver.cuMemMap(range, 2 * kMiB, 0, handle, 0);
  driver.cuMemSetAccess(range, 2 * kMiB, &access, 1);
  driver.cuMemsetD8_v2(range, 0x71, 2 * kMiB);
  driver.cuCtxSynchronize();
  int descriptor = -1;
  driver.cuMemExportToShareableHandle(&descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  send_message(peer.socket, message, descriptor);
  close(descriptor);
  receive_message(peer.socket, answer);
  observer.expect("peer_imports_descriptor", answer.code, CUDA_SUCCESS, Source::header);
  observer.expect("peer_reads_imported", answer.first == 0x71, Source::header);
  driver.cuMemUnmap(range, 2 * kMiB);
  driver.cuMemRelease(handle);
  driver.cuMemAddressFree(range, 2 * kMiB);
  send_message(peer.socket, message);  // our references are gone: the peer still holds the memory
  receive_message(peer.socket, answer);
  observer.expect("imported_memory_outlives_the_exporter", answer.first == 0x71, Source::header);
  int status = 0;
  close(peer.socket);
  waitpid(peer.process, &status, 0);
  observer.expect("peer_ends_well", WIFEXITED(status) && WEXITSTATUS(status) == 0, Source::known);
  driver.cuMemFree_v2(block);
}

int run_sharing_peer(const Driver& driver) {
  constexpr int kSocket = 3;
  CUcontext context = nullptr;
  driver.cuInit(0);
  driver.cuDevicePrimaryCtxRetain(&context, 0);
  driver.cuCtxSetCurrent(context);
  Message message, answer;
  if (!receive_message(kSocket, message)) return 1;
  CUdeviceptr opened = 0, again = 0;
  answer.code = driver.cuIpcOpenMemHandle_v2(&opened, message.handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  driver.cuMemcpyDtoH_v2(&answer.first, opened, 1);
  driver.cuMemcpyDtoH_v2(&answer.second, opened + 4 * kMiB - 1, 1);
  driver.cuMemsetD8_v2(opened + 100, 0x62, 1);
  driver.cuCtxSynchronize();
  if (!send_message(kSocket, answer)) return 2;
  answer.code = driver.cuIpcOpenMemHandle_v2(&again, message.handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  answer.first = again == opened ? 1 : 0;
  send_message(kSocket, answer);
  driver.cuIpcCloseMemHandle(again);
  answer.code = driver.cuIpcCloseMemHandle(opened);
  send_message(kSocket, answer);

  int descriptor = -1;
  if (!receive_message(kSocket, message, &descriptor)) return 3;
  CUmemGenericAllocationHandle handle = 0;
  answer.code = driver.cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(static_cast<std::uintptr_t>(descriptor)),
                                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  close(descriptor);
  CUdeviceptr range = 0;
  const CUmemAccessDesc access = read_write();
  driver.cuMemAddressReserve(&range, 2 * kMiB, 0, 0, 0);
  driver.cuMemMap(range, 2 * kMiB, 0, handle, 0);
  driver.cuMemSetAccess(range, 2 * kMiB, &access, 1);
  answer.first = 0;
  driver.cuMemcpyDtoH_v2(&answer.first, range + kMiB, 1);
  send_message(kSocket, answer);
  if (!receive_message(kSocket, message)) return 4;
  answer.first = 0;
  driver.cuMemcpyDtoH_v2(&answer.first, range + kMiB, 1);
  send_message(kSocket, answer);
  driver.cuMemUnmap(range, 2 * kMiB);
  driver.cuMemRelease(handle);
  driver.cuMemAddressFree(range, 2 * kMiB);
  driver.cuCtxSetCurrent(nullptr);
  driver.cuDevicePrimaryCtxRelease_v2(0);
  return 0;
}

}  // namespace contract
