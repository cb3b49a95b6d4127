// SPDX-License-Identifier: Apache-2.0
#include "tools/cupool/launch/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace cupool::tool {
namespace {

/// The command that signals are passed on to. Written before the handlers are installed.
volatile sig_atomic_t g_child = 0;

void pass_on(int signal, siginfo_t* info, void*) {
  const int saved = errno;
  // What the terminal sends (SI_KERNEL) has reached the whole foreground group already.
  if (g_child > 0 && info->si_code != SI_KERNEL) kill(g_child, signal);
  errno = saved;
}

constexpr std::array kPassedOn{SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM, SIGCONT};

std::vector<std::string> changed_environment(const std::vector<EnvironmentChange>& changes) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    bool replaced = false;
    for (const auto& [name, value] : changes) replaced |= text.starts_with(name + "=");
    if (!replaced) entries.push_back(text);
  }
  for (const auto& [name, value] : changes) entries.push_back(name + "=" + value);
  return entries;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

/// Forks and executes. The child tells through a close-on-exec pipe when it could not be executed.
Result<pid_t> start(const std::string& path, std::vector<std::string> arguments, const std::vector<EnvironmentChange>& changes,
                    bool quiet) {
  std::vector<std::string> environment = changed_environment(changes);
  const std::vector<char*> argv = pointers(arguments), envp = pointers(environment);
  std::array<int, 2> told{};
  if (pipe2(told.data(), O_CLOEXEC) != 0) return fail(Errc::io, "no pipe to the command");
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t child = fork();
  if (child == 0) {
    for (const int signal : kPassedOn) std::signal(signal, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    if (quiet) {
      const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
      for (int target = 0; target < 3; ++target) dup2(nothing, target);
    }
    execvpe(path.c_str(), argv.data(), envp.data());
    const int why = errno;
    if (write(told[1], &why, sizeof why) < 0) _exit(125);
    _exit(127);
  }
  g_child = child;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  close(told[1]);
  int why = 0;
  const ssize_t got = child < 0 ? -1 : read(told[0], &why, sizeof why);
  close(told[0]);
  if (child < 0) return fail(Errc::no_memory, "no process could be started");
  if (got == static_cast<ssize_t>(sizeof why)) {
    waitpid(child, nullptr, 0);
    g_child = 0;
    return fail(why == ENOENT ? Errc::not_found : Errc::invalid_argument, strerrordesc_np(why));
  }
  return child;
}

}  // namespace

Result<ChildEnd> run_child(const std::string& path, const std::vector<std::string>& arguments,
                           const std::vector<EnvironmentChange>& changes) {
  struct sigaction action {};
  action.sa_sigaction = pass_on;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  for (const int signal : kPassedOn) sigaction(signal, &action, nullptr);
  const Result<pid_t> child = start(path, arguments, changes, false);
  if (!child) return tl::unexpected(child.error());
  while (true) {
    int status = 0;
    if (waitpid(*child, &status, WUNTRACED) < 0) {
      if (errno == EINTR) continue;
      return fail(Errc::io, "the command's end could not be seen");
    }
    if (WIFSTOPPED(status)) {
      raise(SIGSTOP);  // the shell sees a stopped job; when it goes on, so does the command
      kill(*child, SIGCONT);
      continue;
    }
    g_child = 0;
    if (WIFSIGNALED(status)) return ChildEnd{std::nullopt, WTERMSIG(status)};
    return ChildEnd{WEXITSTATUS(status), std::nullopt};
  }
}

std::optional<int> run_quietly(const std::string& path, const std::vector<std::string>& arguments,
                               const std::vector<EnvironmentChange>& changes, int timeout_ms) {
  const Result<pid_t> child = start(path, arguments, changes, true);
  if (!child) return std::nullopt;
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, *child, 0));
  pollfd ready{handle, POLLIN, 0};
  const bool ended = handle < 0 || poll(&ready, 1, timeout_ms) > 0;
  if (!ended) kill(*child, SIGKILL);  // our own helper, never the user's program
  if (handle >= 0) close(handle);
  int status = 0;
  waitpid(*child, &status, 0);
  g_child = 0;
  if (!ended || !WIFEXITED(status)) return std::nullopt;
  return WEXITSTATUS(status);
}

void end_like(const ChildEnd& end) {
  if (end.code) std::exit(*end.code);
  const int signal = end.signal.value_or(SIGKILL);
  // The command has dumped its core already; ours would only hide it.
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  std::signal(signal, SIG_DFL);
  sigset_t just;
  sigemptyset(&just);
  sigaddset(&just, signal);
  sigprocmask(SIG_UNBLOCK, &just, nullptr);
  std::fflush(nullptr);
  raise(signal);
  std::exit(128 + signal);
}

}  // namespace cupool::tool
