// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/simgpu/ptx/syntax/module.h"
#include "tools/simgpu/ptx/translate/flow.h"
#include "tools/simgpu/ptx/translate/homes.h"
#include "tools/simgpu/ptx/translate/modifiers.h"
#include "tools/simgpu/ptx/translate/names.h"

namespace cupool::simgpu::ptx {

/// How a function's C looks.
enum class Shape {
  plain,      ///< a kernel whose threads never wait: one call per thread
  resumable,  ///< a kernel that returns where a thread must wait and goes on from there
  device,     ///< a .func
};

/// What the translation of one function gave, for the module's table.
struct TranslatedFunction {
  std::string source;
  std::uint32_t local_bytes = 0;  ///< own frame
  std::uint32_t registers = 0;
  bool order_sensitive = false;       ///< blocks must run in order on one worker
  bool yields = false;                ///< step may return SG_YIELD
  std::vector<std::uint32_t> called;  ///< functions by index
  std::vector<std::uint32_t> shared;  ///< shared variables by index
  bool indirect_calls = false;
};

/// Writes the C of one function. The families of instructions are in translate_<family>.cpp.
///
/// Every operand and modifier is looked at or refused: the first thing that is not supported ends the translation, with the PTX
/// line and instruction in the message.
class FunctionTranslator {
 public:
  FunctionTranslator(const Names& names, std::size_t module, std::uint32_t index, const Function& function, Shape shape);

  /// False: error() says why.
  bool run();
  const std::string& error() const { return error_; }
  TranslatedFunction take_result() { return std::move(result_); }

 private:
  using Handler = void (FunctionTranslator::*)();
  struct Route {
    std::string_view opcode;
    Handler handler;
  };
  static Handler find_handler(std::string_view opcode);

  // function_translator.cpp: the frame around the instructions
  void instructions();
  void one_instruction(std::size_t index);
  void place_labels(std::size_t position);
  void assemble();
  void frame_of_locals();
  std::string declarations() const;
  std::string resume_switch() const;

  // operands.cpp: how operands read and are assigned in C
  std::string value(const Operand& operand, Type type);
  std::string bits_of(const Operand& operand, std::uint32_t width) {
    return value(operand, Type{Kind::bits, static_cast<std::uint8_t>(width), 1});
  }
  std::string predicate(const Operand& operand);
  std::string register_value(RegisterId reg, Type type);
  std::string immediate(const Operand& operand, Type type);
  std::string special(std::string_view name);
  std::string symbol_address(const Operand& operand, Type type);
  /// The address in an ld, st or atom: a 64-bit C expression in the state space's own numbering.
  std::string address(const Operand& operand, Space space);
  std::string variable_address(const Operand& operand, Space* space);
  void assign(const Operand& target, Type type, const std::string& expression, bool arithmetic = false);
  void assign_predicate(const Operand& target, const std::string& expression);
  std::string declare_temporary(const char* c_type, const std::string& expression);
  static std::string c_type(Type type);
  std::string name_of(RegisterId reg) const { return "r" + std::to_string(reg); }

  // waiting.cpp: places where a thread waits
  void wait_point(const char* result, const std::vector<std::string>& inputs, const std::string& op);
  void yield_point(std::size_t position);
  std::string save(const std::vector<RegisterId>& registers) const;
  std::string restore(const std::vector<RegisterId>& registers) const;

  // What handlers use.
  void emit(const std::string& line) { body_.append("  ").append(line).append("\n"); }
  void fail(const std::string& what);
  bool failed() const { return !error_.empty(); }
  const Operand& operand(std::size_t i);
  bool expect_operands(std::size_t least, std::size_t most);
  bool finish_modifiers();
  Type take_type(const char* what = "a type");
  std::string line() const { return std::to_string(instruction_->line) + "u"; }

