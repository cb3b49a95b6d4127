// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/program.h"

#include <cstdlib>
#include <cstring>

#include "tools/simgpu/ptx/compile/background.h"
#include "tools/simgpu/ptx/runtime/abi_types.h"
#include "tools/simgpu/ptx/runtime/launch.h"
#include "tools/simgpu/ptx/translate/translate.h"

namespace cupool::simgpu::ptx {
namespace {

/// A program whose launches took this long in all with quickly compiled code is worth the time of an optimising compiler.
constexpr std::chrono::milliseconds kHot{200};

std::string preference() {
  const char* text = std::getenv("SIMGPU_CC");
  return text == nullptr ? "" : text;
}

class CompiledProgram final : public Program {
 public:
  CompiledProgram(Translation translation, std::string text, Compiler& compiler)
      : translation_(std::move(translation)), text_(std::move(text)), compiler_(compiler) {
    for (const KernelPlan& plan : translation_.kernels) infos_.push_back(plan.info);
  }

  const std::vector<KernelInfo>& kernels() const override { return infos_; }
  const std::vector<GlobalInfo>& globals() const override { return translation_.globals; }
  std::shared_ptr<Instance> instantiate(std::vector<std::uint64_t> addresses) const override;

  std::optional<LoadFailure> build(Backend backend, LoadedObject& object, const abi::sg_module*& module) const {
    auto compiled = compiler_.compile({translation_.source, backend, preference_});
    if (!compiled) return LoadFailure{LoadError::compiler, compiled.error().message};
    auto loaded = open_object(*compiled);
    if (!loaded) return LoadFailure{LoadError::compiler, loaded.error().message};
    const auto* found = static_cast<const abi::sg_module*>(loaded->symbol("sg_program"));
    if (found == nullptr || found->abi != SG_ABI_VERSION || found->kernel_count != infos_.size()) {
      return LoadFailure{LoadError::compiler, "the compiled object is not what was asked for"};
    }
    object = std::move(*loaded);
    module = found;
    return std::nullopt;
  }

  std::optional<LoadFailure> build_quick() {
    const abi::sg_module* module = nullptr;
    if (auto failed = build(Backend::quick, quick_, module)) return failed;
    module_.store(module, std::memory_order_release);
    return std::nullopt;
  }

  Outcome launch(const Launch& launch, std::span<const std::uint64_t> globals, Memory& memory, const LaunchControl& control) const {
    if (launch.kernel >= infos_.size()) {
      Outcome outcome;
      outcome.kind = Outcome::Kind::invalid_launch;
      outcome.message = "no such kernel";
      return outcome;
    }
    // Acquire: what the background thread loaded is complete. Launches that run meanwhile keep the old code, which stays loaded.
    const abi::sg_module* module = module_.load(std::memory_order_acquire);
    const auto before = std::chrono::steady_clock::now();
    const CompiledKernel kernel{translation_.kernels[launch.kernel], module->kernels[launch.kernel], globals, text_};
    Outcome outcome = run_kernel(kernel, launch, memory, control);
    note_time(std::chrono::steady_clock::now() - before);
    return outcome;
  }

 private:
  void note_time(std::chrono::nanoseconds took) const {
    const auto before = spent_.fetch_add(took.count(), std::memory_order_relaxed);
    const std::int64_t limit = std::chrono::nanoseconds(kHot).count();
    if (before >= limit || before + took.count() < limit) return;  // exactly one launch crosses the line
    if (!preference_.empty() || !compiler_.has_optimised()) return;
    auto self = std::static_pointer_cast<const CompiledProgram>(shared_from_this());
    run_in_background([self] { self->optimise(); });
  }

  void optimise() const {
    const abi::sg_module* module = nullptr;
    if (build(Backend::optimised, optimised_, module)) return;  // the quick code goes on
    module_.store(module, std::memory_order_release);
  }

  Translation translation_;
  std::string text_;
  Compiler& compiler_;
  const std::string preference_ = preference();
  std::vector<KernelInfo> infos_;
  LoadedObject quick_;
  mutable LoadedObject optimised_;  ///< written by the one background job, before module_ points into it
  mutable std::atomic<const abi::sg_module*> module_{nullptr};
  mutable std::atomic<std::int64_t> spent_{0};  ///< nanoseconds
};

class CompiledInstance final : public Instance {
 public:
  CompiledInstance(std::shared_ptr<const CompiledProgram> program, std::vector<std::uint64_t> globals)
      : program_(std::move(program)), globals_(std::move(globals)) {}

  Outcome launch(const Launch& launch, Memory& memory, const LaunchControl& control) override {
    return program_->launch(launch, globals_, memory, control);
  }
  const Program& program() const override { return *program_; }

 private:
  std::shared_ptr<const CompiledProgram> program_;
  std::vector<std::uint64_t> globals_;
};

std::shared_ptr<Instance> CompiledProgram::instantiate(std::vector<std::uint64_t> addresses) const {
  addresses.resize(translation_.globals.size());
  return std::make_shared<CompiledInstance>(std::static_pointer_cast<const CompiledProgram>(shared_from_this()),
                                            std::move(addresses));
}

template <class List>
int index_of(const List& list, std::string_view name) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

tl::expected<std::shared_ptr<Program>, LoadFailure> Program::load(std::span<const std::string_view> sources, Compiler& compiler) {
  auto translation = translate(sources);
  if (!translation) return tl::unexpected<LoadFailure>(std::move(translation.error()));
  std::string text = sources.size() == 1 ? std::string(sources[0]) : std::string();
  auto program = std::make_shared<CompiledProgram>(std::move(*translation), std::move(text), compiler);
  if (auto failed = program->build_quick()) return tl::unexpected<LoadFailure>(std::move(*failed));
  return program;
}

int Program::find_kernel(std::string_view name) const {
  return index_of(kernels(), name);
}
int Program::find_global(std::string_view name) const {
  return index_of(globals(), name);
}

std::vector<std::byte> Program::initial_bytes(std::size_t index, std::span<const std::uint64_t> global_addresses) const {
  const GlobalInfo& info = globals()[index];
  std::vector<std::byte> bytes = info.initial;
  if (bytes.empty()) bytes.assign(info.size, std::byte{0});
  for (const Relocation& relocation : info.relocations) {
    const std::uint64_t address = global_addresses[relocation.target] + static_cast<std::uint64_t>(relocation.addend);
    std::memcpy(bytes.data() + relocation.offset, &address, std::min<std::size_t>(relocation.size, sizeof address));
  }
  return bytes;
}

}  // namespace cupool::simgpu::ptx
