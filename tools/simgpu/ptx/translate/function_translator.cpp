// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/ptx/translate/function_translator.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "tools/simgpu/ptx/translate/roles.h"

namespace cupool::simgpu::ptx {
namespace {

constexpr std::uint32_t kMaxLocalBytes = 512 * 1024;

std::uint32_t align_up(std::uint64_t value, std::uint32_t alignment) {
  return static_cast<std::uint32_t>((value + alignment - 1) / alignment * alignment);
}

const char* declared_type(Home home) {
  switch (home) {
    case Home::predicate:
      return "u32";
    case Home::u8:
      return "u8";
    case Home::u16:
      return "u16";
    case Home::u32:
      return "u32";
    case Home::f32:
      return "float";
    case Home::f64:
      return "double";
    default:
      return "u64";
  }
}

}  // namespace

std::vector<std::uint32_t> parameter_offsets(const std::vector<Variable>& parameters) {
  std::vector<std::uint32_t> offsets;
  std::uint32_t at = 0;
  for (const Variable& parameter : parameters) {
    at = align_up(at, std::max(1u, parameter.alignment));
    offsets.push_back(at);
    at += static_cast<std::uint32_t>(std::min<std::uint64_t>(parameter.size, 1u << 20));
  }
  return offsets;
}

FunctionTranslator::FunctionTranslator(const Names& names, std::size_t module, std::uint32_t index, const Function& function,
                                       Shape shape)
    : names_(names),
      module_(module),
      index_(index),
      function_(function),
      shape_(shape),
      liveness_(function),
      homes_(choose_homes(function)),
      labels_at_(function.instructions.size() + 1),
      label_used_(function.labels.size(), false) {
  for (std::size_t i = 0; i < function.labels.size(); ++i) labels_at_[function.labels[i].position].push_back(i);
  if (function.is_entry) param_offsets_ = parameter_offsets(function.parameters);
}

void FunctionTranslator::fail(const std::string& what) {
  if (!error_.empty()) return;
  if (instruction_ == nullptr) {
    error_ = "ptx line " + std::to_string(function_.line) + ": " + what;
    return;
  }
  error_ = "ptx line " + std::to_string(instruction_->line) + ": " + instruction_->name() + ": " + what;
}

const Operand& FunctionTranslator::operand(std::size_t i) {
  static const Operand kNone;
  if (i < instruction_->operands.size()) return instruction_->operands[i];
  fail("operand " + std::to_string(i + 1) + " is missing");
  return kNone;
}

bool FunctionTranslator::expect_operands(std::size_t least, std::size_t most) {
  const std::size_t count = instruction_->operands.size();
  if (count < least) fail("operands are missing");
  if (count > most) fail("there are too many operands");
  return !failed();
}

bool FunctionTranslator::finish_modifiers() {
  const std::string_view left = modifiers_->left_over();
  if (!left.empty()) fail("modifier '." + std::string(left).append("' is not supported here"));
  return !failed();
}

Type FunctionTranslator::take_type(const char* what) {
  const auto type = modifiers_->take_type();
  if (!type) fail(std::string(what) + " is missing");
  return type.value_or(kB32);
}

bool FunctionTranslator::run() {
  frame_of_locals();
  const auto& all = function_.instructions;
  result_.order_sensitive = std::any_of(all.begin(), all.end(), is_order_sensitive);
  if (shape_ == Shape::resumable) yielding_ = is_spinning(function_);
  result_.yields = yielding_;
  for (const Register& reg : function_.registers) {
    if (reg.type.bits() > 64) fail("register " + reg.name + ": 128-bit registers are not supported");
  }
  if (!failed()) instructions();
  if (failed()) return false;
  result_.registers = std::clamp(liveness_.pressure() + 8, 16u, 255u);
  assemble();
  return true;
}

void FunctionTranslator::frame_of_locals() {
  local_offsets_.assign(function_.variables.size(), 0);
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < function_.variables.size(); ++i) {
    const Variable& variable = function_.variables[i];
    if (variable.space != Space::local) continue;
    at = align_up(at, std::max(1u, variable.alignment));
    local_offsets_[i] = static_cast<std::uint32_t>(at);
    at += variable.size;
    if (at > kMaxLocalBytes) return fail("more than 512 KiB of local memory in a thread");
  }
  result_.local_bytes = align_up(at, 32);
}

void FunctionTranslator::place_labels(std::size_t position) {
  for (const std::size_t label : labels_at_[position]) body_.append(" L").append(std::to_string(label)).append(":;\n");
}

void FunctionTranslator::instructions() {
  for (std::size_t i = 0; i < function_.instructions.size() && !failed(); ++i) {
    place_labels(i);
    one_instruction(i);
  }
  place_labels(function_.instructions.size());
}

