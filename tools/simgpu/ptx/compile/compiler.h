// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace cupool::simgpu::ptx {

/// Which C compiler, and how hard it tries. Results are bit-identical whichever ran.
enum class Backend {
  quick,      ///< tcc when it is installed, else gcc or clang -O1: for the first launches
  optimised,  ///< gcc or clang -O2: for kernels that turn out hot
};

struct CompileRequest {
  std::string_view source;  ///< complete C text; needs no header
  Backend backend = Backend::quick;
  /// SIMGPU_CC of the program that asks: "tcc", "gcc", "clang" or a path, used for both backends; empty to leave the choice open.
  std::string_view preference;
};

/// A file descriptor of a shared object, closed with the value. open_object() loads it.
class CompiledObject {
 public:
  explicit CompiledObject(int fd) : fd_(fd) {}
  CompiledObject(CompiledObject&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  CompiledObject& operator=(CompiledObject&& other) noexcept;
  ~CompiledObject();
  int fd() const { return fd_; }
  /// Gives the descriptor away; the caller closes it.
  int release();

 private:
  int fd_;
};

/// What the compiler said, for the JIT log.
struct CompileFailure {
  std::string message;
};

using Compiled = tl::expected<CompiledObject, CompileFailure>;

/// Turns C into a shared object. Programs are given one: in the host program an implementation that asks the server, in the server,
/// the tool and the tests LocalCompiler. Thread-safe; blocks for milliseconds (tcc) to seconds (gcc).
class Compiler {
 public:
  virtual ~Compiler() = default;
  virtual Compiled compile(const CompileRequest& request) = 0;
  /// Whether Backend::optimised differs from Backend::quick here (false: programs never recompile).
  virtual bool has_optimised() const = 0;
};

/// Compiles in this process: looks in the cache, else starts the compiler as a child process. For the server and for tools.
///
/// The cache lies in $SIMGPU_CACHE_DIR, else $XDG_CACHE_HOME/cupool/kernels, else $HOME/.cache/cupool/kernels: one file per object,
/// named by the hash of source, compiler and flags; written aside and renamed, so any number of processes may share it; the oldest
/// files go when it grows beyond 512 MiB. Where no such directory can be written, objects are made in a private one and not kept.
/// SIMGPU_CC in the environment is the preference of requests that have none.
class LocalCompiler final : public Compiler {
 public:
  LocalCompiler();
  ~LocalCompiler() override;
  Compiled compile(const CompileRequest& request) override;
  bool has_optimised() const override;

  /// How many times a compiler was started, and how many objects came from the cache.
  struct Counts {
    std::uint64_t compiled = 0;
    std::uint64_t cached = 0;
  };
  Counts counts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A shared object in this process, unloaded with the value. Its symbols are its own (RTLD_LOCAL).
class LoadedObject {
 public:
  LoadedObject() = default;
  explicit LoadedObject(void* handle) : handle_(handle) {}
  LoadedObject(LoadedObject&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  LoadedObject& operator=(LoadedObject&& other) noexcept;
  ~LoadedObject();
  void* symbol(const char* name) const;

 private:
  void* handle_ = nullptr;
};

/// Loads the object; the descriptor is not needed afterwards. The failure is the loader's message.
tl::expected<LoadedObject, CompileFailure> open_object(const CompiledObject& object);

}  // namespace cupool::simgpu::ptx
