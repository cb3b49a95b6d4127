// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tools/simgpu/ptx/compile/cache.h"
#include "tools/simgpu/ptx/compile/compiler.h"

extern "C" char** environ;

namespace cupool::simgpu::ptx {
namespace {

/// One way to compile: the program and its arguments without file names.
struct Tool {
  std::string path;
  std::vector<std::string> flags;
  bool known() const { return !path.empty(); }
};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string cache_directory() {
  if (std::string own = environment("SIMGPU_CACHE_DIR"); !own.empty()) return own;
  if (std::string xdg = environment("XDG_CACHE_HOME"); !xdg.empty()) return xdg + "/cupool/kernels";
  if (std::string home = environment("HOME"); !home.empty()) return home + "/.cache/cupool/kernels";
  return "";
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  std::string path = environment("PATH");
  if (path.empty()) path = "/usr/local/bin:/usr/bin:/bin";
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const std::string candidate = path.substr(at, end - at) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    at = end + 1;
  }
  return "";
}

bool is_tcc(const std::string& path) {
  return path.substr(path.rfind('/') + 1).starts_with("tcc");
}

/// Flags that make all compilers give the same bits: no contraction, wrapping integers, type punning as written. -mfma only lets
/// the fused product that the source asks for be one instruction.
Tool tool_for(const std::string& name, Backend backend) {
  Tool tool{find_program(name), {}};
  if (!tool.known()) return tool;
  if (is_tcc(tool.path)) {
    tool.flags = {"-shared", "-nostdlib", "-w"};
    return tool;
  }
  tool.flags = {backend == Backend::quick ? "-O1" : "-O2",
                "-x",
                "c",
                "-std=gnu11",
                "-shared",
                "-fPIC",
                "-nostdlib",
                "-w",
                "-ffp-contract=off",
                "-fno-strict-aliasing",
                "-fwrapv",
                "-fno-math-errno",
                "-fvisibility=hidden"};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("fma")) tool.flags.emplace_back("-mfma");
#endif
  return tool;
}

/// The compiler's identity, so that another version does not find the old one's objects.
std::string stamp(const Tool& tool) {
  std::string text = tool.path;
  struct stat info {};
  if (stat(tool.path.c_str(), &info) == 0) text += "|" + std::to_string(info.st_size) + "|" + std::to_string(info.st_mtime);
  for (const std::string& flag : tool.flags) text += "|" + flag;
  return text;
}

bool write_file(const std::string& path, std::string_view text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  bool good = true;
  while (good && !text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    good = written > 0;
    if (good) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return close(fd) == 0 && good;
}

std::string read_file(const std::string& path, std::size_t most) {
  std::string text(most, '\0');
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  const ssize_t got = read(fd, text.data(), most);
  close(fd);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

/// Runs the program with its output in a file; its exit status, or -1 if it could not be started.
int run(const std::vector<std::string>& words, const std::string& output) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  // A compiler needs no preloaded library of ours, and none may follow it.
  std::vector<char*> variables;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    if (std::strncmp(*at, "LD_PRELOAD=", 11) != 0 && std::strncmp(*at, "LD_LIBRARY_PATH=", 16) != 0) variables.push_back(*at);
  }
  variables.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int error = posix_spawn(&child, words[0].c_str(), &actions, nullptr, arguments.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

tl::unexpected<CompileFailure> failure(std::string message) {
  return tl::unexpected<CompileFailure>(CompileFailure{std::move(message)});
}

}  // namespace

struct LocalCompiler::Impl {
  ObjectCache cache{cache_directory()};
  std::string preference = environment("SIMGPU_CC");
  Tool quick;
  Tool optimised;
  std::atomic<std::uint64_t> compiled{0};
  std::atomic<std::uint64_t> cached{0};

  Impl() {
    for (const char* name : {"gcc", "cc", "clang"}) {
      if (!optimised.known()) optimised = tool_for(name, Backend::optimised);
    }
    quick = tool_for("tcc", Backend::quick);
    for (const char* name : {"gcc", "cc", "clang"}) {
      if (!quick.known()) quick = tool_for(name, Backend::quick);
    }
  }

  Tool choose(const CompileRequest& request) const {
    const std::string wanted = request.preference.empty() ? preference : std::string(request.preference);
    // Who asks for one compiler by name gets it as it is at its best.
    if (!wanted.empty()) return tool_for(wanted, Backend::optimised);
    return request.backend == Backend::optimised && optimised.known() ? optimised : quick;
  }
};

LocalCompiler::LocalCompiler() : impl_(std::make_unique<Impl>()) {}
LocalCompiler::~LocalCompiler() = default;

bool LocalCompiler::has_optimised() const {
  return impl_->optimised.known() && impl_->optimised.path != impl_->quick.path;
}

LocalCompiler::Counts LocalCompiler::counts() const {
  return Counts{impl_->compiled.load(std::memory_order_relaxed), impl_->cached.load(std::memory_order_relaxed)};
}

Compiled LocalCompiler::compile(const CompileRequest& request) {
  const Tool tool = impl_->choose(request);
  if (!tool.known()) return failure("no C compiler: install tcc (or gcc), or name one in SIMGPU_CC");
  const std::string key = text_key(stamp(tool) + "\n" + std::string(request.source));
  if (const int fd = impl_->cache.open(key); fd >= 0) {
    impl_->cached.fetch_add(1, std::memory_order_relaxed);
    return CompiledObject(fd);
  }
  impl_->compiled.fetch_add(1, std::memory_order_relaxed);
  const std::string source = impl_->cache.temporary(key, ".c");
  const std::string object = impl_->cache.temporary(key, ".so");
  const std::string output = impl_->cache.temporary(key, ".log");
  if (!write_file(source, request.source))
    return failure("cannot write to " + impl_->cache.directory() + ": " + std::strerror(errno));
  std::vector<std::string> words{tool.path};
  words.insert(words.end(), tool.flags.begin(), tool.flags.end());
  words.insert(words.end(), {"-o", object, source});
  const int status = run(words, output);
  const std::string said = status == 0 ? "" : read_file(output, 4000);
  unlink(output.c_str());
  if (status == 0) unlink(source.c_str());
  if (status != 0 || !impl_->cache.keep(object, key)) {
    unlink(object.c_str());
    // The source stays for whoever wants to see what was wrong with it.
    return failure(tool.path + " failed with status " + std::to_string(status) + " on " + source + ": " + said);
  }
  const int fd = impl_->cache.open(key);
  if (fd < 0) return failure("the compiled object vanished from " + impl_->cache.directory());
  return CompiledObject(fd);
}

}  // namespace cupool::simgpu::ptx
