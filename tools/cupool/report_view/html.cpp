// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "tools/cupool/markup.h"
#include "tools/cupool/report_view/views.h"

namespace cupool::tool {
namespace {

constexpr double kWidth = 860, kHeight = 220, kLeft = 70, kBottom = 24;

constexpr const char* kStyle = R"(
body { font: 15px/1.45 system-ui, sans-serif; max-width: 960px; margin: 2em auto; padding: 0 1em; color: #1c2230; background: #fff }
h1 { font-size: 1.4em } h2 { font-size: 1.15em; margin-top: 2em; border-bottom: 1px solid #d8dce6 } h3 { font-size: 1em; margin-bottom: .3em }
table { border-collapse: collapse; font-variant-numeric: tabular-nums } td, th { padding: .15em .8em; text-align: right } th { color: #5b6478; font-weight: 600 }
td:first-child, th:first-child { text-align: left } .bad { color: #b3261e; font-weight: 600 } .good { color: #1b6e3c; font-weight: 600 }
svg { background: #f7f8fb; border: 1px solid #e3e6ee } svg text { font: 11px system-ui, sans-serif; fill: #5b6478 } code { background: #f0f2f7; padding: 0 .25em }
@media (prefers-color-scheme: dark) { body { background: #14171f; color: #dfe3ee } svg { background: #1b1f2a; border-color: #2b3040 } code { background: #232838 } }
)";

std::string escaped_text(const Json& object, const char* key) {
  return escaped(text(object, key));
}

/// Where a moment and an amount lie in the picture.
struct Scale {
  double ns, bytes;
  double x(std::uint64_t at) const { return kLeft + (kWidth - kLeft - 10) * (ns > 0 ? static_cast<double>(at) / ns : 0); }
  double y(std::uint64_t amount) const {
    return 10 + (kHeight - kBottom - 10) * (1 - (bytes > 0 ? static_cast<double>(amount) / bytes : 0));
  }
};

std::string line_of(const Json& series, const char* key, const char* color, const Scale& scale) {
  std::string points;
  double last_y = -1;
  for (const Json& sample : series) {
    const double x = scale.x(number(sample, "at_ns")), y = scale.y(number(sample, key));
    if (last_y >= 0) points += fmt::format("{:.1f},{:.1f} ", x, last_y);  // amounts change in steps
    points += fmt::format("{:.1f},{:.1f} ", x, y);
    last_y = y;
  }
  return fmt::format("<polyline fill='none' stroke='{}' stroke-width='1.6' points='{}'/>", color, points);
}

std::string memory_picture(const Json& gpu) {
  const Json& series = list(gpu, "series");
  if (series.size() < 2) return "";
  const std::uint64_t limit = number(gpu, "limit_bytes");
  std::uint64_t top = number(gpu, "peak_leased_bytes");
  for (const Json& sample : series) top = std::max({top, number(sample, "live_bytes"), number(sample, "leased_bytes")});
  const bool show_limit = limit != 0 && limit < 4 * top;
  if (show_limit) top = std::max(top, limit);
  const Scale scale{static_cast<double>(number(series.back(), "at_ns")), static_cast<double>(top) * 1.05};
  std::string svg = fmt::format("<svg role='img' aria-label='memory over time' width='{}' height='{}'>", kWidth, kHeight);
  for (int step = 0; step <= 4; ++step) {
    const std::uint64_t amount = top / 4 * static_cast<std::uint64_t>(step);
    svg += fmt::format("<line x1='{0}' x2='{1}' y1='{2:.1f}' y2='{2:.1f}' stroke='#8884' /><text x='4' y='{3:.1f}'>{4}</text>",
                       kLeft, kWidth - 10, scale.y(amount), scale.y(amount) + 4, to_text(Bytes{amount}));
  }
  if (show_limit) {
    svg += fmt::format("<line x1='{0}' x2='{1}' y1='{2:.1f}' y2='{2:.1f}' stroke='#b3261e' stroke-dasharray='5 4'/>", kLeft,
                       kWidth - 10, scale.y(limit));
  }
  svg += line_of(series, "leased_bytes", "#8b93a7", scale) + line_of(series, "live_bytes", "#2a62d8", scale);
  svg += fmt::format("<text x='{}' y='{}'>{:.2f} s</text></svg>", kWidth - 60, kHeight - 6, scale.ns / 1e9);
  return svg + "<p>Blue: live bytes. Grey: leased units. Dashed red: the limit.</p>";
}

std::string sizes_picture(const Json& gpu) {
  const Json& sizes = list(gpu, "sizes_asked");
  std::uint64_t largest = 0;
  for (const Json& bucket : sizes) largest = std::max(largest, number(bucket, "count"));
  if (largest == 0) return "";
  std::string svg = fmt::format("<h3>Sizes asked for</h3><svg role='img' aria-label='histogram of sizes' width='{}' height='{}'>",
                                kWidth, 20 * sizes.size() + 10);
  double y = 5;
  for (const Json& bucket : sizes) {
    const std::uint64_t count = number(bucket, "count");
    const double width = 640.0 * static_cast<double>(count) / static_cast<double>(largest);
    svg += fmt::format(
        "<text x='4' y='{0:.0f}'>&lt; {1}</text><rect x='90' y='{2:.0f}' width='{3:.1f}' height='14' fill='#2a62d8'/><text "
        "x='{4:.1f}' y='{0:.0f}'>{5}</text>",
        y + 12, to_text(bytes(bucket, "below_bytes")), y, width, 96 + width, count);
    y += 20;
  }
  return svg + "</svg>";
}

std::string device_part(const Json& gpu) {
  std::string out = fmt::format(
      "<h3>GPU {} {} "
      "<code>{}</code></h3><table><tr><th></th><th>current</th><th>peak</th><th>limit</th><th>allocations</th><th>refusals</"
      "th><th>waits</th></tr>",
      number(gpu, "index"), escaped_text(gpu, "name"), escaped_text(gpu, "uuid"));
  out += fmt::format("<tr><td>memory</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr></table>",
                     to_text(bytes(gpu, "current_bytes")), to_text(bytes(gpu, "peak_bytes")), to_text(bytes(gpu, "limit_bytes")),
                     number(gpu, "allocations"), number(part(gpu, "refusals"), "count"), number(part(gpu, "waits"), "count"));
  return out + memory_picture(gpu) + sizes_picture(gpu);
}

std::string refusals_part(const Json& refusals) {
  if (refusals.empty()) return "";
  std::string out = "<h3>Refused</h3><table><tr><th>call</th><th>asked</th><th>in use</th><th>rule</th><th>reason</th></tr>";
  for (const Json& refusal : refusals) {
    out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td><code>{}</code></td><td>{}</td></tr>",
                       escaped_text(refusal, "entry"), to_text(bytes(refusal, "asked_bytes")),
                       to_text(bytes(refusal, "live_bytes")), escaped_text(refusal, "rule"), escaped_text(refusal, "reason"));
  }
  return out + "</table>";
}

std::string calls_part(const Json& entries) {
  if (entries.empty()) return "";
  std::string out = "<h3>Calls</h3><table><tr><th>call</th><th>calls</th><th>failed</th><th>mean us</th><th>longest us</th></tr>";
  for (const Json& entry : entries) {
    const auto calls = static_cast<double>(std::max<std::uint64_t>(number(entry, "calls"), 1));
    out +=
        fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{:.2f}</td><td>{:.2f}</td></tr>", escaped_text(entry, "name"),
                    number(entry, "calls"), number(entry, "failures"), static_cast<double>(number(entry, "total_ns")) / calls / 1e3,
                    static_cast<double>(number(entry, "longest_ns")) / 1e3);
  }
  return out + "</table>";
}

std::string sites_part(const Json& sites) {
  if (sites.empty()) return "";
  std::string out = "<h3>Where memory was asked for (sampled)</h3><table><tr><th>stack</th><th>asked</th><th>still live</th></tr>";
  for (const Json& site : sites) {
    std::string stack;
    for (const Json& frame : list(site, "frames")) {
      const std::string function = text(frame, "function");
      stack +=
          (stack.empty() ? "" : "<br>") +
          (function.empty() ? fmt::format("+{:#x} ", number(frame, "offset")) + escaped_text(frame, "module") : escaped(function));
    }
    out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>", stack, to_text(bytes(site, "allocated_bytes")),
                       to_text(bytes(site, "live_bytes")));
  }
  return out + "</table>";
}

std::string governed_text(const Json& object) {
  return flag(object, "governed") ? "<span class='good'>governed</span>" : "<span class='bad'>not governed</span>";
}

std::string process_part(const Json& process) {
  std::string out = fmt::format(
      "<h2>Process {} <code>{}</code></h2><p>job <b>{}</b>, class <b>{}</b>, {}; limit applies per {}; ended: {}</p>",
      number(process, "pid"), escaped_text(process, "executable"), escaped_text(process, "job"), escaped_text(process, "class"),
      governed_text(process), escaped_text(process, "limit_applies_per"), escaped_text(process, "ended"));
  for (const Json& gpu : list(process, "gpus")) out += device_part(gpu);
  return out + refusals_part(list(process, "refusals")) + calls_part(list(process, "entry_points")) +
         sites_part(list(part(process, "call_sites"), "sites"));
}

}  // namespace

std::string to_html(const Json& report) {
  const Json& run = part(report, "run");
  std::string out =
      "<!doctype html><html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width'>";
  out += fmt::format("<title>cupool: {}</title><style>{}</style></head><body>", escaped_text(run, "command"), kStyle);
  out += fmt::format("<h1>cupool report: <code>{}</code></h1><p>run {} on {}, {} to {}; policy <code>{}</code>; {}</p>",
                     escaped_text(run, "command"), escaped_text(run, "id"), escaped_text(run, "host"), escaped_text(run, "start"),
                     escaped_text(run, "end"), escaped_text(part(report, "policy"), "path"), governed_text(report));
  if (list(report, "processes").empty()) out += "<p>No process of this run used CUDA.</p>";
  for (const Json& process : list(report, "processes")) out += process_part(process);
  for (const Json& warning : list(report, "warnings")) {
    if (warning.is_string()) out += "<p class='bad'>" + escaped(warning.get<std::string>()) + "</p>";
  }
  return out + "</body></html>\n";
}

}  // namespace cupool::tool
