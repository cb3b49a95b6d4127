// SPDX-License-Identifier: Apache-2.0
//
// Entry points: linking. What goes in as PTX comes out as PTX: the same bytes when it was one text, a list of texts otherwise.
// Machine code is not linked; with SIMGPU_CUBIN=null it passes through.
#include <cstring>
#include <string>
#include <vector>

#include "shim/abi/driver_api.h"
#include "tools/simgpu/entry.h"
#include "tools/simgpu/exec/handle_table.h"
#include "tools/simgpu/module/code.h"
#include "tools/simgpu/module/image_file.h"
#include "tools/simgpu/module/jit_options.h"

struct CUlinkState_st {};

using namespace cupool::simgpu;

namespace {

struct LinkState : CUlinkState_st {
  JitOptions options;
  std::vector<std::string> texts;
  std::string machine_code;
  std::string output;
  bool is_complete = false;
};

CUresult create_link(EntryId id, unsigned count, CUjit_option* options, void** values, CUlinkState* out) {
  return enter(
      id, Needs::context,
      [&](Call&) -> CUresult {
        auto state = std::make_shared<LinkState>();
        state->options = JitOptions(count, options, values);
        if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (const CUresult valid = state->options.check(); valid != CUDA_SUCCESS) return valid;
        *out = handles<LinkState>().add<CUlinkState>(state);
        return CUDA_SUCCESS;
      },
      count);
}

// A text may come with or without its terminating zero; a container and an ELF file say their own length.
CUresult add_image(LinkState& state, const std::string& image) {
  const ImageKind kind = kind_of_image(image.c_str());
  if (kind == ImageKind::unknown) return CUDA_ERROR_INVALID_IMAGE;
  std::vector<std::string> texts = texts_of(image.c_str());
  if (!texts.empty()) {
    state.texts.insert(state.texts.end(), texts.begin(), texts.end());
    return CUDA_SUCCESS;
  }
  if (!accepts_machine_code()) {
    state.options.write_error_log("simgpu links PTX, and this input holds machine code only");
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  state.machine_code = image;
  return CUDA_SUCCESS;
}

bool is_input_type(CUjitInputType type) {
  return type < CU_JIT_NUM_INPUT_TYPES;
}

CUresult add_to(CUlinkState handle, CUjitInputType type, const std::string& image) {
  const std::shared_ptr<LinkState> state = handles<LinkState>().find(handle);
  if (state == nullptr || state->is_complete) return CUDA_ERROR_INVALID_HANDLE;
  if (!is_input_type(type)) return CUDA_ERROR_INVALID_VALUE;
  if (type == CU_JIT_INPUT_NVVM) return CUDA_ERROR_NOT_SUPPORTED;
  if (type == CU_JIT_INPUT_PTX && kind_of_image(image.c_str()) != ImageKind::ptx) return CUDA_ERROR_INVALID_PTX;
  return add_image(*state, image);
}

CUresult add_data(EntryId id, CUlinkState state, CUjitInputType type, void* data, std::size_t size) {
  return enter(
      id, Needs::context,
      [&](Call&) -> CUresult {
        if (data == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
        return add_to(state, type, std::string(static_cast<const char*>(data), size));
      },
      state, size);
}

CUresult add_file(EntryId id, CUlinkState state, CUjitInputType type, const char* path) {
  return enter(
      id, Needs::context,
      [&](Call&) -> CUresult {
        std::string image;
        const CUresult read = read_image(path, image);
        return read == CUDA_SUCCESS ? add_to(state, type, image) : read;
      },
      state);
}

// Linking resolves and checks everything: what cannot be loaded is refused here, with the log, as the driver's linker does.
CUresult complete(LinkState& state) {
  if (state.texts.empty()) {
    state.output = state.machine_code;
    return state.output.empty() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  }
  const std::vector<std::string_view> views(state.texts.begin(), state.texts.end());
  std::shared_ptr<const Code> code;
  std::string log;
  const CUresult loaded = load_texts(views, code, log);
  state.options.write_error_log(log);
  state.options.write_info_log({});
  if (loaded == CUDA_SUCCESS) state.output = join_texts(state.texts);
  return loaded;
}

}  // namespace

CUresult cuLinkCreate(unsigned int count, CUjit_option* options, void** values, CUlinkState* state) {
  return create_link(EntryId::cuLinkCreate, count, options, values, state);
}
CUresult cuLinkCreate_v2(unsigned int count, CUjit_option* options, void** values, CUlinkState* state) {
  return create_link(EntryId::cuLinkCreate_v2, count, options, values, state);
}

CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void* data, size_t size, const char*, unsigned int, CUjit_option*,
                       void**) {
  return add_data(EntryId::cuLinkAddData, state, type, data, size);
}
CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void* data, size_t size, const char*, unsigned int, CUjit_option*,
                          void**) {
  return add_data(EntryId::cuLinkAddData_v2, state, type, data, size);
}

CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char* path, unsigned int, CUjit_option*, void**) {
  return add_file(EntryId::cuLinkAddFile, state, type, path);
}
CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char* path, unsigned int, CUjit_option*, void**) {
  return add_file(EntryId::cuLinkAddFile_v2, state, type, path);
}

CUresult cuLinkComplete(CUlinkState handle, void** image, size_t* size) {
  return enter(
      EntryId::cuLinkComplete, Needs::context,
      [&](Call&) -> CUresult {
        const std::shared_ptr<LinkState> state = handles<LinkState>().find(handle);
        if (state == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (!state->is_complete) {
          if (const CUresult code = complete(*state); code != CUDA_SUCCESS) return code;
          state->is_complete = true;
        }
        // Owned by the link until it is destroyed. The size counts the terminating zero that the loader looks for.
        *image = state->output.data();
        if (size != nullptr) *size = state->output.size() + 1;
        return CUDA_SUCCESS;
      },
      handle);
}

CUresult cuLinkDestroy(CUlinkState handle) {
  return enter(
      EntryId::cuLinkDestroy, Needs::init,
      [&](Call&) -> CUresult { return handles<LinkState>().remove(handle) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; },
      handle);
}
