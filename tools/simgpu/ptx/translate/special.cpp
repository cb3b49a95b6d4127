// SPDX-License-Identifier: Apache-2.0
// Special registers.
#include <array>
#include <utility>

#include "tools/simgpu/ptx/translate/function_translator.h"

namespace cupool::simgpu::ptx {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 34> kSpecial{{
    {"%laneid", "c->lane"},
    {"%warpid", "c->warp"},
    {"%nwarpid", "((c->ntid[0]*c->ntid[1]*c->ntid[2]+31u)/32u)"},
    {"%smid", "0u"},
    {"%nsmid", "1u"},
    {"%gridid", "c->grid_id"},
    {"%lanemask_eq", "(1u<<c->lane)"},
    {"%lanemask_lt", "((1u<<c->lane)-1u)"},
    {"%lanemask_le", "(0xffffffffu>>(31u-c->lane))"},
    {"%lanemask_gt", "(~(0xffffffffu>>(31u-c->lane)))"},
    {"%lanemask_ge", "(~((1u<<c->lane)-1u))"},
    {"%clock", "(u32)c->rt->clock()"},
    {"%clock_hi", "(u32)(c->rt->clock()>>32)"},
    {"%clock64", "c->rt->clock()"},
    {"%globaltimer", "c->rt->clock()"},
    {"%globaltimer_lo", "(u32)c->rt->clock()"},
    {"%globaltimer_hi", "(u32)(c->rt->clock()>>32)"},
    {"%dynamic_smem_size", "(c->kernel_shared_total-c->dynamic_shared)"},
    {"%total_smem_size", "c->kernel_shared_total"},
    {"%aggr_smem_size", "c->kernel_shared_total"},
    {"%is_explicit_cluster", "0u"},
    {"%cluster_ctarank", "0u"},
    {"%cluster_nctarank", "1u"},
    {"%cluster_ctaid.x", "0u"},
    {"%cluster_ctaid.y", "0u"},
    {"%cluster_ctaid.z", "0u"},
    {"%cluster_nctaid.x", "1u"},
    {"%cluster_nctaid.y", "1u"},
    {"%cluster_nctaid.z", "1u"},
    {"%reserved_smem_offset_begin", "0u"},
    {"%reserved_smem_offset_end", "0u"},
    {"%reserved_smem_offset_cap", "0u"},
    {"%current_graph_exec", "0ULL"},
    {"%nclusterid.z", "c->nctaid[2]"},
}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kVectors{{
    {"%tid.", "tid"},
    {"%ntid.", "ntid"},
    {"%ctaid.", "ctaid"},
    {"%nctaid.", "nctaid"},
    {"%clusterid.", "ctaid"},
    {"%nclusterid.", "nctaid"},
}};

}  // namespace

std::string FunctionTranslator::special(std::string_view name) {
  for (const auto& [known, text] : kSpecial) {
    if (known == name) return std::string(text);
  }
  for (const auto& [prefix, member] : kVectors) {
    if (!name.starts_with(prefix) || name.size() != prefix.size() + 1) continue;
    const char axis = name.back();
    if (axis >= 'x' && axis <= 'z')
      return std::string("c->").append(member).append("[").append(1, static_cast<char>('0' + (axis - 'x'))).append("]");
    if (axis == 'w') return "0u";
  }
  if (name.starts_with("%envreg")) return "0u";
  if (name.starts_with("%pm")) return "0u";
  fail("register '" + std::string(name).append("' is not declared"));
  return "0u";
}

}  // namespace cupool::simgpu::ptx
