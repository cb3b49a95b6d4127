// SPDX-License-Identifier: Apache-2.0
#include "policy/validate.h"

#include <algorithm>
#include <utility>

#include "policy/report_path.h"
#include "policy/suggest.h"

namespace cupool::policy {
namespace {

/// Sizes that can be compared without a device: shares with shares, bytes and units with each other.
enum class Currency : std::uint8_t { bytes, share, unbounded };

class Validator {
 public:
  Validator(Policy& policy, const Document& document, Problems& problems)
      : policy_(policy), document_(document), problems_(problems), unit_(policy.pool.unit.bytes_in({}, {})) {}

  void run() {
    if (policy_.classes.empty()) policy_.classes = built_in().classes;
    check_pool();
    check_default_class();
    for (const ClassRules& rules : policy_.classes) check_class(rules);
    check_guarantees_together();
    for (std::size_t i = 0; i < policy_.jobs.size(); ++i) check_job(i);
    for (const DeviceRules& rules : policy_.devices) check_device(rules);
    if (const auto fault = report_path_fault(policy_.report.path)) error("/report/path", *fault);
  }

 private:
  // --- problems, placed by pointer

  void add(Severity severity, const std::string& pointer, std::string text) {
    problems_.add(severity, document_.place_of(pointer), pointer, std::move(text));
  }
  void error(const std::string& pointer, std::string text) { add(Severity::error, pointer, std::move(text)); }
  void warning(const std::string& pointer, std::string text) { add(Severity::warning, pointer, std::move(text)); }

  bool is_given(const std::string& pointer) const { return document_.pointer(document_.find(pointer)) == pointer; }

  // --- sizes without a device

  static Currency currency(const Size& size) {
    if (size.kind == Size::Kind::infinity) return Currency::unbounded;
    return size.kind == Size::Kind::share ? Currency::share : Currency::bytes;
  }
  std::uint64_t amount(const Size& size) const {
    return size.kind == Size::Kind::share ? size.value : size.bytes_in({}, unit_).count;
  }
  /// Certain without a device.
  bool exceeds(const Size& size, const Size& bound) const {
    return currency(bound) == currency(size) && currency(size) != Currency::unbounded && amount(size) > amount(bound);
  }
  bool is_below_one_unit(const Size& size) const {
    if (size.kind == Size::Kind::share) return size.value == 0;
    return size.kind != Size::Kind::infinity && size.bytes_in({}, unit_) < unit_;
  }
  std::string shown(Currency currency, std::uint64_t amount) const {
    return to_text(Size{currency == Currency::share ? Size::Kind::share : Size::Kind::bytes, amount});
  }
  std::string one_unit() const { return "one unit of " + to_text(policy_.pool.unit); }

  // --- the checks

  void check_pool() {
    const PoolRules& pool = policy_.pool;
    if (unit_.count % kUnitStep.count != 0) {
      error("/pool/unit", to_text(pool.unit) + " is not a multiple of 128MiB; write " +
                              to_text(Size::bytes(Bytes{std::max(round_down(unit_.count, kUnitStep.count), kUnitStep.count)})));
    }
    check_power_of_two("/pool/handle", pool.handle);
    check_power_of_two("/pool/alignment", pool.alignment);
    check_zones("/pool", pool.capacity, pool.static_zone, given_reserve(), true);
    const bool any_critical =
        std::any_of(policy_.classes.begin(), policy_.classes.end(), [](const ClassRules& rules) { return rules.critical; });
    if (!any_critical && amount(pool.critical_reserve) > 0 && is_given("/pool/critical_reserve")) {
      warning("/pool/critical_reserve",
              R"(no class is critical, so that nothing is kept; write "critical": true in a class, or leave this out)");
    }
  }

  /// The pool's reserve if the file states it; the default gives way to the static zone.
  std::optional<Size> given_reserve() const {
    return policy_.pool.given.has(Key::pool_critical_reserve) ? std::optional(policy_.pool.critical_reserve) : std::nullopt;
  }

