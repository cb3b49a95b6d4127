// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/fault_plan.h"

#include <charconv>
#include <cstdlib>

namespace cupool::simgpu {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool parse_number(std::string_view text, std::uint64_t& value) {
  text = trimmed(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && error == std::errc{} && end == text.data() + text.size();
}

bool parse_duration(std::string_view text, std::uint64_t& nanoseconds) {
  std::uint64_t factor = 0;
  for (const auto& [unit, value] :
       {std::pair<std::string_view, std::uint64_t>{"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}}) {
    if (text.size() > unit.size() && text.substr(text.size() - unit.size()) == unit) {
      factor = value;
      text.remove_suffix(unit.size());
      break;
    }
  }
  if (factor == 0 || !parse_number(text, nanoseconds)) return false;
  nanoseconds *= factor;
  return true;
}

// Faults of the device, after which nothing in the context works: the codes that the driver's header calls so.
bool ends_the_context(int code) {
  switch (code) {
    case 214:
    case 220:
    case 700:
    case 702:
    case 710:
    case 714:
    case 715:
    case 716:
    case 717:
    case 718:
    case 719:
      return true;
    default:
      return false;
  }
}

// splitmix64 (Steele, Lea, Flood 2014): call n of a rule always meets the same fate under one seed, whichever thread makes it.
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

bool is_launch(std::string_view base) {
  return base == "cuLaunchKernel" || base == "cuLaunchKernelEx" || base == "cuLaunchCooperativeKernel" || base == "cuGraphLaunch" ||
         base == "cuLaunch" || base == "cuLaunchGrid" || base == "cuLaunchGridAsync";
}

}  // namespace

bool FaultPlan::Rule::matches(std::string_view exported, std::string_view base) const {
  if (launches) return is_launch(base);
  if (is_prefix) return exported.substr(0, name.size()) == name;
  return name == exported || name == base;
}

// "", "*", "3", "5-7", "5+", each with "@20%".
bool FaultPlan::parse_span(std::string_view text, Rule& rule) {
  text = trimmed(text);
  if (const std::size_t at = text.find('@'); at != std::string_view::npos) {
    std::string_view percent = trimmed(text.substr(at + 1));
    std::uint64_t value = 0;
    if (percent.empty() || percent.back() != '%' || !parse_number(percent.substr(0, percent.size() - 1), value) || value > 100)
      return false;
    rule.percent = static_cast<std::uint32_t>(value);
    text = trimmed(text.substr(0, at));
  }
  if (text.empty() || text == "*") return true;
  if (text.back() == '+') return parse_number(text.substr(0, text.size() - 1), rule.first) && rule.first != 0;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    return parse_number(text.substr(0, dash), rule.first) && parse_number(text.substr(dash + 1), rule.last) && rule.first != 0 &&
           rule.first <= rule.last;
  }
  if (!parse_number(text, rule.first) || rule.first == 0) return false;
  rule.last = rule.first;
  return true;
}

bool FaultPlan::parse_effect(std::string_view text, Rule& rule) {
  text = trimmed(text);
  if (text == "hang") {
    rule.fault.hang = true;
    return true;
  }
  std::uint64_t code = 0;
  if (!parse_number(text, code) || code > 100'000) return false;
  rule.fault.code = static_cast<int>(code);
  rule.fault.sticky = ends_the_context(rule.fault.code);
  return code != 0;
}

Result<FaultPlan::Rule> FaultPlan::parse_rule(std::string_view text) {
  Rule rule;
  const std::size_t equals = text.rfind('=');
  if (equals == std::string_view::npos) return fail(Errc::malformed);
  std::string_view left = trimmed(text.substr(0, equals));
  const std::string_view right = trimmed(text.substr(equals + 1));
  if (left.substr(0, 6) == "after ") {
    left = trimmed(left.substr(6));
    const std::size_t blank = left.find(' ');
    if (blank == std::string_view::npos || !parse_number(left.substr(0, blank), rule.first)) return fail(Errc::malformed);
    ++rule.first;
    rule.name = trimmed(left.substr(blank + 1));
    rule.launches = rule.name == "launches";
    if (!parse_effect(right, rule)) return fail(Errc::malformed);
    return rule;
  }
  const std::size_t colon = left.find(':');
  if (colon == std::string_view::npos) return fail(Errc::malformed);
  rule.name = trimmed(left.substr(0, colon));
  rule.is_prefix = !rule.name.empty() && rule.name.back() == '*';
  if (rule.is_prefix) rule.name.pop_back();
  std::string_view span = left.substr(colon + 1);
  const std::size_t delay = span.rfind("delay");
  if (delay != std::string_view::npos && trimmed(span.substr(delay)) == "delay") {
    span = trimmed(span.substr(0, delay));
    if (!span.empty() && span.back() == ':') span.remove_suffix(1);
    if (!parse_span(span, rule) || !parse_duration(right, rule.fault.delay_ns)) return fail(Errc::malformed);
    return rule;
  }
  if (!parse_span(span, rule) || !parse_effect(right, rule)) return fail(Errc::malformed);
  return rule;
}

Result<FaultPlan> FaultPlan::parse(std::string_view text, std::uint64_t seed, std::string& message) {
  FaultPlan plan;
  plan.seed_ = seed;
  while (!text.empty()) {
    const std::size_t end = text.find(';');
    const std::string_view one = trimmed(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (one.empty()) continue;
    auto rule = parse_rule(one);
    if (!rule || (rule->name.empty() && !rule->is_prefix)) {
      message = "SIMGPU_FAULTS: cannot read \"" + std::string(one) +
                "\" (examples: cuMemCreate:3=2  cuMemMap:*@20%=999  cuMemCreate:delay=5ms  after 100 launches=700)";
      return fail(Errc::malformed);
    }
    plan.rules_.push_back(std::move(*rule));
  }
  return plan;
}

Fault FaultPlan::on_call(std::string_view exported, std::string_view base) const {
  Fault sum;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const Rule& rule = rules_[i];
    if (!rule.matches(exported, base)) continue;
    // Relaxed: only the number itself matters.
    const std::uint64_t call = rule.calls->fetch_add(1, std::memory_order_relaxed) + 1;
    if (call < rule.first || call > rule.last) continue;
    if (rule.percent < 100 && mixed(seed_ + (i << 32) + call) % 100 >= rule.percent) continue;
    sum.delay_ns += rule.fault.delay_ns;
    sum.hang = sum.hang || rule.fault.hang;
    if (sum.code == 0) {
      sum.code = rule.fault.code;
      sum.sticky = rule.fault.sticky;
    }
  }
  return sum;
}

namespace {

struct ProcessPlan {
  FaultPlan plan;
  std::string error;
};

const ProcessPlan& process_plan() {
  static const ProcessPlan* const made = [] {
    auto* result = new ProcessPlan;  // never destroyed: calls may come while the process exits
    const char* text = std::getenv("SIMGPU_FAULTS");
    const char* seed = std::getenv("SIMGPU_FAULT_SEED");
    auto plan =
        FaultPlan::parse(text == nullptr ? "" : text, seed == nullptr ? 1 : std::strtoull(seed, nullptr, 10), result->error);
    if (plan) result->plan = std::move(*plan);
    return result;
  }();
  return *made;
}

}  // namespace

const FaultPlan& fault_plan() {
  return process_plan().plan;
}
const std::string& fault_plan_error() {
  return process_plan().error;
}

}  // namespace cupool::simgpu
