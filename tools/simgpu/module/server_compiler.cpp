// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/module/server_compiler.h"

#include <unistd.h>

#include <string>

#include "tools/simgpu/client/connection.h"
#include "tools/simgpu/machine_config.h"
#include "tools/simgpu/server/compile_service.h"

namespace cupool::simgpu {
namespace {

std::string text_in(int file) {
  std::string text;
  char part[4096];
  off_t at = 0;
  for (;;) {
    const ssize_t got = pread(file, part, sizeof part, at);
    if (got <= 0) return text;
    text.append(part, static_cast<std::size_t>(got));
    at += got;
  }
}

class ServerCompiler final : public ptx::Compiler {
 public:
  ptx::Compiled compile(const ptx::CompileRequest& request) override {
    const bool optimised = request.backend == ptx::Backend::optimised;
    std::string text;
    if (!request.preference.empty()) text.append(kCompilerLine).append(request.preference).append("\n");
    text.append(request.source);
    Result<RemoteObject> answer = compile_on_server(machine_directory(), text, optimised);
    if (!answer) {
      return tl::unexpected(
          ptx::CompileFailure{std::string("the simulated machine's server did not compile: ") + answer.error().detail});
    }
    if (!answer->compiled) return tl::unexpected(ptx::CompileFailure{text_in(answer->file.get())});
    return ptx::CompiledObject(answer->file.take());
  }

  bool has_optimised() const override { return true; }
};

}  // namespace

ptx::Compiler& server_compiler() {
  static ServerCompiler* const compiler = new ServerCompiler;
  return *compiler;
}

}  // namespace cupool::simgpu
