// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

#include "policy/decide/reason.h"
#include "tools/cupool/markup.h"
#include "tools/cupool/simulation_output.h"

namespace cupool::tool {
namespace {

using policy::Instant;
using policy::Sample;

constexpr double kLeft = 150, kRight = 20, kTop = 60, kWidth = 1100, kLane = 46, kGap = 14, kPool = 110;
constexpr std::array<const char*, 8> kColors{"#4c78a8", "#f58518", "#54a24b", "#b279a2",
                                             "#e45756", "#72b7b2", "#eeca3b", "#9d755d"};

/// Draws one simulation; coordinates are pixels.
class Picture {
 public:
  explicit Picture(const Simulated& simulated) : it_(simulated) {
    end_ = std::max<std::uint64_t>(1, simulated.history.end.ns);
    height_ = kTop + kPool + kGap + static_cast<double>(simulated.plan.jobs.size()) * (kLane + kGap) + 60;
  }

  std::string text() {
    add(R"-(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" )-"
        R"-(font-family="sans-serif" font-size="12">)-",
        kLeft + kWidth + kRight, height_);
    add(R"-(<rect width="100%" height="100%" fill="white"/>)-");
    add(R"-(<defs><pattern id="parked" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">)-"
        R"-(<rect width="3" height="6" fill="#888"/></pattern></defs>)-");
    add(R"-(<text x="10" y="22" font-size="15">{} under {}</text>)-", escaped(it_.scenario), escaped(it_.policy));
    legend();
    pool();
    for (std::uint32_t job = 0; job < it_.plan.jobs.size(); ++job) lane(job);
    axis();
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    out_ += fmt::format(format, std::forward<Args>(args)...);
    out_ += '\n';
  }

  double x(Instant at) const { return kLeft + kWidth * static_cast<double>(std::min(at.ns, end_)) / static_cast<double>(end_); }
  const char* color(std::uint32_t job) const { return kColors[job % kColors.size()]; }
  double lane_top(std::uint32_t job) const { return kTop + kPool + kGap + job * (kLane + kGap); }
  std::string bytes(Units units) const { return to_text(Bytes{units.count * it_.plan.terms.pool.unit.count}); }

