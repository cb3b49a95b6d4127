// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/simgpu/machine/child.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace cupool::simgpu::test {
namespace {

std::map<std::string, std::function<int(const Arguments&)>>& roles() {
  static std::map<std::string, std::function<int(const Arguments&)>> all;
  return all;
}

}  // namespace

Role::Role(const char* name, std::function<int(const Arguments&)> run) {
  roles().emplace(name, std::move(run));
}

int run_role(const std::string& name, const Arguments& arguments) {
  const auto found = roles().find(name);
  return found == roles().end() ? 99 : found->second(arguments);
}

Child::Child(const std::string& role, const Arguments& arguments, const Environment& environment) {
  int input[2];
  int output[2];
  if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  std::vector<std::string> texts{"/proc/self/exe", "--role", role};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(input[0], 0);
    dup2(output[1], 1);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    execv(list[0], list.data());
    _exit(98);
  }
  close(input[0]);
  close(output[1]);
  input_ = input[1];
  output_ = output[0];
}

Child::~Child() {
  if (pid_ > 0) {
    kill();
    wait();
  }
  if (input_ >= 0) close(input_);
  close(output_);
}

std::string Child::line() {
  std::string text;
  char c = 0;
  while (read(output_, &c, 1) == 1 && c != '\n') text += c;
  return text;
}

std::string Child::rest() {
  std::string text;
  char buffer[512];
  for (ssize_t length; (length = read(output_, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(length));
  return text;
}

void Child::go_on() {
  close(input_);
  input_ = -1;
}

void Child::kill() {
  ::kill(pid_, SIGKILL);
}

int Child::wait() {
  if (pid_ < 0) return status_;
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return status_;
}

void wait_to_go_on() {
  std::fflush(stdout);
  char c = 0;
  while (read(0, &c, 1) > 0) {
  }
}

MachineDirectory::MachineDirectory(Environment settings) : settings_(std::move(settings)) {
  char name[] = "/tmp/simgpu-test-XXXXXX";
  if (mkdtemp(name) == nullptr) throw std::runtime_error("mkdtemp");
  path_ = name;
}

MachineDirectory::~MachineDirectory() {
  std::filesystem::remove_all(path_);
}

Environment MachineDirectory::environment(const Environment& more) const {
  // Nothing of another machine's settings, which an observer may have left in this process.
  Environment all;
  for (const char* name :
       {"SIMGPU_GPUS", "SIMGPU_MEMORY", "SIMGPU_CONTEXT_MEMORY", "SIMGPU_GIVE_BACK", "SIMGPU_LINGER", "SIMGPU_LOW_MEMORY"}) {
    all.emplace_back(name, "");
  }
  all.insert(all.end(), settings_.begin(), settings_.end());
  all.emplace_back("SIMGPU_DIR", path_);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace cupool::simgpu::test
