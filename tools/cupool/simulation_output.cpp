// SPDX-License-Identifier: Apache-2.0
#include "tools/cupool/simulation_output.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "policy/decide/reason.h"
#include "tools/cupool/simulation_lanes.h"

namespace cupool::tool {
namespace {

using policy::Duration;
using policy::EventKind;
using policy::Instant;

class TextOutput {
 public:
  TextOutput(const Simulated& simulated, const Session& session) : it_(simulated), session_(session) {}

  std::string text(std::size_t most_events, std::size_t width) const {
    std::string out = heading();
    if (!session_.quiet) out += events(most_events) + '\n' + timeline(width) + '\n';
    return out + jobs() + verdict();
  }

 private:
  std::string bytes(Units units) const { return to_text(Bytes{units.count * it_.plan.terms.pool.unit.count}); }
  const std::string& name(std::uint32_t job) const { return it_.plan.jobs[job].name; }

  std::string heading() const {
    const policy::PoolTerms& pool = it_.plan.terms.pool;
    return fmt::format("{} under {}: device {} of {}, pool {} in {} units of {}, static zone {}, critical reserve {}\n\n",
                       it_.scenario, it_.policy, it_.device.uuid, to_text(it_.device.total), bytes(pool.capacity),
                       pool.capacity.count, to_text(pool.unit), bytes(pool.static_zone), bytes(pool.critical_reserve));
  }

  Style style_of(EventKind kind) const {
    switch (kind) {
      case EventKind::denied:
      case EventKind::turned_away:
      case EventKind::died:
        return Style::red;
      case EventKind::waits:
      case EventKind::admission_waits:
      case EventKind::called_back:
      case EventKind::parked:
        return Style::yellow;
      case EventKind::granted:
      case EventKind::resumed:
        return Style::green;
      default:
        return Style::plain;
    }
  }

  std::string why(const policy::Event& event) const {
    std::string text;
    if (event.verdict && event.kind != EventKind::admitted) {
      text = explain(*event.verdict, it_.plan.terms.pool.unit);
      if (event.verdict->outcome == policy::Outcome::wait && event.verdict->until != policy::kNever)
        text += ", until " + time_text(event.verdict->until);
    } else if (event.other != policy::kNobody) {
      text = "for " + name(event.other);
    }
    return text;
  }

  std::string events(std::size_t most) const {
    Table table;
    table.add({"TIME", "JOB", "WHAT", "AMOUNT", "WHY"});
    const auto& events = it_.history.events;
    for (std::size_t i = 0; i < events.size() && i < most; ++i) {
      const policy::Event& event = events[i];
      table.add({time_text(event.at), event.job == policy::kNobody ? "-" : name(event.job),
                 session_.styled(style_of(event.kind), to_text(event.kind)), event.units.count > 0 ? bytes(event.units) : "-",
                 why(event)});
    }
    std::string out = table.text();
    if (events.size() > most) out += fmt::format("... and {} more; --events {} shows all\n", events.size() - most, events.size());
    return out;
  }

  std::string timeline(std::size_t width) const {
    std::size_t longest = 4;
    for (const policy::PlannedJob& job : it_.plan.jobs) longest = std::max(longest, job.name.size());
    const std::size_t cells = std::max<std::size_t>(20, width > longest + 3 ? width - longest - 3 : 0);
    std::string out;
    for (std::uint32_t job = 0; job < it_.plan.jobs.size(); ++job)
      out += fmt::format("{:<{}} |{}|\n", name(job), longest, job_lane(it_.history, job, cells));
    out += fmt::format("{:<{}} |{}|\n", "pool", longest, pool_lane(it_.history, it_.plan.terms.pool.capacity, cells));
    const std::string end = time_text(it_.history.end);
    out += fmt::format("{:<{}}  0s{:>{}}\n", "", longest, end, cells - 2);
    return out + "▁▂▃▄▅▆▇█ holds, of the job's own peak (pool: of its capacity)   w waits   p parked   . waits to start\n";
  }

  std::string jobs() const {
    Table table;
    table.add({"JOB", "CLASS", "STARTED", "ENDED", "FATE", "PEAK", "ASKS", "DENIED", "WAITED", "LONGEST", "PARKED", "LAST DENIAL"});
    for (std::uint32_t job = 0; job < it_.plan.jobs.size(); ++job) {
      const policy::JobHistory& history = it_.history.jobs[job];
      table.add({name(job), it_.plan.jobs[job].terms.rules.name, history.admitted ? time_text(*history.admitted) : "-",
                 history.ended == policy::kNever ? "-" : time_text(history.ended), to_text(history.fate), bytes(history.peak),
                 std::to_string(history.asks), std::to_string(history.denials), time_text({history.waited.ns}),
                 time_text({history.longest_wait.ns}), time_text({history.parked_for.ns}),
                 history.last_denial ? to_text(*history.last_denial) : "-"});
    }
    return table.text();
  }

  std::string verdict() const {
    std::string out;
    if (it_.history.cut_short)
      out += session_.styled(Style::red, "cut short") +
             fmt::format(": more happens than a simulation follows ({} events); set \"end\"\n", it_.history.events.size());
    for (const std::string& text : it_.broken) out += session_.styled(Style::red, "broken") + ": " + text + '\n';
    if (it_.expected > 0 && it_.broken.empty())
      out += session_.styled(Style::green, "kept") + fmt::format(": all {} expectations\n", it_.expected);
    return out;
  }

