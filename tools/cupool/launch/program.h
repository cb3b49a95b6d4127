// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cupool::tool {

/// What a look at a program's file says about whether a preload can reach it.
struct ProgramCheck {
  enum class Finding {
    fits,            ///< an ordinary dynamic program of this machine's C library, or a script whose interpreter is one
    not_found,       ///< status 127, as of a shell
    not_executable,  ///< status 126
    unreachable,     ///< a preload would be ignored: static, set-uid, another word size or C library
  };
  Finding finding = Finding::fits;
  std::string path;                   ///< of the program, as it will be executed
  std::string reason;                 ///< of any finding but `fits`: a sentence with the remedy
  bool needs_vendor_runtime = false;  ///< links the vendor's CUDA runtime, which refuses a simulated driver
};

/// Looks at what `execvp(name)` would run. Reads a few kilobytes of the file; runs nothing.
ProgramCheck check_program(const std::string& name);

}  // namespace cupool::tool
