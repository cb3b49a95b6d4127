// SPDX-License-Identifier: Apache-2.0
#include "policy/resolve.h"

#include <algorithm>

#include "policy/problem.h"

namespace cupool::policy {
namespace {

bool is_index(std::string_view selector) {
  return !selector.empty() && std::all_of(selector.begin(), selector.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool selects(const std::string& selector, const DeviceFacts& device) {
  if (selector == "*") return true;
  if (is_index(selector)) return selector == std::to_string(device.index);
  return std::string_view(device.uuid).substr(0, selector.size()) == selector;
}

/// The more a selector says, the more it counts: "*" < index < UUID prefix, longer before shorter.
std::size_t precision(const std::string& selector) {
  if (selector == "*") return 0;
  return is_index(selector) ? 1 : 1 + selector.size();
}

class Resolver {
 public:
  Resolver(const Policy& policy, const DeviceFacts& device, const MachineFacts& machine)
      : policy_(policy), device_(device), machine_(machine), own_(rules_for(policy, device)) {}

  Resolved run() {
    resolve_pool();
    for (const ClassRules& rules : policy_.classes) resolve_class(rules);
    terms_.default_class = class_index(policy_, policy_.default_class).value_or(0);
    terms_.admission = {policy_.admission.max_jobs.with_cores(machine_.physical_cores), policy_.admission.on_full,
                        policy_.admission.max_wait};
    terms_.queue = policy_.queue;
    terms_.defrag = policy_.defrag;
    terms_.time_slice = policy_.time_slice;
    check_sums();
    for (std::size_t i = 0; i < policy_.jobs.size(); ++i) check_job(i);
    return std::move(result_);
  }

 private:
  void add(Misfit::Severity severity, std::string pointer, std::string text) {
    result_.misfits.push_back({severity, std::move(pointer), std::move(text)});
  }

  /// The device's own value if it has one, else the pool's; and where it stands.
  const Size& chosen(const std::optional<Size> DeviceRules::*own, const Size PoolRules::*pool, const char* key,
                     std::string& where) const {
    if (own_ != nullptr && own_->*own) {
      where = "/devices/" + pointer_token(own_->selector) + '/' + key;
      return *(own_->*own);
    }
    where = std::string("/pool/") + key;
    return policy_.pool.*pool;
  }

  Units in_units(const Size& size) const { return units_within(size.bytes_in(whole_, unit()), unit()); }
  Bytes unit() const { return terms_.pool.unit; }
  Bytes bytes(Units units) const { return unit() * units.count; }

  void resolve_pool() {
    PoolTerms& pool = terms_.pool;
    pool.unit = policy_.pool.unit.bytes_in({}, {});
    pool.handle = policy_.pool.handle.bytes_in({}, {});
    pool.alignment = policy_.pool.alignment.bytes_in({}, {});
    pool.heap = policy_.pool.heap;
    pool.free = policy_.pool.free;
    pool.charge = policy_.pool.charge;
    std::string where;
    const Bytes wanted = chosen(&DeviceRules::capacity, &PoolRules::capacity, "capacity", where).bytes_in(device_.total, unit());
    if (wanted > device_.total && wanted.count != UINT64_MAX) {
      add(Misfit::Severity::warning, where,
          "asks for " + to_text(wanted) + ", but the device has " + to_text(device_.total) +
              ": the pool ends at what the device has; lower it, or write a percentage");
    }
    pool.capacity = units_within(std::min(wanted, device_.total), unit());
    whole_ = bytes(pool.capacity);
    if (pool.capacity.count == 0) {
      add(Misfit::Severity::error, where,
          "leaves the pool without one unit of " + to_text(unit()) + " on a device of " + to_text(device_.total) +
              "; raise it, or lower /pool/unit");
    }
    pool.static_zone =
        std::min(in_units(chosen(&DeviceRules::static_zone, &PoolRules::static_zone, "static_zone", where)), pool.capacity);
    resolve_reserve();
    pool.keep = std::min(chosen(&DeviceRules::keep, &PoolRules::keep, "keep", where).bytes_in(whole_, unit()), whole_);
  }

  /// A reserve that no class may use is not kept, and one that nobody has asked for takes no more than the static zone leaves.
  void resolve_reserve() {
    PoolTerms& pool = terms_.pool;
    const auto is_critical = [](const ClassRules& rules) { return rules.critical; };
    if (std::none_of(policy_.classes.begin(), policy_.classes.end(), is_critical)) return;
    std::string where;
    const Units wanted = in_units(chosen(&DeviceRules::critical_reserve, &PoolRules::critical_reserve, "critical_reserve", where));
    pool.critical_reserve = std::min(wanted, pool.dynamic_zone());
    const bool is_default = !policy_.pool.given.has(Key::pool_critical_reserve) && where.starts_with("/pool/");
    if (wanted == pool.critical_reserve || is_default) return;
    add(Misfit::Severity::error, where,
        "keeps " + to_text(bytes(wanted)) + ", but beside the static zone of " + to_text(bytes(pool.static_zone)) +
            " the pool has " + to_text(bytes(pool.dynamic_zone())) + "; lower the reserve or the static zone");
  }

  void resolve_class(const ClassRules& rules) {
    const std::string where = "/classes/" + pointer_token(rules.name);
    ClassTerms terms;
    terms.name = rules.name;
    terms.priority = rules.priority;
    terms.critical = rules.critical;
    terms.max_wait = rules.max_wait;
    terms.on_full = rules.on_full;
    terms.max_hold = rules.max_hold;
    terms.on_revoke = rules.on_revoke;
    terms.weight = rules.weight;
    terms.guarantee = in_units(rules.guarantee);
    terms.limit = std::min(in_units(rules.limit), terms_.pool.capacity);
    const Bytes guarantee = rules.guarantee.bytes_in(whole_, unit());
    if (terms.limit.count == 0 && terms_.pool.capacity.count > 0) {
      add(Misfit::Severity::error, where + "/limit",
          to_text(rules.limit) + " is less than one unit of " + to_text(unit()) +
              " here: no job of this class could get memory; raise it");
    }
    if (guarantee.count > 0 && terms.guarantee.count == 0) {
      add(Misfit::Severity::warning, where + "/guarantee",
          to_text(rules.guarantee) + " is less than one unit of " + to_text(unit()) +
              " here and guarantees nothing; raise it, or leave it out");
    }
    if (terms.guarantee > terms.limit) {
      add(Misfit::Severity::error, where + "/guarantee",
          "guarantees " + to_text(bytes(terms.guarantee)) + ", above the limit of " + to_text(bytes(terms.limit)) +
              " here; lower it, or raise the limit");
      terms.guarantee = terms.limit;
    }
    if (terms.guarantee > terms_.pool.static_zone) {
      add(Misfit::Severity::error, where + "/guarantee",
          "guarantees " + to_text(bytes(terms.guarantee)) + ", more than the static zone of " +
              to_text(bytes(terms_.pool.static_zone)) + "; lower it, or raise /pool/static_zone");
    }
    terms_.classes.push_back(std::move(terms));
  }

  void check_sums() {
    Units sum{0};
    for (const ClassTerms& terms : terms_.classes) sum += terms.guarantee;
    if (sum <= terms_.pool.static_zone || terms_.classes.size() < 2) return;
    add(Misfit::Severity::error, "/classes",
        "one job of each class is guaranteed " + to_text(bytes(sum)) + " together, more than the static zone of " +
            to_text(bytes(terms_.pool.static_zone)) + " here; lower a guarantee, or raise /pool/static_zone");
  }

  void check_job(std::size_t number) {
    const JobRule& job = policy_.jobs[number];
    const std::string where = "/jobs/" + std::to_string(number);
    const auto found = class_index(policy_, job.class_name.empty() ? policy_.default_class : job.class_name);
    if (!found) return;  // validate() refuses an unknown class; nothing to compare with
    const Units limit = job_limit(terms_.classes[*found].limit, job);
    if (limit.count == 0 && terms_.pool.capacity.count > 0 && job.limit) {
      add(Misfit::Severity::error, where + "/limit",
          to_text(*job.limit) + " is less than one unit of " + to_text(unit()) + " here: the job could get no memory; raise it");
    }
    if (!job.reserve) return;
    const Units reserve = in_units(*job.reserve);
    if (reserve > limit) {
      add(Misfit::Severity::error, where + "/reserve",
          "reserves " + to_text(bytes(reserve)) + ", above the job's limit of " + to_text(bytes(limit)) +
              " here; lower it, or raise the limit");
    } else if (reserve > terms_.pool.static_zone) {
      add(Misfit::Severity::error, where + "/reserve",
          "reserves " + to_text(bytes(reserve)) + ", more than the static zone of " + to_text(bytes(terms_.pool.static_zone)) +
              "; lower it, or raise /pool/static_zone");
    }
  }

  Units job_limit(Units of_class, const JobRule& job) const {
    return job.limit ? std::min(of_class, in_units(*job.limit)) : of_class;
  }

  const Policy& policy_;
  const DeviceFacts& device_;
  const MachineFacts& machine_;
  const DeviceRules* own_;
  Resolved result_;
  Terms& terms_ = result_.terms;
  Bytes whole_;  ///< the capacity, of which percentages are taken
};

}  // namespace

bool Resolved::usable() const {
  return std::none_of(misfits.begin(), misfits.end(),
                      [](const Misfit& misfit) { return misfit.severity == Misfit::Severity::error; });
}

Resolved resolve(const Policy& policy, const DeviceFacts& device, const MachineFacts& machine) {
  return Resolver(policy, device, machine).run();
}

JobTerms job_terms(const Terms& terms, std::size_t class_index, const JobRule* job) {
  JobTerms own;
  own.class_index = class_index;
  own.rules = terms.classes[class_index];
  if (job == nullptr) return own;
  own.serve = job->serve;
  const Bytes unit = terms.pool.unit;
  const Bytes whole = unit * terms.pool.capacity.count;
  if (job->limit) own.rules.limit = std::min(own.rules.limit, units_within(job->limit->bytes_in(whole, unit), unit));
  if (job->reserve) own.reserve = std::min(own.rules.limit, units_within(job->reserve->bytes_in(whole, unit), unit));
  own.rules.guarantee = std::min(own.rules.limit, std::max(own.rules.guarantee, own.reserve));
  return own;
}

const DeviceRules* rules_for(const Policy& policy, const DeviceFacts& device) {
  const DeviceRules* best = nullptr;
  for (const DeviceRules& rules : policy.devices) {
    if (selects(rules.selector, device) && (best == nullptr || precision(rules.selector) > precision(best->selector)))
      best = &rules;
  }
  return best;
}

std::vector<Misfit> unknown_devices(const Policy& policy, const std::vector<DeviceFacts>& present) {
  std::vector<Misfit> misfits;
  for (const DeviceRules& rules : policy.devices) {
    if (rules.selector == "*") continue;
    if (std::any_of(present.begin(), present.end(), [&](const DeviceFacts& device) { return selects(rules.selector, device); }))
      continue;
    std::string known;
    for (const DeviceFacts& device : present)
      known += (known.empty() ? "" : ", ") + std::to_string(device.index) + " = " + device.uuid;
    misfits.push_back({Misfit::Severity::error, "/devices/" + pointer_token(rules.selector),
                       "no device here is called " + rules.selector + "; present: " + (known.empty() ? "none" : known) +
                           ". Correct the selector, or remove the entry"});
  }
  return misfits;
}

}  // namespace cupool::policy
