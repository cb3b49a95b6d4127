// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/module/module.h"

#include <utility>

#include "tools/simgpu/context.h"
#include "tools/simgpu/exec/copy_job.h"
#include "tools/simgpu/memory.h"

namespace cupool::simgpu {

Module::Module(Context& context, std::shared_ptr<const Code> code) : context_(context), code_(std::move(code)) {}

CUresult Module::load(Context& context, std::shared_ptr<const Code> code, std::shared_ptr<Module>& module) {
  std::shared_ptr<Module> made(new Module(context, std::move(code)));
  Result<Charge> charge = Charge::take(context.device(), protocol::Purpose::module, made->code_->bytes);
  if (!charge) return CUDA_ERROR_OUT_OF_MEMORY;
  made->code_memory_ = std::move(*charge);
  if (!made->code_->is_null()) {
    if (const CUresult placed = made->place_variables(); placed != CUDA_SUCCESS) return placed;
    made->instance_ = made->code_->program->instantiate(made->addresses_);
  }
  module = std::move(made);
  return CUDA_SUCCESS;
}

CUresult Module::place_variables() {
  const std::vector<ptx::GlobalInfo>& variables = code_->program->globals();
  for (const ptx::GlobalInfo& variable : variables) {
    CUdeviceptr address = 0;
    const std::uint64_t size = variable.size != 0 ? variable.size : 1;
    const CUresult taken = memory().allocate(context_, size, MemoryKind::module, address);
    if (taken != CUDA_SUCCESS) return taken;
    addresses_.push_back(address);
  }
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const std::vector<std::byte> initial = code_->program->initial_bytes(i, addresses_);
    if (initial.empty()) continue;
    perform(flat_copy(CopySide::Space::device, addresses_[i], CopySide::Space::host,
                      reinterpret_cast<std::uint64_t>(initial.data()), initial.size(), context_));
  }
  return CUDA_SUCCESS;
}

Module::~Module() {
  for (const std::uint64_t address : addresses_) {
    memory().release(address, [](const Block& block) { return block.kind == MemoryKind::module; });
  }
}

CUresult Module::function(std::string_view name, std::shared_ptr<Function>& function) {
  int index = -1;
  if (!code_->is_null()) {
    index = code_->program->find_kernel(name);
    if (index < 0) return CUDA_ERROR_NOT_FOUND;
  }
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Function>& known = functions_[std::string(name)];
  if (known == nullptr) {
    ptx::KernelInfo info;
    if (index >= 0) {
      info = code_->program->kernels()[static_cast<std::size_t>(index)];
    } else {
      info.name = name;
    }
    known = std::make_shared<Function>(weak_from_this(), context_, static_cast<std::uint32_t>(index), info, instance_);
  }
  function = known;
  return CUDA_SUCCESS;
}

std::size_t Module::function_count() const {
  return code_->is_null() ? 0 : code_->program->kernels().size();
}

std::shared_ptr<Function> Module::function_at(std::size_t index) {
  std::shared_ptr<Function> found;
  function(code_->program->kernels()[index].name, found);
  return found;
}

CUresult Module::variable(std::string_view name, Variable& variable) const {
  if (code_->is_null()) return CUDA_ERROR_NOT_FOUND;
  const int index = code_->program->find_global(name);
  // Whatever its linkage: the runtime finds static variables by this call.
  if (index < 0) return CUDA_ERROR_NOT_FOUND;
  variable = {addresses_[static_cast<std::size_t>(index)], code_->program->globals()[static_cast<std::size_t>(index)].size};
  return CUDA_SUCCESS;
}

}  // namespace cupool::simgpu
