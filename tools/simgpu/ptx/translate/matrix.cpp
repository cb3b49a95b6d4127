// SPDX-License-Identifier: Apache-2.0
// Matrix instructions of a warp: mma.sync, ldmatrix, stmatrix, movmatrix.
#include <array>

#include "tools/simgpu/ptx/translate/function_translator.h"

namespace cupool::simgpu::ptx {
namespace {

/// One shape of mma.sync: rows and columns of the accumulator, products summed, and the registers each thread holds.
struct MmaShape {
  std::string_view name;
  const char* element;       ///< SG_M_*
  std::string_view a_types;  ///< types of a, comma-separated
  std::uint32_t m, n, k;
  std::uint32_t a, b, c;  ///< 32-bit registers (for f64: 64-bit ones)
};

constexpr std::array<MmaShape, 12> kShapes{{
    {"m16n8k16", "SG_M_F16", "f16", 16, 8, 16, 4, 2, 4},
    {"m16n8k8", "SG_M_F16", "f16", 16, 8, 8, 2, 1, 4},
    {"m16n8k16", "SG_M_BF16", "bf16", 16, 8, 16, 4, 2, 4},
    {"m16n8k8", "SG_M_BF16", "bf16", 16, 8, 8, 2, 1, 4},
    {"m16n8k4", "SG_M_TF32", "tf32", 16, 8, 4, 2, 1, 4},
    {"m16n8k8", "SG_M_TF32", "tf32", 16, 8, 8, 4, 2, 4},
    {"m8n8k4", "SG_M_F64", "f64", 8, 8, 4, 1, 1, 2},
    {"m8n8k16", "SG_M_S8", "s8,u8", 8, 8, 16, 1, 1, 2},
    {"m16n8k16", "SG_M_S8", "s8,u8", 16, 8, 16, 2, 1, 4},
    {"m16n8k32", "SG_M_S8", "s8,u8", 16, 8, 32, 4, 2, 4},
    {"m16n8k32", "SG_M_S4", "s4,u4", 16, 8, 32, 2, 1, 4},
    {"m16n8k64", "SG_M_S4", "s4,u4", 16, 8, 64, 4, 2, 4},
}};

bool among(std::string_view list, const std::string& word) {
  const std::string padded = "," + std::string(list) + ",";
  return padded.find("," + word + ",") != std::string::npos;
}

}  // namespace

void FunctionTranslator::translate_mma() {
  const bool sync = modifiers_->take("sync");
  const bool aligned = modifiers_->take("aligned");
  const std::string_view name = modifiers_->take_prefix("m");
  const bool layouts = modifiers_->take("row") && modifiers_->take("col");
  const bool saturate = modifiers_->take("satfinite");
  const Type d = take_type();
  const Type a = take_type();
  const Type b = take_type();
  const Type c = take_type();
  if (!expect_operands(4, 4)) return;
  const MmaShape* shape = nullptr;
  for (const MmaShape& known : kShapes) {
    if (known.name == name && among(known.a_types, to_text(a)) && among(known.a_types, to_text(b))) shape = &known;
  }
  if (!sync || !aligned || !layouts || shape == nullptr) return fail("shape or types are not supported");
  const bool integers = a.is_integer();
  const bool doubles = a == kF64;
  const bool half_accumulate = d == kF16 && c == kF16 && a == kF16;
  const Type accumulator = integers ? kS32 : doubles ? kF64 : kF32;
  if (!half_accumulate && (d != accumulator || c != accumulator)) return fail("accumulator type is not supported");
  if (saturate && !integers) return fail(".satfinite needs integers");
  const std::uint32_t accumulators = half_accumulate ? shape->c / 2 : shape->c;
  const std::uint32_t expected[4] = {accumulators, shape->a, shape->b, accumulators};
  std::vector<std::string> inputs{"0xffffffffu"};
  for (std::size_t i = 0; i < 4; ++i) {
    const Operand& given = operand(i);
    const std::size_t count = given.kind == Operand::Kind::vector ? given.elements.size() : 1;
    if (count != expected[i])
      return fail("operand " + std::to_string(i + 1) + " needs " + std::to_string(expected[i]) + " registers");
    for (std::size_t e = 0; i > 0 && e < count; ++e) {
      const Operand& element = given.kind == Operand::Kind::vector ? given.elements[e] : given;
      if (!doubles) {
        inputs.push_back(value(element, kB32));
        continue;
      }
      const std::string whole = declare_temporary("u64", value(element, kB64));
      inputs.push_back("(u32)" + whole);
      inputs.push_back("(u32)(" + whole + " >> 32)");
    }
  }
  std::string flags = "0";
  if (integers && !a.is_signed()) flags += "|SG_MF_A_UNSIGNED";
  if (integers && !b.is_signed()) flags += "|SG_MF_B_UNSIGNED";
  if (saturate) flags += "|SG_MF_SATURATE";
  if (half_accumulate) flags += "|SG_MF_HALF_ACCUMULATE";
  // Shape: element in bits 8 to 11, m / 8 in 12 to 13, k in 16 to 23, flags in 24 on.
  const std::string op = std::string("SG_W_MMA | ") + shape->element + " << 8 | " + std::to_string(shape->m / 8) + " << 12 | " +
                         std::to_string(shape->k) + " << 16 | (u32)(" + flags + ") << 24";
  wait_point("SG_WARP", inputs, op);
  for (std::size_t e = 0; e < accumulators; ++e) {
    const Operand& element = operand(0).kind == Operand::Kind::vector ? operand(0).elements[e] : operand(0);
    if (doubles)
      assign(element, kB64, "(u64)" + output(2 * e) + " | (u64)" + output(2 * e + 1) + " << 32");
    else
      assign_output(element, e);
  }
}

void FunctionTranslator::translate_ldmatrix() {
  const bool sync = modifiers_->take("sync") && modifiers_->take("aligned");
  const bool shape = modifiers_->take("m8n8");
  const std::string_view count = modifiers_->take_any({"x1", "x2", "x4"});
  const bool transposed = modifiers_->take("trans");
  const bool shared = !modifiers_->take_any({"shared", "shared::cta"}).empty();
  const Type type = take_type();
  if (!expect_operands(2, 2)) return;
  if (!sync || !shape || count.empty() || type != kB16) return fail("shape or type is not supported");
  const auto matrices = static_cast<std::size_t>(count[1] - '0');
  const Operand& target = operand(0);
  const std::size_t given = target.kind == Operand::Kind::vector ? target.elements.size() : 1;
  if (given != matrices) return fail("the vector has another length");
  const std::string where = declare_temporary(
      "u64", shared ? address(operand(1), Space::shared) + " + SG_WINDOW_SHARED" : address(operand(1), Space::generic));
  wait_point("SG_WARP", {"0xffffffffu", "(u32)" + where, "(u32)(" + where + " >> 32)"},
             "SG_W_LDMATRIX | " + std::to_string(matrices) + " << 8 | " + (transposed ? "1" : "0") + " << 16");
  for (std::size_t i = 0; i < matrices; ++i) assign_output(target.kind == Operand::Kind::vector ? target.elements[i] : target, i);
}

void FunctionTranslator::translate_stmatrix() {
  const bool sync = modifiers_->take("sync") && modifiers_->take("aligned");
  const bool shape = modifiers_->take("m8n8");
  const std::string_view count = modifiers_->take_any({"x1", "x2", "x4"});
  const bool transposed = modifiers_->take("trans");
  const bool shared = !modifiers_->take_any({"shared", "shared::cta"}).empty();
  const Type type = take_type();
  if (!expect_operands(2, 2)) return;
  if (!sync || !shape || count.empty() || type != kB16) return fail("shape or type is not supported");
  const auto matrices = static_cast<std::size_t>(count[1] - '0');
  const Operand& source = operand(1);
  const std::size_t given = source.kind == Operand::Kind::vector ? source.elements.size() : 1;
  if (given != matrices) return fail("the vector has another length");
  const std::string where = declare_temporary(
      "u64", shared ? address(operand(0), Space::shared) + " + SG_WINDOW_SHARED" : address(operand(0), Space::generic));
  std::vector<std::string> inputs{"0xffffffffu", "(u32)" + where, "(u32)(" + where + " >> 32)"};
  for (std::size_t i = 0; i < matrices; ++i)
    inputs.push_back(value(source.kind == Operand::Kind::vector ? source.elements[i] : source, kB32));
  wait_point("SG_WARP", inputs, "SG_W_STMATRIX | " + std::to_string(matrices) + " << 8 | " + (transposed ? "1" : "0") + " << 16");
}

void FunctionTranslator::translate_movmatrix() {
  const bool known =
      modifiers_->take("sync") && modifiers_->take("aligned") && modifiers_->take("m8n8") && modifiers_->take("trans");
  const Type type = take_type();
  if (!expect_operands(2, 2)) return;
  if (!known || type != kB16) return fail("shape or type is not supported");
  wait_point("SG_WARP", {"0xffffffffu", value(operand(1), kB32)}, "SG_W_MOVMATRIX");
  assign_output(operand(0), 0);
}

}  // namespace cupool::simgpu::ptx
