// SPDX-License-Identifier: Apache-2.0
#include "policy/layers.h"

#include <algorithm>
#include <utility>

#include "policy/problem.h"
#include "policy/suggest.h"

namespace cupool::policy {
namespace {

const char* word(OnFull value) {
  return value == OnFull::wait ? "wait" : "deny";
}
const char* word(OnRevoke value) {
  return value == OnRevoke::idle ? "idle" : "park";
}
const char* word(bool value) {
  return value ? "true" : "false";
}
std::string word(const std::optional<Duration>& value) {
  return value ? to_text(*value) : "no end";
}

/// Takes the lesser of two values and notes where more was asked for.
class Tightening {
 public:
  Tightening(const std::string& bound_name, const std::string& wanted_name, std::vector<Clip>& clips)
      : bound_name_(bound_name), wanted_name_(wanted_name), clips_(clips) {}

  /// `is_more(wanted, bound)`: the wish exceeds what is allowed. `text` writes a value.
  template <class T, class IsMore, class Text>
  void apply(const char* key, T& bound, const T& wanted, IsMore is_more, Text text) {
    if (is_more(wanted, bound)) {
      note(key, text(wanted), text(bound));
    } else {
      bound = wanted;
    }
  }

  template <class T, class Text>
  void lower(const char* key, T& bound, const T& wanted, Text text) {
    apply(
        key, bound, wanted, [](const T& a, const T& b) { return a > b; }, text);
  }

 private:
  void note(const char* key, std::string wanted, std::string kept) {
    std::string text = std::string(key) + ": " + wanted_name_ + " asks for " + wanted + ", " + bound_name_ + " allows " + kept +
                       ": " + kept + " applies";
    clips_.push_back({key, std::move(wanted), std::move(kept), std::move(text)});
  }

