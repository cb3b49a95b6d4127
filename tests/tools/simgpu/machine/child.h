// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace cupool::simgpu::test {

using Arguments = std::vector<std::string>;
using Environment = std::vector<std::pair<std::string, std::string>>;

/// What this executable does instead of testing when it is started as a child: one function per role.
struct Role {
  Role(const char* name, std::function<int(const Arguments&)> run);
};
int run_role(const std::string& name, const Arguments& arguments);

/// A child process: this executable again, in a role. Its standard input and output are pipes. Killed and reaped when it ends.
class Child {
 public:
  Child(const std::string& role, const Arguments& arguments, const Environment& environment = {});
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  /// The next line that it prints; empty at the end of its output.
  std::string line();
  /// Everything that it has still to say.
  std::string rest();
  /// Lets a child that waits for its input go on.
  void go_on();
  void kill();
  /// Its exit status, or minus the signal that ended it.
  int wait();

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  int status_ = 0;
};

/// In a child: blocks until go_on() or the end of the parent.
void wait_to_go_on();

/// A directory of its own for one simulated machine, removed at the end; also the environment that leads programs there.
class MachineDirectory {
 public:
  explicit MachineDirectory(Environment settings);
  ~MachineDirectory();
  const std::string& path() const { return path_; }
  /// The settings, SIMGPU_DIR and SIMGPU_SERVER, for Child.
  Environment environment(const Environment& more = {}) const;

 private:
  std::string path_;
  Environment settings_;
};

}  // namespace cupool::simgpu::test
