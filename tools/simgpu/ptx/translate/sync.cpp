// SPDX-License-Identifier: Apache-2.0
// Barriers and warp operations: the thread leaves its operands in its record and waits; the warp is resolved when all have come.
#include "tools/simgpu/ptx/translate/function_translator.h"

namespace cupool::simgpu::ptx {

void FunctionTranslator::translate_bar() {
  const bool is_warp = modifiers_->take("warp");
  modifiers_->take("cta");
  if (modifiers_->take("cluster")) {
    // A cluster is one block here: arriving and waiting for it is a barrier of the block at the waiting side.
    const bool arrive = modifiers_->take("arrive");
    const bool wait = modifiers_->take("wait");
    modifiers_->take_any({"relaxed", "acquire", "release"});
    modifiers_->take("aligned");
    if (arrive == wait) return fail("needs .arrive or .wait");
    return wait_point("SG_BARRIER", {"31u", "0u", "SG_BAR_SYNC", "0u"}, "");
  }
  const std::string_view what = modifiers_->take_any({"sync", "arrive", "red"});
  modifiers_->take("aligned");
  if (is_warp) {
    if (what != "sync" || !expect_operands(1, 1)) return fail("needs .sync and a mask");
    return wait_point("SG_WARP", {value(operand(0), kU32)}, "SG_W_SYNC");
  }
  if (what == "red") {
    const std::string_view op = modifiers_->take_any({"popc", "and", "or"});
    const Type type = take_type();
    if (!expect_operands(3, 4)) return;
    const bool counted = instruction_->operands.size() == 4;
    const bool popc = op == "popc";
    if (op.empty() || type != (popc ? kU32 : kPred)) return fail("operation is not supported");
    wait_point("SG_BARRIER",
               {value(operand(1), kU32), counted ? value(operand(2), kU32) : "0u",
                popc          ? "SG_BAR_RED_POPC"
                : op == "and" ? "SG_BAR_RED_AND"
                              : "SG_BAR_RED_OR",
                predicate(operand(counted ? 3 : 2))},
               "");
    if (popc) return assign_output(operand(0), 0);
    return assign_predicate(operand(0), output(0));
  }
  if (what.empty() || !expect_operands(1, 2)) return fail("needs .sync, .arrive or .red");
  const std::string count = instruction_->operands.size() == 2 ? value(operand(1), kU32) : "0u";
  if (what == "arrive" && instruction_->operands.size() != 2) return fail("needs a number of threads");
  wait_point("SG_BARRIER", {value(operand(0), kU32), count, what == "sync" ? "SG_BAR_SYNC" : "SG_BAR_ARRIVE", "0u"}, "");
}

void FunctionTranslator::translate_fence() {
  for (const std::string_view word : instruction_->modifiers) modifiers_->take(word);
  emit("c->rt->fence();");
}

void FunctionTranslator::translate_shfl() {
  const bool sync = modifiers_->take("sync");
  const std::string_view mode = modifiers_->take_any({"up", "down", "bfly", "idx"});
  const Type type = take_type();
  if (!expect_operands(sync ? 5 : 4, sync ? 5 : 4)) return;
  if (mode.empty() || type != kB32) return fail("needs .up, .down, .bfly or .idx and .b32");
  if (!sync) return fail("only shfl.sync is supported");
  const std::string op = mode == "up"     ? "SG_W_SHFL_UP"
                         : mode == "down" ? "SG_W_SHFL_DOWN"
                         : mode == "bfly" ? "SG_W_SHFL_BFLY"
                                          : "SG_W_SHFL_IDX";
  wait_point("SG_WARP", {value(operand(4), kU32), value(operand(1), kB32), value(operand(2), kU32), value(operand(3), kU32)}, op);
  const bool pair = operand(0).kind == Operand::Kind::pair;
  assign_output(pair ? operand(0).elements[0] : operand(0), 0);
  if (pair) assign_predicate(operand(0).elements[1], output(1));
}

void FunctionTranslator::translate_vote() {
  const bool sync = modifiers_->take("sync");
  const std::string_view mode = modifiers_->take_any({"all", "any", "uni", "ballot"});
  const Type type = take_type();
  if (!expect_operands(3, 3)) return;
  const bool ballot = mode == "ballot";
  if (!sync || mode.empty() || type != (ballot ? kB32 : kPred)) return fail("only vote.sync is supported");
  const std::string op = ballot          ? "SG_W_VOTE_BALLOT"
                         : mode == "all" ? "SG_W_VOTE_ALL"
                         : mode == "any" ? "SG_W_VOTE_ANY"
                                         : "SG_W_VOTE_UNI";
  wait_point("SG_WARP", {value(operand(2), kU32), predicate(operand(1))}, op);
  if (ballot) return assign_output(operand(0), 0);
  assign_predicate(operand(0), output(0));
}

void FunctionTranslator::translate_match() {
  const std::string_view mode = modifiers_->take_any({"any", "all"});
  const bool sync = modifiers_->take("sync");
  const Type type = take_type();
  if (!expect_operands(3, 3)) return;
  if (mode.empty() || !sync || (type != kB32 && type != kB64)) return fail("needs .any or .all, .sync and .b32 or .b64");
  const std::string a = declare_temporary("u64", "(u64)" + value(operand(1), type));
  wait_point("SG_WARP", {value(operand(2), kU32), "(u32)" + a, "(u32)(" + a + " >> 32)"},
             mode == "any" ? "SG_W_MATCH_ANY" : "SG_W_MATCH_ALL");
  const bool pair = operand(0).kind == Operand::Kind::pair;
  if (pair && mode == "any") return fail(".any has one result");
  assign_output(pair ? operand(0).elements[0] : operand(0), 0);
  if (pair) assign_predicate(operand(0).elements[1], output(1));
}

void FunctionTranslator::translate_activemask() {
  const Type type = take_type();
  if (!expect_operands(1, 1)) return;
  if (type != kB32) return fail("needs .b32");
  wait_point("SG_WARP", {"0u"}, "SG_W_ACTIVEMASK");
  assign_output(operand(0), 0);
}

void FunctionTranslator::translate_redux() {
  const bool sync = modifiers_->take("sync");
  const std::string_view op = modifiers_->take_any({"add", "min", "max", "and", "or", "xor"});
  const bool absolute = modifiers_->take("abs");
  const bool nan = modifiers_->take("NaN");
  const Type type = take_type();
  if (!expect_operands(3, 3)) return;
  std::string kind;
  const bool is_signed = type == kS32;
  if (type == kF32 && (op == "min" || op == "max"))
    kind = op == "min" ? "SG_R_FMIN" : "SG_R_FMAX";
  else if (absolute || nan)
    return fail("modifier needs .f32");
  else if ((type == kU32 || is_signed) && op == "add")
    kind = "SG_R_ADD";
  else if ((type == kU32 || is_signed) && op == "min")
    kind = is_signed ? "SG_R_MIN_S" : "SG_R_MIN_U";
  else if ((type == kU32 || is_signed) && op == "max")
    kind = is_signed ? "SG_R_MAX_S" : "SG_R_MAX_U";
  else if (type == kB32 && op == "and")
    kind = "SG_R_AND";
  else if (type == kB32 && op == "or")
    kind = "SG_R_OR";
  else if (type == kB32 && op == "xor")
    kind = "SG_R_XOR";
  if (!sync || kind.empty()) return fail("type is not supported");
  const std::string flags = std::string(absolute ? " | 16" : "") + (nan ? " | 32" : "");
  wait_point("SG_WARP", {value(operand(2), kU32), value(operand(1), kB32)}, "SG_W_REDUX | (" + kind + flags + ") << 8");
  assign_output(operand(0), 0);
}

void FunctionTranslator::translate_elect() {
  const bool sync = modifiers_->take("sync");
  if (!expect_operands(2, 2)) return;
  if (!sync || operand(0).kind != Operand::Kind::pair) return fail("needs .sync and two results");
  wait_point("SG_WARP", {value(operand(1), kU32)}, "SG_W_ELECT");
  assign_output(operand(0).elements[0], 0);
  assign_predicate(operand(0).elements[1], output(1));
}

}  // namespace cupool::simgpu::ptx