void FunctionTranslator::one_instruction(std::size_t index) {
  instruction_ = &function_.instructions[index];
  position_ = index;
  const Handler handler = find_handler(instruction_->opcode);
  if (handler == nullptr) return fail("this instruction is not supported");
  modifiers_.emplace(*instruction_);
  if (instruction_->guard != kNoRegister) {
    emit(std::string("if (") + (instruction_->guard_negated ? "!" : "") + name_of(instruction_->guard) + ")");
  }
  emit("{");
  (this->*handler)();
  emit("}");
  if (!failed()) finish_modifiers();
}

std::string FunctionTranslator::declarations() const {
  std::string text = "  u32 cc = 0;\n";
  const RegisterSet undefined = function_.instructions.empty() ? RegisterSet(function_.registers.size()) : liveness_.at(0);
  for (RegisterId reg = 0; reg < function_.registers.size(); ++reg) {
    // Registers that may be read before they are written get a value, so that no compiler may choose one.
    text.append("  ").append(declared_type(homes_[reg].home)).append(" ").append(name_of(reg));
    text.append(undefined.has(reg) ? " = 0;\n" : ";\n");
  }
  return text;
}

std::string FunctionTranslator::resume_switch() const {
  std::string text = "  switch (s->pc) {\n";
  for (const WaitPoint& point : waits_) {
    text.append("  case ").append(std::to_string(point.number)).append(": ").append(restore(point.saved));
    text.append("goto ").append(point.jump).append(";\n");
  }
  return text + "  }\n";
}

void FunctionTranslator::assemble() {
  const std::string name = (function_.is_entry ? "k" : "f") + std::to_string(index_);
  std::string& out = result_.source;
  out.append("// ").append(function_.name).append("\n");
  const bool has_params = std::any_of(function_.variables.begin(), function_.variables.end(),
                                      [](const Variable& v) { return v.space == Space::param; });
  std::string params;
  for (std::size_t i = 0; has_params && i < function_.variables.size(); ++i) {
    const Variable& variable = function_.variables[i];
    if (variable.space == Space::param)
      params += "  u64 v" + std::to_string(i) + "[" + std::to_string(variable.size / 8 + 2) + "];\n";
  }
  if (shape_ == Shape::device) {
    out.append("static void ").append(name).append("(sg_ctx* c, u64 fp");
    for (std::size_t i = 0; i < function_.returns.size(); ++i) out.append(", u8* q").append(std::to_string(i));
    for (std::size_t i = 0; i < function_.parameters.size(); ++i) out.append(", u8* p").append(std::to_string(i));
    out.append(") {\n").append(params).append(declarations());
    for (std::size_t i = 0; i < function_.register_parameters.size(); ++i) {
      const RegisterId reg = function_.register_parameters[i];
      if (reg == kNoRegister) continue;
      out.append("  ")
          .append(name_of(reg))
          .append(" = *(")
          .append(declared_type(homes_[reg].home))
          .append("*)p")
          .append(std::to_string(i))
          .append(";\n");
    }
    out.append(body_).append(" done:;\n");
    for (std::size_t i = 0; i < function_.register_returns.size(); ++i) {
      const RegisterId reg = function_.register_returns[i];
      if (reg == kNoRegister) continue;
      out.append("  *(")
          .append(declared_type(homes_[reg].home))
          .append("*)q")
          .append(std::to_string(i))
          .append(" = ")
          .append(name_of(reg))
          .append(";\n");
    }
    out.append("}\n");
    return;
  }
  if (shape_ == Shape::plain) {
    out.append("static void ")
        .append(name)
        .append("_thread(sg_ctx* c) {\n  const u64 fp = 0;\n")
        .append(params)
        .append(declarations());
    out.append(body_).append(" done:;\n}\n");
    return;
  }
  std::set<RegisterId> kept;
  for (const WaitPoint& point : waits_) kept.insert(point.saved.begin(), point.saved.end());
  out.append("typedef struct {\n  sg_thread thread;\n");
  for (const RegisterId reg : kept)
    out.append("  ").append(declared_type(homes_[reg].home)).append(" ").append(name_of(reg)).append(";\n");
  out.append(params).append("  u64 end;\n} ").append(name).append("_record;\n");
  for (const WaitPoint& point : waits_) {
    out.append("#undef SAVE")
        .append(std::to_string(point.number))
        .append("\n#define SAVE")
        .append(std::to_string(point.number))
        .append(" ");
    out.append(save(point.saved)).append("\n");
  }
  out.append("static u32 ").append(name).append("_step(sg_ctx* c, sg_thread* s) {\n  const u64 fp = 0;\n");
  out.append("  ").append(name).append("_record* R = (").append(name).append("_record*)s;\n").append(declarations());
  for (std::size_t i = 0; has_params && i < function_.variables.size(); ++i) {
    if (function_.variables[i].space == Space::param) {
      out.append("  u64* v").append(std::to_string(i)).append(" = R->v").append(std::to_string(i)).append(";\n");
    }
  }
  out.append(resume_switch()).append(body_).append(" done:\n  return SG_DONE;\n}\n");
}