  void legend() {
    add(R"-(<rect x="10" y="32" width="14" height="10" fill="#4c78a8"/><text x="28" y="41">holds</text>)-");
    add(R"-(<rect x="80" y="32" width="14" height="10" fill="#ffb3b3"/><text x="98" y="41">waits for memory</text>)-");
    add(R"-(<rect x="210" y="32" width="14" height="10" fill="#e6e6e6"/><text x="228" y="41">waits to start</text>)-");
    add(R"-(<rect x="320" y="32" width="14" height="10" fill="url(#parked)"/><text x="338" y="41">parked on the host</text>)-");
    add(R"-(<text x="460" y="41" fill="#c00">&#x2715;</text><text x="474" y="41">denied</text>)-");
  }

  /// The outline of what a job holds, as points of a polygon over the base line.
  void lane(std::uint32_t job) {
    const policy::JobHistory& history = it_.history.jobs[job];
    const double top = lane_top(job), base = top + kLane;
    const auto whole = static_cast<double>(std::max<std::uint64_t>(1, it_.plan.jobs[job].terms.rules.limit.count));
    add(R"-(<text x="10" y="{:.1f}">{}</text><text x="10" y="{:.1f}" fill="#666" font-size="10">{}, limit {}</text>)-", top + 14,
        escaped(it_.plan.jobs[job].name), top + 28, escaped(it_.plan.jobs[job].terms.rules.name),
        bytes(it_.plan.jobs[job].terms.rules.limit));
    for (std::size_t i = 0; i < history.samples.size(); ++i) {
      const Sample& sample = history.samples[i];
      const Instant until = i + 1 < history.samples.size() ? history.samples[i + 1].at : it_.history.end;
      if (sample.state == Sample::State::absent || until.ns <= sample.at.ns) continue;
      const double left = x(sample.at), width = std::max(0.5, x(until) - left);
      band(sample, left, top, width);
      const double height = kLane * static_cast<double>(sample.held.count) / whole;
      add(R"-(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill="{}"><title>{} to {}: {}, holds {}{}</title></rect>)-",
          left, base - height, width, height, color(job), time_text(sample.at), time_text(until), to_text(sample.state),
          bytes(sample.held), sample.parked.count > 0 ? ", parked " + bytes(sample.parked) : "");
      const double parked = kLane * static_cast<double>(sample.parked.count) / whole;
      if (parked > 0)
        add(R"-(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill="url(#parked)"/>)-", left, base - height - parked,
            width, parked);
    }
    add(R"-(<line x1="{0:.1f}" y1="{2:.1f}" x2="{1:.1f}" y2="{2:.1f}" stroke="#999"/>)-", kLeft, kLeft + kWidth, base);
    for (const policy::Event& event : it_.history.events) {
      const bool refused = event.kind == policy::EventKind::denied || event.kind == policy::EventKind::turned_away;
      if (event.job != job || !refused) continue;
      add(R"-(<text x="{:.1f}" y="{:.1f}" fill="#c00" font-weight="bold">&#x2715;<title>{}: {}</title></text>)-", x(event.at) - 5,
          top + 12, time_text(event.at), escaped(explain(*event.verdict, it_.plan.terms.pool.unit)));
    }
  }

  void band(const Sample& sample, double left, double top, double width) {
    const char* fill = sample.state == Sample::State::waits      ? "#ffb3b3"
                       : sample.state == Sample::State::arriving ? "#e6e6e6"
                                                                 : nullptr;
    if (fill != nullptr)
      add(R"-(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill="{}"/>)-", left, top, width, kLane, fill);
  }

  /// All jobs above each other, against the capacity.
  void pool() {
    const double base = kTop + kPool;
    const auto capacity = static_cast<double>(std::max<std::uint64_t>(1, it_.plan.terms.pool.capacity.count));
    add(R"-(<text x="10" y="{:.1f}">pool</text><text x="10" y="{:.1f}" fill="#666" font-size="10">{}</text>)-", kTop + 14,
        kTop + 28, bytes(it_.plan.terms.pool.capacity));
    add(R"-(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill="none" stroke="#999"/>)-", kLeft, kTop, kWidth, kPool);
    std::map<Instant, std::map<std::uint32_t, std::uint64_t>> changes;
    for (std::uint32_t job = 0; job < it_.plan.jobs.size(); ++job)
      for (const Sample& sample : it_.history.jobs[job].samples) changes[sample.at][job] = sample.held.count;
    std::vector<std::uint64_t> held(it_.plan.jobs.size());
    for (auto at = changes.begin(); at != changes.end(); ++at) {
      for (const auto& [job, units] : at->second) held[job] = units;
      const Instant until = std::next(at) == changes.end() ? it_.history.end : std::next(at)->first;
      if (until.ns <= at->first.ns) continue;
      double y = base;
      for (std::uint32_t job = 0; job < held.size(); ++job) {
        if (held[job] == 0) continue;
        const double height = kPool * static_cast<double>(held[job]) / capacity;
        y -= height;
        add(R"-(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill="{}"><title>{}: {}</title></rect>)-", x(at->first),
            y, std::max(0.5, x(until) - x(at->first)), height, color(job), escaped(it_.plan.jobs[job].name),
            bytes(Units{held[job]}));
      }
    }
  }

  void axis() {
    const double y = height_ - 30;
    for (int i = 0; i <= 10; ++i) {
      const Instant at{end_ / 10 * static_cast<std::uint64_t>(i)};
      add(R"-(<line x1="{0:.1f}" y1="{1:.1f}" x2="{0:.1f}" y2="{2:.1f}" stroke="#ddd"/>)-", x(at), kTop, y - 14);
      add(R"-(<text x="{:.1f}" y="{:.1f}" text-anchor="middle" fill="#666">{}</text>)-", x(at), y, time_text(at));
    }
  }

  const Simulated& it_;
  std::uint64_t end_;
  double height_;
  std::string out_;
};

}  // namespace

std::string simulation_svg(const Simulated& simulated) {
  return Picture(simulated).text();
}

}  // namespace cupool::tool
