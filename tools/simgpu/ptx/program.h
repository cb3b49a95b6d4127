// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "tools/simgpu/ptx/compile/compiler.h"
#include "tools/simgpu/ptx/memory.h"

namespace cupool::simgpu::ptx {

/// One kernel parameter in the parameter buffer: what cuFuncGetParamInfo reports and kernelParams are gathered by.
struct Parameter {
  std::string name;
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
  std::uint32_t alignment = 1;
};

/// A kernel's interface and attributes (what cuFuncGetAttribute reports). Amounts in bytes.
struct KernelInfo {
  std::string name;
  std::vector<Parameter> parameters;
  std::uint32_t parameter_bytes = 0;
  std::uint32_t shared_bytes = 0;    ///< static shared memory
  std::uint32_t local_bytes = 0;     ///< per thread
  std::uint32_t const_bytes = 0;     ///< the module's .const variables
  std::uint32_t registers = 0;       ///< an estimate: the largest number of 32-bit registers live at once, 16 at least, 255 at most
  std::uint32_t max_threads = 1024;  ///< threads per block, from .maxntid or .reqntid, else 1024
  std::uint32_t required_block[3] = {0, 0, 0};  ///< .reqntid, or zeros
  std::uint32_t ptx_version = 0;                ///< 10 x major + minor
  std::uint32_t target = 0;                     ///< .target sm_NN: NN
};

/// An address inside a global's initial bytes, to be filled in when the program is instantiated.
struct Relocation {
  std::uint32_t offset = 0;  ///< where in the global the 8 (or `size`) bytes of the address go
  std::uint32_t size = 8;
  std::uint32_t target = 0;  ///< index of the global whose address is meant
  std::int64_t addend = 0;
};

/// A module variable in device memory (.global or .const).
struct GlobalInfo {
  std::string name;
  std::uint64_t size = 0;
  std::uint32_t alignment = 1;
  bool constant = false;           ///< .const: kernels cannot write it
  bool exported = false;           ///< .visible, .weak or .common: cuModuleGetGlobal finds it
  std::vector<std::byte> initial;  ///< `size` bytes, or empty when it starts as zeros
  std::vector<Relocation> relocations;
};

enum class LoadError {
  syntax,               ///< not PTX: CUDA_ERROR_INVALID_PTX (218)
  unsupported_version,  ///< .version newer than 9.x or .target not known: CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222)
  unsupported,          ///< valid PTX that simgpu does not run: CUDA_ERROR_INVALID_PTX (218), the log names line and instruction
  unresolved,  ///< an .extern that no source defines: CUDA_ERROR_INVALID_PTX (218); from a link CUDA_ERROR_INVALID_IMAGE (200)
  compiler,    ///< the C compiler is missing or failed: CUDA_ERROR_JIT_COMPILER_NOT_FOUND (221)
  too_large,   ///< more shared or parameter memory than the device has
};

/// Why a load failed. The log is what goes into CU_JIT_ERROR_LOG_BUFFER: "ptx line 12: setp.foo.f32: what is wrong".
struct LoadFailure {
  LoadError error = LoadError::syntax;
  std::string log;
};

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
};

/// One launch. `parameters` is the parameter buffer: each parameter at its offset, parameter_bytes long.
struct Launch {
  std::uint32_t kernel = 0;  ///< index into Program::kernels()
  Dim3 grid;
  Dim3 block;
  std::uint32_t dynamic_shared_bytes = 0;
  std::span<const std::byte> parameters;
};

/// How a launch is watched. All members may be left as they are.
struct LaunchControl {
  /// Set by another thread to stop the kernel: the launch then ends with Outcome::Kind::stopped within some 10 ms.
  const std::atomic<bool>* stop = nullptr;
  /// Longest time a launch may take; 0: as long as it wants.
  std::chrono::milliseconds limit{0};
  /// Every access is checked with Memory::check (SIMGPU_CHECK=1); some 20 times slower.
  bool check = false;
  /// Where printf of the kernel goes; dropped when empty. May be called from worker threads, one call at a time.
  std::function<void(std::string_view)> print;
};

/// How a launch ended.
struct Outcome {
  enum class Kind {
    ok,
    illegal_address,  ///< CUDA_ERROR_ILLEGAL_ADDRESS (700)
    misaligned,       ///< CUDA_ERROR_MISALIGNED_ADDRESS (716)
    trap,             ///< trap instruction: CUDA_ERROR_ILLEGAL_INSTRUCTION (715) as the driver reports it
    assert_failed,    ///< CUDA_ERROR_ASSERT (710)
    stopped,          ///< LaunchControl::stop was set
    timeout,          ///< LaunchControl::limit passed: CUDA_ERROR_LAUNCH_TIMEOUT (702)
    deadlock,         ///< threads wait for one another for ever, where hardware would hang: CUDA_ERROR_LAUNCH_TIMEOUT (702)
    invalid_launch,   ///< block, shared memory or parameter buffer do not fit the kernel: nothing ran (1; 701 for resources)
    unsupported,      ///< a device function that cannot run here was reached: CUDA_ERROR_LAUNCH_FAILED (719)
  };
  Kind kind = Kind::ok;
  /// One sentence: kernel, PTX line and instruction, block and thread, address, neighbour block. Empty when ok.
  std::string message;
  std::uint64_t address = 0;  ///< for illegal_address and misaligned
  std::uint32_t line = 0;     ///< PTX line, 0 when none belongs to it
  std::uint32_t block[3] = {0, 0, 0};
  std::uint32_t thread[3] = {0, 0, 0};
};

class Instance;

/// PTX text that was read, checked, translated to C and compiled. Immutable and shared: safe from any thread.
class Program : public std::enable_shared_from_this<Program> {
 public:
  virtual ~Program() = default;

  /// Loads one or several PTX texts that refer to each other (cuLinkAddData). Nothing is run and no device memory is needed.
  /// Takes some milliseconds when the compiled object is not cached. `compiler` must outlive the program: kernels that turn out
  /// hot are compiled again in the background.
  static tl::expected<std::shared_ptr<Program>, LoadFailure> load(std::span<const std::string_view> sources, Compiler& compiler);

  virtual const std::vector<KernelInfo>& kernels() const = 0;
  virtual const std::vector<GlobalInfo>& globals() const = 0;

  /// Index of the kernel or global of that name; -1 if there is none.
  int find_kernel(std::string_view name) const;
  int find_global(std::string_view name) const;

  /// Makes the program runnable where its globals lie: one device address per entry of globals(), aligned as asked and already
  /// filled with the initial bytes (initial_bytes() gives them with relocations applied). Cheap: no compilation.
  virtual std::shared_ptr<Instance> instantiate(std::vector<std::uint64_t> global_addresses) const = 0;

  /// globals()[index].initial with every relocation filled in; zeros if it has no initial bytes.
  std::vector<std::byte> initial_bytes(std::size_t index, std::span<const std::uint64_t> global_addresses) const;
};

/// A program in one context. launch() may be called from several threads at once; each call returns when the whole grid has run.
///
/// The same inputs give the same bits whatever the number of workers and whichever compiler ran. The caller holds whatever keeps
/// `memory` valid (PageTable's read scope) around launch().
class Instance {
 public:
  virtual ~Instance() = default;
  virtual Outcome launch(const Launch& launch, Memory& memory, const LaunchControl& control) = 0;
  virtual const Program& program() const = 0;
};

}  // namespace cupool::simgpu::ptx