  const Simulated& it_;
  const Session& session_;
};

using Json = nlohmann::ordered_json;

Json instant_json(Instant at) {
  return at == policy::kNever ? Json() : Json(at.ns);
}

class JsonOutput {
 public:
  explicit JsonOutput(const Simulated& simulated) : it_(simulated) {}

  Json document() const {
    const policy::PoolTerms& pool = it_.plan.terms.pool;
    Json events = Json::array(), jobs = Json::array();
    for (const policy::Event& event : it_.history.events) events.push_back(event_json(event));
    for (std::uint32_t job = 0; job < it_.plan.jobs.size(); ++job) jobs.push_back(job_json(job));
    return {{"kind", "cupool.policy_simulation"},
            {"version", 1},
            {"scenario", it_.scenario},
            {"policy", it_.policy},
            {"device", {{"uuid", it_.device.uuid}, {"total_bytes", it_.device.total.count}}},
            {"pool",
             {{"unit_bytes", pool.unit.count},
              {"capacity_units", pool.capacity.count},
              {"static_zone_units", pool.static_zone.count},
              {"critical_reserve_units", pool.critical_reserve.count}}},
            {"end_ns", it_.history.end.ns},
            {"cut_short", it_.history.cut_short},
            {"events", events},
            {"jobs", jobs},
            {"expectations", it_.expected},
            {"broken", it_.broken}};
  }

 private:
  Json name_json(std::uint32_t job) const { return job == policy::kNobody ? Json() : Json(it_.plan.jobs[job].name); }

  Json event_json(const policy::Event& event) const {
    Json out{{"at_ns", event.at.ns}, {"job", name_json(event.job)}, {"event", to_text(event.kind)}, {"units", event.units.count}};
    if (event.other != policy::kNobody) out["for"] = name_json(event.other);
    if (!event.verdict) return out;
    const policy::Verdict& verdict = *event.verdict;
    out["outcome"] = to_text(verdict.outcome);
    out["rule"] = to_text(verdict.rule);
    if (verdict.outcome == policy::Outcome::deny) out["ending"] = to_text(verdict.ending);
    if (verdict.outcome == policy::Outcome::wait) {
      out["rank"] = verdict.rank;
      out["until_ns"] = instant_json(verdict.until);
    }
    out["text"] = explain(verdict, it_.plan.terms.pool.unit);
    return out;
  }

  Json job_json(std::uint32_t job) const {
    const policy::JobHistory& history = it_.history.jobs[job];
    const policy::JobTerms& terms = it_.plan.jobs[job].terms;
    Json samples = Json::array();
    for (const policy::Sample& sample : history.samples) {
      samples.push_back({{"at_ns", sample.at.ns},
                         {"state", to_text(sample.state)},
                         {"held_units", sample.held.count},
                         {"idle_units", sample.idle.count},
                         {"parked_units", sample.parked.count}});
    }
    return {{"name", it_.plan.jobs[job].name},
            {"class", terms.rules.name},
            {"guarantee_units", terms.rules.guarantee.count},
            {"reserve_units", terms.reserve.count},
            {"limit_units", terms.rules.limit.count},
            {"arrived_ns", history.arrived.ns},
            {"admitted_ns", history.admitted ? Json(history.admitted->ns) : Json()},
            {"ended_ns", instant_json(history.ended)},
            {"fate", to_text(history.fate)},
            {"peak_units", history.peak.count},
            {"asks", history.asks},
            {"grants", history.grants},
            {"denials", history.denials},
            {"waits", history.waits},
            {"waited_ns", history.waited.ns},
            {"longest_wait_ns", history.longest_wait.ns},
            {"parked_ns", history.parked_for.ns},
            {"called_back_units", history.called_back.count},
            {"last_denial", history.last_denial ? Json(to_text(*history.last_denial)) : Json()},
            {"samples", samples}};
  }

  const Simulated& it_;
};

}  // namespace

std::string time_text(Instant at) {
  constexpr std::uint64_t kSeconds = 1'000'000'000, kMinute = 60 * kSeconds, kHour = 60 * kMinute;
  if (at.ns == 0) return "0s";
  if (at.ns < kMinute) {
    std::string text = fmt::format("{:.3f}", static_cast<double>(at.ns) / static_cast<double>(kSeconds));
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
    return text == "0" ? "<1ms" : text + 's';
  }
  if (at.ns < kHour) return fmt::format("{}m{:02}s", at.ns / kMinute, at.ns % kMinute / kSeconds);
  return fmt::format("{}h{:02}m{:02}s", at.ns / kHour, at.ns % kHour / kMinute, at.ns % kMinute / kSeconds);
}

std::string simulation_text(const Simulated& simulated, const Session& session, std::size_t most_events, std::size_t width) {
  return TextOutput(simulated, session).text(most_events, width);
}

std::string simulation_json(const Simulated& simulated) {
  return JsonOutput(simulated).document().dump(2) + '\n';
}

}  // namespace cupool::tool
