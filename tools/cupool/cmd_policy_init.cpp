// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "policy/problem.h"
#include "tools/cupool/commands.h"
#include "tools/cupool/policy_schema.h"

namespace cupool::tool {
namespace {

struct Options {
  std::string file;
  bool force = false;
};

int write_starter(const Options& options, const Session& session) {
  const std::string text = policy_starter();
  if (options.file.empty() || options.file == "-") {
    fmt::print("{}", text);
    return kOk;
  }
  const std::string shown = policy::printable(options.file, 4096);
  const int file = open(options.file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | (options.force ? O_TRUNC : O_EXCL), 0666);
  if (file < 0 && errno == EEXIST) return cannot_run(shown + " exists; name another file, or use --force");
  if (file < 0) return cannot_run(fmt::format("cannot write {}: {}", shown, std::strerror(errno)));
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = write(file, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int why = errno;
      close(file);
      return cannot_run(fmt::format("cannot write {}: {}", shown, std::strerror(why)));
    }
    written += static_cast<std::size_t>(count);
  }
  if (close(file) != 0) return cannot_run(fmt::format("cannot write {}: {}", shown, std::strerror(errno)));
  if (!session.quiet) fmt::print("wrote {}; next: cupool policy check {}\n", shown, shown);
  return kOk;
}

}  // namespace

void add_policy_init(CLI::App& parent, Session& session) {
  CLI::App* command = add_command(parent, "init", "Write a commented policy to start from",
                                  {"cupool policy init lab.json", "cupool policy init | less"});
  auto options = std::make_shared<Options>();
  command->add_option("FILE", options->file, "Where to; without it, standard output")->option_text(" ");
  command->add_flag("-f,--force", options->force, "Overwrite the file");
  command->callback([options, &session] { session.action = [options, &session] { return write_starter(*options, session); }; });
}

}  // namespace cupool::tool
