// SPDX-License-Identifier: Apache-2.0
#include "tools/cupool/policy_explanation.h"

#include <fmt/core.h>

#include <algorithm>

#include "policy/encode.h"
#include "policy/host/identity.h"

namespace cupool::tool {
namespace {

using policy::host::Governance;
using policy::host::PolicySource;

/// A job entry or class that the own policy writes is shown by that file; everything else by the governing one.
const PolicySource* source_named(const Governance& governance, const std::string& name) {
  for (const PolicySource* source : {governance.system.get(), governance.chosen.get()}) {
    if (source != nullptr && source->file.path == name) return source;
  }
  return nullptr;
}

class Explainer {
 public:
  Explainer(const Governance& governance, const policy::Identity& identity)
      : governance_(governance),
        identity_(identity),
        layers_(governance.layers),
        source_(source_named(governance, layers_.governing.name)),
        values_(policy::encode(layers_.governing.policy)),
        machine_(policy::host::read_machine()) {}

  Explanation run(const std::vector<policy::DeviceFacts>& devices) {
    describe_choice();
    // Which entry and class apply does not depend on the device: a nominal one will do where none was given.
    const policy::Composed composed =
        policy::compose(layers_, identity_, devices.empty() ? nominal_device() : devices.front(), machine_);
    describe_match(composed);
    for (const char* section : {"/admission/", "/queue/", "/defrag/", "/time_slice/"}) add_section(section, out_.other);
    describe_job_count();
    add_sections_of_speaker(policy::Key::root_frameworks, "/frameworks/");
    add_sections_of_speaker(policy::Key::root_report, "/report/");
    add_sections_of_speaker(policy::Key::root_log, "/log/");
    if (devices.empty()) {
      add_section("/pool/", out_.written);
      add_section("/classes/" + policy::pointer_token(out_.class_name) + '/', out_.written);
      if (composed.match.entry) add_section("/jobs/" + std::to_string(*composed.match.entry) + '/', out_.written);
      for (const policy::Misfit& misfit : composed.misfits) {
        // On a nominal device only what holds on every device may be said: an unknown class.
        if (misfit.pointer == "/classes" && layers_.wanted_class) take_misfit(misfit);
      }
    }
    for (const policy::DeviceFacts& device : devices) describe_device(device);
    check_devices(devices);
    return std::move(out_);
  }

 private:
  static policy::DeviceFacts nominal_device() { return {"GPU-0", 0, Bytes{80 * kGiB.count}}; }

  void take_misfit(const policy::Misfit& misfit) {
    if (misfit.severity == policy::Misfit::Severity::error) out_.usable = false;
    out_.notes.push_back((misfit.severity == policy::Misfit::Severity::error ? "error: " : "warning: ") + misfit.pointer + ": " +
                         misfit.text);
  }

  void describe_choice() {
    out_.policy = layers_.governing.name;
    out_.binds = layers_.governing_binds;
    out_.off = governance_.state == Governance::State::off;
    out_.notes = governance_.notes;
    if (layers_.own) out_.own = layers_.own->name;
    if (source_ == nullptr)
      out_.policy_reason = "no policy file was named or found";
    else if (source_ == governance_.system.get())
      out_.policy_reason = layers_.governing_binds ? "installed by root: it binds" : "installed for the system";
    else
      out_.policy_reason = layers_.governing_binds ? "chosen, and owned by root: it binds" : "chosen";
  }

  void describe_match(const policy::Composed& composed) {
    for (const std::string& word : identity_.command) out_.command += (out_.command.empty() ? "" : " ") + word;
    out_.user = identity_.user.empty() ? std::to_string(identity_.uid) : identity_.user;
    out_.class_name = composed.terms.classes.at(composed.job.class_index).name;
    out_.class_reason = composed.match.reason;
    if (layers_.wanted_class && composed.job.class_index != composed.match.class_index) out_.class_reason = "asked for";
    const auto& jobs = layers_.governing.policy.jobs;
    for (std::size_t i = 0; i < composed.match.entry.value_or(jobs.size()); ++i) {
      out_.passed_over.push_back(fmt::format("entry {}: {}", i, policy::match_entry(jobs[i].match, identity_).reason));
    }
  }

  /// "file:line:col" of a value that the file states, else "default".
  static std::string place_of(const PolicySource* source, const std::string& pointer) {
    if (source == nullptr) return "default";
    const policy::Document& document = *source->loaded.document;
    const policy::Node& node = document.find(pointer);
    if (document.pointer(node) != pointer) return "default";
    const policy::LineColumn place = policy::line_column(source->file.text, node.where.begin);
    return fmt::format("{}:{}:{}", policy::printable(source->file.path, 4096), place.line, place.column);
  }

  void add_section(const std::string& prefix, std::vector<ExplainedValue>& out) const {
    for (const policy::EncodedValue& value : values_) {
      if (value.pointer.starts_with(prefix))
        out.push_back({value.pointer, value.json, {}, {}, {}, place_of(source_, value.pointer)});
    }
  }

  void describe_job_count() {
    for (ExplainedValue& value : out_.other) {
      if (value.key == "/admission/max_jobs") {
        value.here = fmt::format("{} jobs", layers_.governing.policy.admission.max_jobs.with_cores(machine_.physical_cores));
      }
    }
  }