FunctionTranslator::Handler FunctionTranslator::find_handler(std::string_view opcode) {
  using T = FunctionTranslator;
  static const std::unordered_map<std::string_view, Handler> kRoutes{
      {"add", &T::translate_add},
      {"sub", &T::translate_sub},
      {"mul", &T::translate_mul},
      {"mad", &T::translate_mad},
      {"mul24", &T::translate_mad24},
      {"mad24", &T::translate_mad24},
      {"div", &T::translate_div},
      {"rem", &T::translate_rem},
      {"abs", &T::translate_abs},
      {"neg", &T::translate_neg},
      {"min", &T::translate_min_max},
      {"max", &T::translate_min_max},
      {"sad", &T::translate_sad},
      {"addc", &T::translate_carry},
      {"subc", &T::translate_carry},
      {"madc", &T::translate_carry},
      {"and", &T::translate_logic},
      {"or", &T::translate_logic},
      {"xor", &T::translate_logic},
      {"not", &T::translate_not},
      {"cnot", &T::translate_not},
      {"lop3", &T::translate_lop3},
      {"shl", &T::translate_shift},
      {"shr", &T::translate_shift},
      {"shf", &T::translate_funnel_shift},
      {"popc", &T::translate_bit_count},
      {"clz", &T::translate_bit_count},
      {"brev", &T::translate_bit_count},
      {"bfind", &T::translate_bfind},
      {"fns", &T::translate_fns},
      {"bfe", &T::translate_bfe},
      {"bfi", &T::translate_bfi},
      {"szext", &T::translate_szext},
      {"bmsk", &T::translate_bmsk},
      {"prmt", &T::translate_prmt},
      {"dp4a", &T::translate_dot_product},
      {"dp2a", &T::translate_dot_product},
      {"fma", &T::translate_fma},
      {"rcp", &T::translate_unary_float},
      {"sqrt", &T::translate_unary_float},
      {"rsqrt", &T::translate_unary_float},
      {"sin", &T::translate_unary_float},
      {"cos", &T::translate_unary_float},
      {"lg2", &T::translate_unary_float},
      {"ex2", &T::translate_unary_float},
      {"tanh", &T::translate_unary_float},
      {"copysign", &T::translate_copysign},
      {"testp", &T::translate_testp},
      {"setp", &T::translate_setp},
      {"set", &T::translate_set},
      {"selp", &T::translate_selp},
      {"slct", &T::translate_slct},
      {"mov", &T::translate_mov},
      {"cvt", &T::translate_cvt},
      {"cvta", &T::translate_cvta},
      {"isspacep", &T::translate_isspacep},
      {"ld", &T::translate_ld},
      {"ldu", &T::translate_ld},
      {"st", &T::translate_st},
      {"atom", &T::translate_atom},
      {"red", &T::translate_atom},
      {"cp", &T::translate_cp},
      {"prefetch", &T::translate_no_effect},
      {"prefetchu", &T::translate_no_effect},
      {"discard", &T::translate_no_effect},
      {"applypriority", &T::translate_no_effect},
      {"nanosleep", &T::translate_no_effect},
      {"pmevent", &T::translate_no_effect},
      {"griddepcontrol", &T::translate_no_effect},
      {"setmaxnreg", &T::translate_no_effect},
      {"createpolicy", &T::translate_createpolicy},
      {"mapa", &T::translate_mapa},
      {"bra", &T::translate_bra},
      {"brx", &T::translate_brx},
      {"call", &T::translate_call},
      {"ret", &T::translate_ret},
      {"exit", &T::translate_exit},
      {"trap", &T::translate_trap},
      {"brkpt", &T::translate_trap},
      {"bar", &T::translate_bar},
      {"barrier", &T::translate_bar},
      {"membar", &T::translate_fence},
      {"fence", &T::translate_fence},
      {"shfl", &T::translate_shfl},
      {"vote", &T::translate_vote},
      {"match", &T::translate_match},
      {"activemask", &T::translate_activemask},
      {"redux", &T::translate_redux},
      {"elect", &T::translate_elect},
      {"mma", &T::translate_mma},
      {"ldmatrix", &T::translate_ldmatrix},
      {"stmatrix", &T::translate_stmatrix},
      {"movmatrix", &T::translate_movmatrix},
  };
  const auto found = kRoutes.find(opcode);
  return found == kRoutes.end() ? nullptr : found->second;
}

}  // namespace cupool::simgpu::ptx
