// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/simgpu/ptx/nvrtc.h"

#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <cstdlib>

namespace ptx_test {
namespace {

using Handle = void*;
struct Functions {
  int (*create)(Handle*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile)(Handle, int, const char* const*) = nullptr;
  int (*ptx_size)(Handle, std::size_t*) = nullptr;
  int (*ptx)(Handle, char*) = nullptr;
  int (*log_size)(Handle, std::size_t*) = nullptr;
  int (*log)(Handle, char*) = nullptr;
  int (*destroy)(Handle*) = nullptr;
};

const Functions* functions() {
  static const Functions* const loaded = []() -> const Functions* {
    const char* chosen = std::getenv("NVRTC_PATH");
    void* library = chosen != nullptr && *chosen != '\0' ? dlopen(chosen, RTLD_NOW | RTLD_LOCAL) : nullptr;
    for (const char* name :
         {"libnvrtc.so.13", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so.13"}) {
      if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (library == nullptr) return nullptr;
    static Functions all;
    const auto find = [library](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    };
    find(all.create, "nvrtcCreateProgram");
    find(all.compile, "nvrtcCompileProgram");
    find(all.ptx_size, "nvrtcGetPTXSize");
    find(all.ptx, "nvrtcGetPTX");
    find(all.log_size, "nvrtcGetProgramLogSize");
    find(all.log, "nvrtcGetProgramLog");
    find(all.destroy, "nvrtcDestroyProgram");
    return &all;
  }();
  return loaded;
}

}  // namespace

bool Nvrtc::available() {
  return functions() != nullptr;
}

std::string Nvrtc::compile(const std::string& source, const std::vector<std::string>& options) {
  const Functions& nvrtc = *functions();
  Handle program = nullptr;
  REQUIRE(nvrtc.create(&program, source.c_str(), "program.cu", 0, nullptr, nullptr) == 0);
  std::vector<const char*> words;
  for (const std::string& option : options) words.push_back(option.c_str());
  if (nvrtc.compile(program, static_cast<int>(words.size()), words.data()) != 0) {
    std::size_t size = 0;
    nvrtc.log_size(program, &size);
    std::string log(size, '\0');
    nvrtc.log(program, log.data());
    FAIL("NVRTC: " << log.substr(0, 3000));
  }
  std::size_t size = 0;
  REQUIRE(nvrtc.ptx_size(program, &size) == 0);
  std::string text(size, '\0');
  REQUIRE(nvrtc.ptx(program, text.data()) == 0);
  nvrtc.destroy(&program);
  text.resize(text.find('\0') == std::string::npos ? text.size() : text.find('\0'));
  return text;
}

}  // namespace ptx_test