  const std::string& bound_name_;
  const std::string& wanted_name_;
  std::vector<Clip>& clips_;
};

/// The terms of the class that the user asked for, instead of the one that the policy assigns.
std::optional<JobTerms> wanted_class_terms(const Layers& layers, Composed& composed) {
  if (!layers.wanted_class) return std::nullopt;
  const Policy& policy = layers.governing.policy;
  if (const auto index = class_index(policy, *layers.wanted_class)) {
    const JobRule* entry = composed.match.entry ? &policy.jobs[*composed.match.entry] : nullptr;
    return job_terms(composed.terms, *index, entry);
  }
  std::vector<std::string_view> names;
  for (const ClassRules& rules : policy.classes) names.push_back(rules.name);
  composed.misfits.push_back({Misfit::Severity::error, "/classes",
                              "the class \"" + printable(*layers.wanted_class) + "\" that this job asks for is not in " +
                                  printable(layers.governing.name) + suggestion(*layers.wanted_class, names, "its classes are")});
  return std::nullopt;
}

/// What the own policy asks for, measured against the governing policy's pool. Keys that it does not state ask for nothing else
/// than `bound`: a file that only names a report's path must not cost its job the guarantee.
JobTerms own_terms(const Layers& layers, const Identity& identity, const DeviceFacts& device, const MachineFacts& machine,
                   const JobTerms& bound, Composed& composed) {
  Policy own = layers.own->policy;
  own.pool = layers.governing.policy.pool;
  own.devices = layers.governing.policy.devices;
  composed.own_match = match_job(own, identity);
  std::size_t wanted = composed.own_match->class_index;
  if (layers.wanted_class) wanted = class_index(own, *layers.wanted_class).value_or(wanted);
  const JobRule* entry = composed.own_match->entry ? &own.jobs[*composed.own_match->entry] : nullptr;
  // Its misfits do not matter: where it asks for more than there is, it is clipped.
  const JobTerms asked = job_terms(resolve(own, device, machine).terms, wanted, entry);
  const GivenKeys& given = own.classes[wanted].given;
  JobTerms job = bound;
  const auto take = [&](Key key, auto ClassTerms::*member) {
    if (given.has(key)) job.rules.*member = asked.rules.*member;
  };
  take(Key::job_class_priority, &ClassTerms::priority);
  take(Key::job_class_guarantee, &ClassTerms::guarantee);
  take(Key::job_class_limit, &ClassTerms::limit);
  take(Key::job_class_critical, &ClassTerms::critical);
  take(Key::job_class_max_wait, &ClassTerms::max_wait);
  take(Key::job_class_on_full, &ClassTerms::on_full);
  take(Key::job_class_max_hold, &ClassTerms::max_hold);
  take(Key::job_class_on_revoke, &ClassTerms::on_revoke);
  take(Key::job_class_weight, &ClassTerms::weight);
  if (entry == nullptr) return job;
  if (entry->reserve) job.reserve = asked.reserve;
  if (entry->limit) job.rules.limit = asked.rules.limit;
  if (entry->given.has(Key::job_serve)) job.serve = entry->serve;
  return job;
}

}  // namespace

bool Composed::usable() const {
  return std::none_of(misfits.begin(), misfits.end(),
                      [](const Misfit& misfit) { return misfit.severity == Misfit::Severity::error; });
}

JobTerms tighten(const JobTerms& bound, const JobTerms& wanted, const std::string& bound_name, const std::string& wanted_name,
                 Bytes unit, std::vector<Clip>& clips) {
  JobTerms job = bound;
  Tightening tightening(bound_name, wanted_name, clips);
  const std::size_t clips_before = clips.size();
  const auto units = [&](Units amount) { return to_text(unit * amount.count); };
  const auto number = [](auto value) { return std::to_string(value); };
  const auto as_word = [](const auto& value) { return std::string(word(value)); };
  const auto duration = [](Duration value) { return to_text(value); };
  ClassTerms& rules = job.rules;
  const ClassTerms& wish = wanted.rules;
  tightening.lower("priority", rules.priority, wish.priority, number);
  tightening.lower("limit", rules.limit, wish.limit, units);
  tightening.lower("guarantee", rules.guarantee, wish.guarantee, units);
  tightening.lower("critical", rules.critical, wish.critical, as_word);
  tightening.lower("max_wait", rules.max_wait, wish.max_wait, duration);
  tightening.lower("weight", rules.weight, wish.weight, number);
  // The later word of these two asks less of the pool, and a holding time without end is the longest.
  tightening.apply("on_full", rules.on_full, wish.on_full, std::less<>{}, as_word);
  tightening.apply("on_revoke", rules.on_revoke, wish.on_revoke, std::less<>{}, as_word);
  const auto holds_longer = [](const std::optional<Duration>& a, const std::optional<Duration>& b) { return b && (!a || *a > *b); };
  tightening.apply("max_hold", rules.max_hold, wish.max_hold, holds_longer, as_word);
  tightening.lower("reserve", job.reserve, wanted.reserve, units);
  rules.guarantee = std::min(rules.guarantee, rules.limit);
  job.reserve = std::min(job.reserve, rules.guarantee);
  job.serve = wanted.serve;
  if (clips.size() == clips_before) {
    job.class_index = wanted.class_index;
    rules.name = wish.name;
  }
  return job;
}

Composed compose(const Layers& layers, const Identity& identity, const DeviceFacts& device, const MachineFacts& machine) {
  Composed composed;
  const Policy& governing = layers.governing.policy;
  Resolved resolved = resolve(governing, device, machine);
  composed.terms = std::move(resolved.terms);
  composed.misfits = std::move(resolved.misfits);
  composed.match = match_job(governing, identity);
  const JobRule* entry = composed.match.entry ? &governing.jobs[*composed.match.entry] : nullptr;
  composed.job = job_terms(composed.terms, composed.match.class_index, entry);
  const Bytes unit = composed.terms.pool.unit;
  // A class that exists in the own policy alone is asked for there, not here.
  const bool class_is_own = layers.own && layers.wanted_class && class_index(layers.own->policy, *layers.wanted_class);
  if (!class_is_own) {
    if (const auto wanted = wanted_class_terms(layers, composed)) {
      composed.job = layers.governing_binds ? tighten(composed.job, *wanted, layers.governing.name, "class " + *layers.wanted_class,
                                                      unit, composed.clips)
                                            : *wanted;
    }
  }
  const auto speaker = [&](Key section) -> const Policy& {
    return layers.own && layers.own->policy.given.has(section) ? layers.own->policy : governing;
  };
  composed.frameworks = speaker(Key::root_frameworks).frameworks;
  composed.report = speaker(Key::root_report).report;
  composed.log = speaker(Key::root_log).log;
  if (layers.own) {
    const std::size_t class_before = composed.job.class_index;
    const JobTerms wanted = own_terms(layers, identity, device, machine, composed.job, composed);
    composed.job = tighten(composed.job, wanted, layers.governing.name, layers.own->name, unit, composed.clips);
    // Its classes are not the pool's: the values are taken over, the class stays.
    composed.job.class_index = class_before;
    composed.job.rules.name = composed.terms.classes[class_before].name;
  }
  return composed;
}

}  // namespace cupool::policy