  void add_sections_of_speaker(policy::Key section, const std::string& prefix) {
    if (!layers_.own || !layers_.own->policy.given.has(section)) return add_section(prefix, out_.other);
    const PolicySource* own = source_named(governance_, layers_.own->name);
    for (const policy::EncodedValue& value : policy::encode(layers_.own->policy)) {
      if (value.pointer.starts_with(prefix))
        out_.other.push_back({value.pointer, value.json, {}, {}, {}, place_of(own, value.pointer)});
    }
  }

  /// The value as the governing policy writes it, for the pointer.
  std::string written(const std::string& pointer) const {
    const auto found =
        std::find_if(values_.begin(), values_.end(), [&](const policy::EncodedValue& value) { return value.pointer == pointer; });
    return found == values_.end() ? std::string("-") : found->json;
  }

  ExplainedValue sized(const std::string& pointer, const policy::Size& size, Bytes whole, Bytes unit, Units units) const {
    return {pointer, written(pointer), std::min(size.bytes_in(whole, unit), whole), units, {}, place_of(source_, pointer)};
  }

  void describe_device(const policy::DeviceFacts& device) {
    const policy::Composed composed = policy::compose(layers_, identity_, device, machine_);
    const policy::PoolTerms& pool = composed.terms.pool;
    ExplainedDevice out;
    out.facts = device;
    out.unit = pool.unit;
    out.clips = composed.clips;
    out.misfits = composed.misfits;
    out_.usable = out_.usable && composed.usable();
    const Bytes whole = pool.unit * pool.capacity.count;
    const policy::DeviceRules* own = policy::rules_for(layers_.governing.policy, device);
    const auto add_pool = [&](const char* key, const std::optional<policy::Size> policy::DeviceRules::*of_device,
                              const policy::Size policy::PoolRules::*of_pool, Bytes of, Units units) {
      const bool is_own = own != nullptr && own->*of_device;
      const std::string pointer =
          is_own ? "/devices/" + policy::pointer_token(own->selector) + '/' + key : std::string("/pool/") + key;
      out.pool.push_back(
          sized(pointer, is_own ? *(own->*of_device) : layers_.governing.policy.pool.*of_pool, of, pool.unit, units));
    };
    add_pool("capacity", &policy::DeviceRules::capacity, &policy::PoolRules::capacity, device.total, pool.capacity);
    add_pool("static_zone", &policy::DeviceRules::static_zone, &policy::PoolRules::static_zone, whole, pool.static_zone);
    add_pool("critical_reserve", &policy::DeviceRules::critical_reserve, &policy::PoolRules::critical_reserve, whole,
             pool.critical_reserve);
    for (const char* key : {"unit", "handle", "alignment", "keep", "heap", "free", "charge"}) {
      const std::string pointer = std::string("/pool/") + key;
      out.pool.push_back({pointer, written(pointer), {}, {}, {}, place_of(source_, pointer)});
    }
    describe_job(composed, whole, out);
    out_.devices.push_back(std::move(out));
  }

  void describe_job(const policy::Composed& composed, Bytes whole, ExplainedDevice& out) const {
    const policy::ClassRules& rules = layers_.governing.policy.classes.at(composed.job.class_index);
    const std::string pointer = "/classes/" + policy::pointer_token(rules.name) + '/';
    const Bytes unit = composed.terms.pool.unit;
    out.job.push_back(
        sized(pointer + "guarantee", rules.guarantee, whole, unit, composed.terms.classes[composed.job.class_index].guarantee));
    out.job.push_back(sized(pointer + "limit", rules.limit, whole, unit, composed.terms.classes[composed.job.class_index].limit));
    for (const char* key : {"priority", "critical", "weight", "max_wait", "on_full", "max_hold", "on_revoke"}) {
      out.job.push_back({pointer + key, written(pointer + key), {}, {}, {}, place_of(source_, pointer + key)});
    }
    if (composed.match.entry) {
      const policy::JobRule& job = layers_.governing.policy.jobs[*composed.match.entry];
      const std::string entry = "/jobs/" + std::to_string(*composed.match.entry) + '/';
      const auto add = [&](const char* key, const std::optional<policy::Size>& size) {
        if (size)
          out.job.push_back(
              sized(entry + key, *size, whole, unit, units_within(std::min(size->bytes_in(whole, unit), whole), unit)));
      };
      add("reserve", job.reserve);
      add("limit", job.limit);
    }
    const auto effective = [&](const char* key, Units units) {
      out.job.push_back({key, "", unit * units.count, units, {}, "all of the above"});
    };
    effective("=> guaranteed to this job", composed.job.rules.guarantee);
    effective("=> of it set aside at its start", composed.job.reserve);
    effective("=> never more than", composed.job.rules.limit);
  }

  void check_devices(const std::vector<policy::DeviceFacts>& devices) {
    if (devices.empty()) return;
    for (const policy::Misfit& misfit : policy::unknown_devices(layers_.governing.policy, devices)) take_misfit(misfit);
  }

  const Governance& governance_;
  const policy::Identity& identity_;
  const policy::Layers& layers_;
  const PolicySource* source_;
  std::vector<policy::EncodedValue> values_;
  policy::MachineFacts machine_;
  Explanation out_;
};

}  // namespace

Explanation explain_policy(const Governance& governance, const policy::Identity& identity,
                           const std::vector<policy::DeviceFacts>& devices) {
  return Explainer(governance, identity).run(devices);
}

}  // namespace cupool::tool