  // integer.cpp
  void translate_add();
  void translate_sub();
  void translate_mul();
  void translate_mad();
  void translate_mad24();
  void translate_div();
  void translate_rem();
  void translate_abs();
  void translate_neg();
  void translate_min_max();
  void translate_sad();
  void translate_carry();
  void integer_add(Type type, bool subtract);
  void integer_mul(Type type, const Operand* addend);
  void integer_min_max(Type type, bool is_max);
  void packed_integer(Type type, const std::string& op);
  std::string mul_high(Type type, const std::string& a, const std::string& b);
  // bits.cpp
  void translate_logic();
  void translate_not();
  void translate_lop3();
  void translate_shift();
  void translate_funnel_shift();
  void translate_bit_count();
  void translate_bfind();
  void translate_fns();
  void translate_bfe();
  void translate_bfi();
  void translate_szext();
  void translate_bmsk();
  void translate_prmt();
  void translate_dot_product();
  // floating.cpp
  void translate_fma();
  void translate_unary_float();
  void translate_copysign();
  void translate_testp();
  void float_binary(Type type, const char* op);
  void float_fma(Type type, bool is_mad);
  void float_min_max(Type type, bool is_max);
  void float_sign(Type type, bool negate);
  void packed_float(Type type, const std::string& op);
  void half_operation(Type type, const char* op, std::size_t sources);
  std::string rounding(const char* fallback);
  std::string flush(const std::string& value, bool ftz) const { return ftz ? "sg_ftz(" + value + ")" : value; }
  void finish_float(const Operand& target, Type type, std::string expression, bool ftz, bool saturate);
  // compare.cpp
  void translate_setp();
  void translate_set();
  void translate_selp();
  void translate_slct();
  std::string compare(std::string_view op, Type type, const Operand& a, const Operand& b, bool ftz);
  std::string combine(std::string_view op, const std::string& result, const std::string& with);
  void half2_setp(std::string_view op, Type type, std::string_view boolean);
  // convert.cpp
  void translate_mov();
  void translate_cvt();
  void translate_cvt_pack();
  void convert_pair(Type to, Type from, const std::string& rounding, const std::string& flags);
  bool quick_conversion(Type to, Type from, const std::string& mode, bool ftz, bool saturate);
  void translate_cvta();
  void translate_isspacep();
  void pack(const Operand& target, const Operand& source, Type type);
  void unpack(const Operand& target, const Operand& source, Type type);
  // memory.cpp
  void translate_ld();
  void translate_st();
  void translate_atom();
  void translate_cp();
  void translate_no_effect();
  void translate_createpolicy();
  void translate_mapa();
  Space take_space();
  void take_memory_hints(bool* is_volatile);
  std::string reach(Space space, const Operand& target, std::uint32_t size, bool write);
  std::string parameter_place(const Operand& target, std::uint32_t size, bool write);
  // control.cpp
  void translate_bra();
  void translate_brx();
  void translate_call();
  void translate_ret();
  void translate_exit();
  void translate_trap();
  void jump(std::int32_t label);
  std::string argument(const Operand& operand, bool is_result);
  void call_provided(std::string_view name, const std::vector<std::string>& results, const std::vector<std::string>& arguments);
  void call_indirect(const Operand& target, const std::vector<std::string>& results, const std::vector<std::string>& arguments);
  // sync.cpp
  void translate_bar();
  void translate_fence();
  void translate_shfl();
  void translate_vote();
  void translate_match();
  void translate_activemask();
  void translate_redux();
  void translate_elect();
  // matrix.cpp
  void translate_mma();
  void translate_ldmatrix();
  void translate_stmatrix();
  void translate_movmatrix();
  std::string output(std::size_t word) const { return "s->out[" + std::to_string(word) + "]"; }
  void assign_output(const Operand& target, std::size_t word);

  struct WaitPoint {
    std::uint32_t number = 0;
    std::vector<RegisterId> saved;
    std::string jump;  ///< the label to go on from
  };

  const Names& names_;
  const std::size_t module_;
  const std::uint32_t index_;
  const Function& function_;
  const Shape shape_;
  Liveness liveness_;
  std::vector<RegisterHome> homes_;
  std::vector<std::vector<std::size_t>> labels_at_;  ///< labels by position
  std::vector<bool> label_used_;
  std::vector<std::uint32_t> local_offsets_;  ///< by variable, of .local ones
  std::vector<std::uint32_t> param_offsets_;  ///< of a kernel's parameters
  bool yielding_ = false;

  const Instruction* instruction_ = nullptr;
  std::size_t position_ = 0;
  std::optional<Modifiers> modifiers_;
  std::string body_;
  std::string error_;
  std::uint32_t temporaries_ = 0;
  std::vector<WaitPoint> waits_;
  TranslatedFunction result_;
};

/// Offset of each of a kernel's parameters in its parameter buffer.
std::vector<std::uint32_t> parameter_offsets(const std::vector<Variable>& parameters);

}  // namespace cupool::simgpu::ptx
