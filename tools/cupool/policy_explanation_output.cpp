// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "policy/problem.h"
#include "tools/cupool/policy_explanation.h"

namespace cupool::tool {
namespace {

using Json = nlohmann::ordered_json;

std::string amount(const ExplainedValue& value, Bytes unit) {
  if (!value.units) return value.here;
  const Bytes rounded = unit * value.units->count;
  const std::string units = fmt::format("{} = {} unit{}", to_text(rounded), value.units->count, value.units->count == 1 ? "" : "s");
  return value.exact && *value.exact != rounded ? units + ", rounded down from " + to_text(*value.exact) : units;
}

std::string table_of(const std::vector<ExplainedValue>& values, Bytes unit) {
  Table table;
  for (const ExplainedValue& value : values) {
    table.add({policy::printable(value.key, 200), policy::printable(value.written, 120), amount(value, unit), value.from});
  }
  return table.text("  ");
}

Json values_json(const std::vector<ExplainedValue>& values, Bytes unit) {
  auto list = Json::array();
  for (const ExplainedValue& value : values) {
    Json entry{{"key", value.key}};
    if (!value.written.empty()) entry["written"] = value.written == "-" ? Json() : Json::parse(value.written);
    if (value.units) {
      entry["bytes"] = (unit * value.units->count).count;
      entry["units"] = value.units->count;
      if (value.exact) entry["exact_bytes"] = value.exact->count;
    }
    if (!value.here.empty()) entry["here"] = value.here;
    entry["from"] = value.from;
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

std::string explanation_text(const Explanation& explanation, const Session& session) {
  const auto heading = [&](const std::string& text) { return session.styled(Style::bold, text) + '\n'; };
  Table head;
  head.add({"policy", policy::printable(explanation.policy, 4096), explanation.policy_reason});
  if (explanation.own) head.add({"", policy::printable(*explanation.own, 4096), "may only ask for less, for its own job"});
  if (!explanation.command.empty()) head.add({"command", policy::printable(explanation.command, 200)});
  head.add({"user", policy::printable(explanation.user)});
  head.add({"class", explanation.class_name, explanation.class_reason});
  for (const std::string& entry : explanation.passed_over) head.add({"", "", "not " + entry});
  std::string out = head.text();
  if (explanation.off) out += session.styled(Style::yellow, "CUPOOL=off: this program would not be governed at all") + '\n';
  for (const ExplainedDevice& device : explanation.devices) {
    out += '\n' + heading(fmt::format("GPU {} {} {}", device.facts.index, device.facts.uuid, to_text(device.facts.total)));
    out += table_of(device.pool, device.unit) + '\n' + table_of(device.job, device.unit);
    for (const policy::Clip& clip : device.clips) out += "  clipped: " + policy::printable(clip.text, 400) + '\n';
    for (const policy::Misfit& misfit : device.misfits) {
      const bool is_error = misfit.severity == policy::Misfit::Severity::error;
      out += "  " + session.styled(is_error ? Style::red : Style::yellow, is_error ? "error:" : "warning:") + ' ' + misfit.pointer +
             ": " + misfit.text + '\n';
    }
  }
  if (explanation.devices.empty()) {
    out += '\n' + heading("pool and class, as written (--gpu UUID=SIZE works the figures out)") + table_of(explanation.written, {});
  }
  out += '\n' + heading("the rest") + table_of(explanation.other, {});
  for (const std::string& note : explanation.notes) out += "note: " + note + '\n';
  return out;
}

std::string explanation_json(const Explanation& explanation) {
  Json document{
      {"kind", "cupool.policy_explanation"},
      {"version", 1},
      {"policy", {{"name", explanation.policy}, {"reason", explanation.policy_reason}, {"binds", explanation.binds}}},
      {"command", explanation.command},
      {"user", explanation.user},
      {"class", {{"name", explanation.class_name}, {"reason", explanation.class_reason}, {"not", explanation.passed_over}}},
      {"off", explanation.off},
      {"usable", explanation.usable}};
  if (explanation.own) document["own_policy"] = *explanation.own;
  auto devices = Json::array();
  for (const ExplainedDevice& device : explanation.devices) {
    auto clips = Json::array();
    for (const policy::Clip& clip : device.clips)
      clips.push_back({{"key", clip.key}, {"wanted", clip.wanted}, {"kept", clip.kept}, {"text", clip.text}});
    auto misfits = Json::array();
    for (const policy::Misfit& misfit : device.misfits) {
      misfits.push_back({{"severity", misfit.severity == policy::Misfit::Severity::error ? "error" : "warning"},
                         {"pointer", misfit.pointer},
                         {"text", misfit.text}});
    }
    devices.push_back({{"index", device.facts.index},
                       {"uuid", device.facts.uuid},
                       {"total_bytes", device.facts.total.count},
                       {"unit_bytes", device.unit.count},
                       {"pool", values_json(device.pool, device.unit)},
                       {"job", values_json(device.job, device.unit)},
                       {"clipped", clips},
                       {"misfits", misfits}});
  }
  document["gpus"] = std::move(devices);
  if (explanation.devices.empty()) document["written"] = values_json(explanation.written, {});
  document["other"] = values_json(explanation.other, {});
  document["notes"] = explanation.notes;
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace cupool::tool
