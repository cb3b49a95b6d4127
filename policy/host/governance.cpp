// SPDX-License-Identifier: Apache-2.0
#include "policy/host/governance.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "policy/names.h"
#include "policy/problem.h"

namespace cupool::policy::host {
namespace {

std::optional<std::string> variable(const Environment& environment, std::string_view name) {
  for (const auto& [key, value] : environment) {
    if (key == name && !value.empty()) return value;
  }
  return std::nullopt;
}

/// XDG asks for absolute paths; a relative one is to be ignored.
std::string xdg_directory(const Environment& environment, std::string_view name, const char* below_home) {
  const auto own = variable(environment, name);
  if (own && own->front() == '/') return *own;
  const auto home = variable(environment, "HOME");
  return home && home->front() == '/' ? *home + below_home : std::string();
}

/// The rendering, without the newline at its end.
std::string rendered(const PolicySource& source) {
  std::string text = render(source.loaded.problems, source.file.path, source.file.text);
  if (!text.empty()) text.pop_back();
  return text;
}

class Search {
 public:
  Search(const Settings& settings, const std::optional<std::string>& named, const std::optional<std::string>& wanted_class,
         const Places& places)
      : settings_(settings), named_(named), places_(places) {
    out_.notes = settings.warnings;
    out_.layers.wanted_class = wanted_class ? wanted_class : settings.class_name;
  }

  Governance run() {
    if (!find_system() || !find_chosen()) return std::move(out_);
    arrange();
    return std::move(out_);
  }

 private:
  bool broken(std::string reason) {
    out_.state = Governance::State::broken;
    out_.reason = std::move(reason);
    return false;
  }

  FileStamp watch(const std::string& path) {
    const FileStamp stamp = stamp_of(path);
    out_.watched.emplace_back(path, stamp);
    return stamp;
  }

  /// Reads and checks one file; false, and the state broken, when it cannot be used.
  bool load_source(const std::string& path, std::unique_ptr<PolicySource>& source) {
    auto file = read_policy_file(path);
    if (!file) return broken("the policy cannot be used: " + file.error());
    source = std::make_unique<PolicySource>();
    source->file = std::move(*file);
    source->loaded = load(source->file.text);
    if (!source->loaded.policy) return broken("the policy cannot be used\n" + rendered(*source));
    if (source->loaded.problems.warnings() > 0) out_.notes.push_back(rendered(*source));
    return true;
  }

  bool find_system() {
    const std::string path = places_.system_directory + "/policy.json";
    if (!watch(path).exists) return true;
    if (!load_source(path, out_.system)) return false;
    const PolicyFile& file = out_.system->file;
    if (file.owner == 0 && !file.others_may_write) {
      out_.system->binds = true;
      return true;
    }
    if (file.owner == places_.user && !file.others_may_write) {
      out_.notes.push_back(path + " belongs to this user and therefore does not bind; to make it bind: chown root " + path);
      return true;
    }
    return broken("the policy cannot be used: " + path +
                  (file.owner == 0 ? ": others may write to it; run: chmod go-w " + path
                                   : ": belongs to user " + std::to_string(file.owner) + ", not to root; run: chown root " + path));
  }

  bool find_chosen() {
    const std::optional<std::string>& name = named_ ? named_ : settings_.policy;
    if (!name) {
      if (places_.user_directory.empty()) return true;
      const std::string path = places_.user_directory + "/policy.json";
      return !watch(path).exists || load_chosen(path);
    }
    const std::vector<std::string> candidates = candidates_for(*name, places_);
    for (const std::string& path : candidates) {
      if (watch(path).exists) return load_chosen(path);
    }
    std::string where;
    for (const std::string& path : candidates) where += (where.empty() ? "" : ", ") + printable(path, 4096);
    return broken(
        "the policy " + printable(*name) + (named_ ? " (--policy)" : " (CUPOOL_POLICY)") + " was not found" +
        (where.empty() ? ": a bare name has letters, digits, _, . and -; write a path with a /" : "; looked for " + where));
  }

  bool load_chosen(const std::string& path) {
    if (!load_source(path, out_.chosen)) return false;
    const PolicyFile& file = out_.chosen->file;
    out_.chosen->binds = file.owner == 0 && !file.others_may_write && places_.user != 0;
    return true;
  }

  void arrange() {
    // A system file that does not bind has been passed over by whatever the user chose.
    const bool system_governs = out_.system && (out_.system->binds || !out_.chosen);
    const auto named = [](const PolicySource& source) { return NamedPolicy{source.file.path, *source.loaded.policy}; };
    Layers& layers = out_.layers;
    if (system_governs) {
      layers.governing = named(*out_.system);
      layers.governing_binds = out_.system->binds;
      if (out_.chosen && out_.chosen->file.path != out_.system->file.path) layers.own = named(*out_.chosen);
    } else if (out_.chosen) {
      layers.governing = named(*out_.chosen);
      layers.governing_binds = out_.chosen->binds;
    } else {
      layers.governing = {"built-in", built_in()};
    }
    if (layers.governing_binds) {
      const std::string& name = layers.governing.name;
      if (settings_.wants_off) out_.notes.push_back("CUPOOL=off is ignored: the root-owned policy " + name + " applies");
      if (settings_.wants_open) out_.notes.push_back("CUPOOL_ON_ERROR=open is ignored: the root-owned policy " + name + " applies");
    } else if (settings_.wants_off) {
      out_.state = Governance::State::off;
      out_.reason = "CUPOOL=off";
    }
  }

  const Settings& settings_;
  const std::optional<std::string>& named_;
  const Places& places_;
  Governance out_;
};

}  // namespace

Places places_of(const Environment& environment) {
  Places places;
  places.user = geteuid();
  const std::string config = xdg_directory(environment, "XDG_CONFIG_HOME", "/.config");
  if (!config.empty()) places.user_directory = config + "/cupool";
  return places;
}

std::string state_directory_of(const Environment& environment) {
  return xdg_directory(environment, "XDG_STATE_HOME", "/.local/state");
}

std::vector<std::string> candidates_for(const std::string& name, const Places& places) {
  if (name.find('/') != std::string::npos || name.ends_with(".json")) return {name};
  std::vector<std::string> paths;
  if (!is_class_name(name)) return paths;
  if (!places.user_directory.empty()) paths.push_back(places.user_directory + "/policies/" + name + ".json");
  paths.push_back(places.system_directory + "/policies/" + name + ".json");
  return paths;
}

Governance read_governance(const Settings& settings, const std::optional<std::string>& named,
                           const std::optional<std::string>& wanted_class, const Places& places) {
  return Search(settings, named, wanted_class, places).run();
}

bool changed(const Governance& governance) {
  return std::any_of(governance.watched.begin(), governance.watched.end(),
                     [](const auto& watched) { return stamp_of(watched.first) != watched.second; });
}

std::optional<std::string> refresh(Governance& governance, const Settings& settings, const std::optional<std::string>& named,
                                   const std::optional<std::string>& wanted_class, const Places& places) {
  if (!changed(governance)) return std::nullopt;
  Governance renewed = read_governance(settings, named, wanted_class, places);
  if (renewed.state == Governance::State::broken && governance.state == Governance::State::governed) {
    // The stamps are taken over all the same: one message for each new state of the files, not one for each allocation.
    governance.watched = std::move(renewed.watched);
    return std::move(renewed.reason);
  }
  governance = std::move(renewed);
  return std::nullopt;
}

}  // namespace cupool::policy::host
