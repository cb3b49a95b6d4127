// SPDX-License-Identifier: Apache-2.0
#include "policy/host/settings.h"

#include <unistd.h>

#include <algorithm>

#include "policy/names.h"
#include "policy/problem.h"
#include "policy/suggest.h"

namespace cupool::policy::host {
namespace {

constexpr SettingSpec kSettings[] = {
#define CUPOOL_SETTING(variable, meaning) {variable, meaning},
#include "policy/host/settings.def"
#undef CUPOOL_SETTING
};

constexpr std::size_t kLongestValue = 4096;  // a path's longest; more is no setting but an accident or an attack

bool is_foreign(std::string_view name) {
  return name.starts_with("CUPOOL_SIM_") || name.starts_with("CUPOOL_TEST_");
}

class Reading {
 public:
  Settings run(const Environment& environment) {
    for (const auto& [name, value] : environment) {
      if (name != "CUPOOL" && !name.starts_with("CUPOOL_")) continue;
      if (is_foreign(name) || value.empty()) continue;
      if (!is_known(name)) {
        warn_unknown(name);
      } else if (!is_usable(value)) {
        warn(name, "is longer than 4096 bytes or holds control characters");
      } else {
        take(name, value);
      }
    }
    return std::move(settings_);
  }

 private:
  static bool is_known(std::string_view name) {
    return std::any_of(std::begin(kSettings), std::end(kSettings), [&](const SettingSpec& spec) { return spec.variable == name; });
  }

  static bool is_usable(std::string_view value) {
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
    return value.size() <= kLongestValue && std::none_of(value.begin(), value.end(), is_control);
  }

  void warn(std::string_view name, const std::string& why) {
    settings_.warnings.push_back(printable(name) + ' ' + why + " and is ignored");
  }

  void warn_unknown(std::string_view name) {
    std::vector<std::string_view> names;
    for (const SettingSpec& spec : kSettings) names.push_back(spec.variable);
    settings_.warnings.push_back(printable(name) + " is unknown and ignored" + suggestion(name, names, "known are"));
  }

  void take(std::string_view name, const std::string& value) {
    if (name == "CUPOOL") {
      settings_.wants_off = value == "off";
      if (value != "off" && value != "on") warn(name, "is \"" + printable(value) + "\", neither \"off\" nor \"on\",");
    } else if (name == "CUPOOL_ON_ERROR") {
      settings_.wants_open = value == "open";
      if (value != "open" && value != "closed") warn(name, "is \"" + printable(value) + "\", neither \"open\" nor \"closed\",");
    } else if (name == "CUPOOL_LOG") {
      settings_.log = log::level_from_text(value);
      if (!settings_.log) warn(name, "is \"" + printable(value) + "\", none of off, error, warning, info, debug,");
    } else if (name == "CUPOOL_JOB") {
      if (is_class_name(value))
        settings_.job = value;
      else
        warn(name, "is \"" + printable(value) + "\", which cannot name a job (1 to 64 letters, digits, _, . or -),");
    } else if (name == "CUPOOL_POLICY") {
      settings_.policy = value;
    } else if (name == "CUPOOL_CLASS") {
      settings_.class_name = value;
    } else if (name == "CUPOOL_REPORT") {
      settings_.report = value;
    }
  }

  Settings settings_;
};

}  // namespace

std::span<const SettingSpec> setting_specs() {
  return kSettings;
}

Environment process_environment() {
  Environment environment;
  if (environ == nullptr) return environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

Settings read_settings(const Environment& environment) {
  return Reading().run(environment);
}

}  // namespace cupool::policy::host
