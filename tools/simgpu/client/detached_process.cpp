// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/client/detached_process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#if defined(__has_feature)
#define CUPOOL_HAS_THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#define CUPOOL_HAS_THREAD_SANITIZER 0
#endif

namespace cupool::simgpu {
namespace {

constexpr std::size_t kStackBytes = 256 * 1024;

/// What the two new processes need. They share this process's memory while it waits, so they must not allocate.
struct Launch {
  const char* program;
  char* const* arguments;
  char* const* environment;
  int passed;
  std::byte* inner_stack;
  int error;
};

/// Starts `body(data)` as a process that shares this one's memory, without a signal at its end; the caller waits until it has ended
/// or become another program. ThreadSanitizer cannot follow such a process: under it an ordinary fork must do.
int start_process(int (*body)(void*), std::byte* stack_end, void* data) {
#if defined(__SANITIZE_THREAD__) || CUPOOL_HAS_THREAD_SANITIZER
  static_cast<void>(stack_end);
  const pid_t child = fork();
  if (child == 0) _exit(body(data));
  return child;
#else
  return clone(body, stack_end, CLONE_VM | CLONE_VFORK, data);
#endif
}

int run_program(void* data) {
  auto& launch = *static_cast<Launch*>(data);
  setsid();
  if (launch.passed != 3 && dup2(launch.passed, 3) < 0) _exit(127);
  if (launch.passed == 3) fcntl(3, F_SETFD, 0);
  const int null = open("/dev/null", O_RDWR);
  for (int standard = 0; standard < 3; ++standard) dup2(null, standard);
  if (syscall(SYS_close_range, 4U, ~0U, 0U) != 0) {
    for (int number = 4; number < 65536; ++number) close(number);
  }
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(launch.program, launch.arguments, launch.environment);
  launch.error = errno;
  _exit(127);
}

int detach(void* data) {
  auto& launch = *static_cast<Launch*>(data);
  const int child = start_process(&run_program, launch.inner_stack + kStackBytes, data);
  if (child < 0) launch.error = errno;
  _exit(0);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

}  // namespace

// As posix_spawn does it, twice: a first process without an exit signal, so that neither wait() nor SIGCHLD shows it, starts the
// program and ends, so that the program belongs to init. Signals are blocked meanwhile: a handler must not run in a process that
// shares memory.
bool start_detached(const std::vector<std::string>& command, const std::vector<std::string>& environment, int passed,
                    std::string& message) {
  const std::vector<char*> arguments = pointers(command);
  const std::vector<char*> variables = pointers(environment);
  void* stacks = mmap(nullptr, 2 * kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stacks == MAP_FAILED) {
    message = "no memory to start " + command.front();
    return false;
  }
  auto* outer_stack = static_cast<std::byte*>(stacks);
  Launch launch{command.front().c_str(), arguments.data(), variables.data(), passed, outer_stack + kStackBytes, 0};
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int child = start_process(&detach, outer_stack + kStackBytes, &launch);
  int error = child < 0 ? errno : 0;
  if (child > 0) {
    while (waitpid(child, nullptr, __WALL) < 0 && errno == EINTR) {
    }
    error = launch.error;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  munmap(stacks, 2 * kStackBytes);
  if (error != 0) message = "cannot start " + command.front() + ": " + std::strerror(error);
  return error == 0;
}

}  // namespace cupool::simgpu
