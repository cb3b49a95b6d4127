// SPDX-License-Identifier: Apache-2.0
#include "policy/match.h"

#include <algorithm>

#include "policy/pattern.h"
#include "policy/problem.h"

namespace cupool::policy {
namespace {

std::string quoted(std::string_view text) {
  return std::string("\"").append(printable(text)) + '"';
}

std::string listed(const Patterns& patterns) {
  std::string out;
  for (const std::string& pattern : patterns) out += (out.empty() ? "" : " or ") + quoted(pattern);
  return out;
}

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

/// Compares facts with patterns condition by condition, until one does not hold.
class Comparison {
 public:
  /// Holds when any of `facts` fits any of the patterns; an empty list of patterns asks for nothing.
  void require(std::string_view what, const Patterns& patterns, const std::vector<std::string>& facts) {
    if (!result_.applies || patterns.empty()) return;
    for (const std::string& pattern : patterns) {
      for (const std::string& fact : facts) {
        if (fits(pattern, fact)) return add(std::string(what) + ' ' + quoted(fact) + " fits " + quoted(pattern));
      }
    }
    result_.applies = false;
    result_.reason = std::string(what) + ' ' + (facts.empty() ? "is unknown" : quoted(facts.front())) + ", not " + listed(patterns);
  }

  EntryMatch result() && {
    if (result_.applies && result_.reason.empty()) result_.reason = "it asks for nothing";
    return std::move(result_);
  }

 private:
  void add(const std::string& reason) { result_.reason += (result_.reason.empty() ? "" : ", ") + reason; }

  EntryMatch result_{true, {}};
};

std::vector<std::string> if_known(const std::string& fact) {
  return fact.empty() ? std::vector<std::string>{} : std::vector<std::string>{fact};
}

bool any_names(const Patterns& patterns) {
  const auto is_number = [](const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  return !std::all_of(patterns.begin(), patterns.end(), is_number);
}

}  // namespace

EntryMatch match_entry(const Match& match, const Identity& identity) {
  Comparison comparison;
  std::vector<std::string> commands = if_known(joined(identity.command));
  if (!identity.command.empty()) commands.emplace_back(file_name(identity.command.front()));
  if (!identity.program.empty()) commands.emplace_back(file_name(identity.program));
  comparison.require("command", match.command, commands);
  std::vector<std::string> users = if_known(identity.user);
  users.push_back(std::to_string(identity.uid));
  comparison.require("user", match.user, users);
  std::vector<std::string> groups;
  for (const auto& [number, name] : identity.groups) {
    if (!name.empty()) groups.push_back(name);
    groups.push_back(std::to_string(number));
  }
  comparison.require("group", match.group, groups);
  comparison.require("cgroup", match.cgroup, if_known(identity.cgroup));
  comparison.require("cwd", match.cwd, if_known(identity.cwd));
  for (const auto& [name, patterns] : match.env) {
    std::vector<std::string> values;
    for (const auto& [variable, value] : identity.env) {
      if (variable == name) values.push_back(value);
    }
    comparison.require("variable " + name, patterns, values);
  }
  return std::move(comparison).result();
}

JobMatch match_job(const Policy& policy, const Identity& identity) {
  JobMatch found;
  found.class_index = class_index(policy, policy.default_class).value_or(0);
  for (std::size_t i = 0; i < policy.jobs.size(); ++i) {
    EntryMatch entry = match_entry(policy.jobs[i].match, identity);
    if (!entry.applies) continue;
    found.entry = i;
    if (!policy.jobs[i].class_name.empty())
      found.class_index = class_index(policy, policy.jobs[i].class_name).value_or(found.class_index);
    found.reason = "entry " + std::to_string(i) + " of jobs: " + entry.reason;
    return found;
  }
  found.reason =
      policy.jobs.empty() ? "the default class: there are no entries in jobs" : "the default class: no entry of jobs applies";
  return found;
}

IdentityNeeds identity_needs(const Policy& policy) {
  IdentityNeeds needs;
  for (const JobRule& job : policy.jobs) {
    needs.user_name = needs.user_name || any_names(job.match.user);
    needs.group_names = needs.group_names || any_names(job.match.group);
  }
  return needs;
}

}  // namespace cupool::policy
