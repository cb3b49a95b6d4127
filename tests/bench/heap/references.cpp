// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/heap/references.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace cupool::bench {
namespace {

bool is_installed(const std::string& library) {
  const std::string probe = "LD_PRELOAD=" + library + " /bin/true 2>&1";
  std::FILE* const pipe = popen(probe.c_str(), "r");
  if (pipe == nullptr) return false;
  const bool complained = std::fgetc(pipe) != EOF;  // the loader's "cannot be preloaded"
  return pclose(pipe) == 0 && !complained;
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

const std::vector<Reference>& references() {
  static const std::vector<Reference> all{
      {"jemalloc", "libjemalloc.so.2", "libjemalloc2"},
      {"mimalloc", "libmimalloc.so.2.0", "libmimalloc2.0"},
      {"gperftools", "libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"},
  };
  return all;
}

std::optional<ReferenceFigures> run_reference(const Reference& reference, const Ops& ops, unsigned passes) {
  if (!is_installed(reference.library)) return std::nullopt;
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "malloc_replay";
  const std::string command =
      "LD_PRELOAD=" + reference.library + " " + quoted(program.string()) + " " + quoted(ops.file) + " " + std::to_string(passes);
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  ReferenceFigures figures;
  const int read = std::fscanf(pipe, "%lf %lf %lf %lf", &figures.ns_per_op, &figures.p50_ns, &figures.p99_ns, &figures.p999_ns);
  if (pclose(pipe) != 0 || read != 4) return std::nullopt;
  return figures;
}

}  // namespace cupool::bench