  void check_power_of_two(const std::string& pointer, const Size& size) {
    if (is_power_of_two(size.value)) return;
    std::uint64_t below = 1;
    while (below <= size.value / 2) below *= 2;
    error(pointer, to_text(size) + " is not a power of two; write " + to_text(Size::bytes(Bytes{below})) + " or " +
                       to_text(Size::bytes(Bytes{below * 2})));
  }

  void check_zones(const std::string& pointer, const Size& capacity, const Size& zone, const std::optional<Size>& reserve,
                   bool own_capacity) {
    if (own_capacity && is_below_one_unit(capacity)) {
      error(pointer + "/capacity", to_text(capacity) + " is less than " + one_unit() + "; raise it, or lower /pool/unit");
    }
    if (exceeds(zone, capacity) && currency(zone) == Currency::bytes) {
      error(pointer + "/static_zone", to_text(zone) + " is more than the capacity of " + to_text(capacity) + "; lower it");
      return;
    }
    const Size whole = currency(zone) == Currency::share ? Size::percent(100) : capacity;
    if (!reserve || currency(zone) != currency(*reserve) || currency(zone) != currency(whole)) return;
    const std::uint64_t left = amount(whole) - std::min(amount(whole), amount(zone));
    if (amount(*reserve) > left) {
      error(pointer + "/critical_reserve", to_text(*reserve) + " and the static zone of " + to_text(zone) +
                                               " are more than the whole pool; the reserve can be " + shown(currency(zone), left) +
                                               " at most");
    }
  }

  std::vector<std::string_view> class_names() const {
    std::vector<std::string_view> names;
    for (const ClassRules& rules : policy_.classes) names.push_back(rules.name);
    return names;
  }

  void unknown_class(const std::string& pointer, const std::string& name) {
    error(pointer, "no class is called \"" + printable(name) + '"' + suggestion(name, class_names(), "the classes are"));
  }

  void check_default_class() {
    if (!policy_.default_class.empty()) {
      if (!class_index(policy_, policy_.default_class)) unknown_class("/default_class", policy_.default_class);
      return;
    }
    if (policy_.classes.size() == 1) {
      policy_.default_class = policy_.classes.front().name;
    } else if (!is_given("/default_class")) {
      error("/default_class", "is missing; name the class of jobs that no entry matches, for example \"default_class\": \"" +
                                  printable(policy_.classes.back().name) + '"');
    }
  }

  void check_class(const ClassRules& rules) {
    const std::string pointer = "/classes/" + pointer_token(rules.name);
    if (is_below_one_unit(rules.limit)) {
      error(pointer + "/limit", to_text(rules.limit) + " is less than " + one_unit() + ": no job could get memory; raise it");
    }
    if (amount(rules.guarantee) > 0 && is_below_one_unit(rules.guarantee)) {
      warning(pointer + "/guarantee",
              to_text(rules.guarantee) + " is less than " + one_unit() + " and guarantees nothing; raise it, or leave it out");
    }
    if (exceeds(rules.guarantee, rules.limit)) {
      error(pointer + "/guarantee",
            to_text(rules.guarantee) + " is above the limit of " + to_text(rules.limit) + "; lower it, or raise the limit");
    } else if (exceeds(rules.guarantee, policy_.pool.static_zone)) {
      error(pointer + "/guarantee", to_text(rules.guarantee) + " is more than the static zone of " +
                                        to_text(policy_.pool.static_zone) +
                                        ", where guarantees come from; lower it, or raise /pool/static_zone");
    }
  }

  /// Adds `size` to `sum` when it is of the zone's currency.
  void accumulate(const Size& size, std::uint64_t& sum) const {
    if (currency(size) == currency(policy_.pool.static_zone)) sum = checked_add(sum, amount(size)).value_or(UINT64_MAX);
  }

  void check_guarantees_together() {
    const Size& zone = policy_.pool.static_zone;
    std::uint64_t sum = 0;
    std::string parts;
    for (const ClassRules& rules : policy_.classes) {
      if (exceeds(rules.guarantee, zone)) return;  // said already
      const std::uint64_t before = sum;
      accumulate(rules.guarantee, sum);
      if (sum != before) parts += (parts.empty() ? "" : ", ") + rules.name + ' ' + to_text(rules.guarantee);
    }
    if (sum > amount(zone)) {
      error("/classes", "one job of each class is guaranteed " + shown(currency(zone), sum) + " together (" +
                            printable(parts, 200) + "), more than the static zone of " + to_text(zone) +
                            "; lower a guarantee, or raise /pool/static_zone");
      return;
    }
    std::uint64_t reserved = 0;
    for (const JobRule& job : policy_.jobs) {
      if (job.reserve) accumulate(*job.reserve, reserved);
    }
    const std::uint64_t together = checked_add(sum, reserved).value_or(UINT64_MAX);
    if (reserved > 0 && together > amount(zone)) {
      warning("/jobs", "the reserves of all entries and the guarantee of one job of each class are " +
                           shown(currency(zone), together) + " together, more than the static zone of " + to_text(zone) +
                           ": not all of them can run at once");
    }
  }

  void check_job(std::size_t number) {
    const JobRule& job = policy_.jobs[number];
    const std::string pointer = "/jobs/" + std::to_string(number);
    for (std::size_t earlier = 0; earlier < number; ++earlier) {
      const Match& match = policy_.jobs[earlier].match;
      if (match != Match{} && match != job.match) continue;
      warning(pointer, "never applies, because entry " + std::to_string(earlier) +
                           (match == Match{} ? " matches every job" : " has the same match") + "; move it up, or remove it");
      break;
    }
    const std::string& name = job.class_name.empty() ? policy_.default_class : job.class_name;
    const auto found = class_index(policy_, name);
    if (!found) {
      if (!job.class_name.empty()) unknown_class(pointer + "/class", job.class_name);
      return;
    }
    const ClassRules& rules = policy_.classes[*found];
    if (job.limit && is_below_one_unit(*job.limit)) {
      error(pointer + "/limit", to_text(*job.limit) + " is less than " + one_unit() + ": the job could get no memory; raise it");
    }
    if (job.limit && exceeds(*job.limit, rules.limit)) {
      warning(pointer + "/limit", to_text(*job.limit) + " is above the limit of class " + rules.name + ", " + to_text(rules.limit) +
                                      ", which stays in force; lower it, or raise the class's");
    }
    if (!job.reserve) return;
    if (is_below_one_unit(*job.reserve)) {
      warning(pointer + "/reserve",
              to_text(*job.reserve) + " is less than " + one_unit() + " and reserves nothing; raise it, or leave it out");
    }
    for (const Size& limit : {job.limit.value_or(Size::infinity()), rules.limit}) {
      if (!exceeds(*job.reserve, limit)) continue;
      error(pointer + "/reserve",
            to_text(*job.reserve) + " is above the job's limit of " + to_text(limit) + "; lower it, or raise the limit");
      return;
    }
    if (exceeds(*job.reserve, policy_.pool.static_zone)) {
      error(pointer + "/reserve", to_text(*job.reserve) + " is more than the static zone of " + to_text(policy_.pool.static_zone) +
                                      ", where reserves come from; lower it, or raise /pool/static_zone");
    }
  }

  void check_device(const DeviceRules& rules) {
    const PoolRules& pool = policy_.pool;
    check_zones("/devices/" + pointer_token(rules.selector), rules.capacity.value_or(pool.capacity),
                rules.static_zone.value_or(pool.static_zone), rules.critical_reserve ? rules.critical_reserve : given_reserve(),
                rules.capacity.has_value());
  }

  Policy& policy_;
  const Document& document_;
  Problems& problems_;
  Bytes unit_;
};

}  // namespace

void validate(Policy& policy, const Document& document, Problems& problems) {
  Validator(policy, document, problems).run();
}

}  // namespace cupool::policy
