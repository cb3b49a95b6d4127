// SPDX-License-Identifier: Apache-2.0
#include "shim/governor.h"

#include <unistd.h>

#include "policy/base/log.h"
#include "policy/encode.h"
#include "policy/host/identity.h"

namespace cupool::shim {
namespace {

using policy::host::Governance;

Stance stance_of(const Governance& governance, const policy::host::Settings& settings) {
  switch (governance.state) {
    case Governance::State::governed:
      return Stance::governed;
    case Governance::State::off:
      return Stance::off;
    case Governance::State::broken:
      break;
  }
  // A root-owned policy cannot be escaped by breaking things: where one is installed, "open" is not honoured.
  const bool bound = governance.system != nullptr && governance.system->binds;
  return settings.wants_open && !bound ? Stance::open : Stance::closed;
}

policy::IdentityNeeds needs_of(const policy::Layers& layers) {
  policy::IdentityNeeds needs = policy::identity_needs(layers.governing.policy);
  if (layers.own) {
    const policy::IdentityNeeds own = policy::identity_needs(layers.own->policy);
    needs.user_name |= own.user_name;
    needs.group_names |= own.group_names;
  }
  return needs;
}

}  // namespace

Governor::Governor() noexcept {
  try {
    read();
  } catch (...) {
    stance_ = Stance::closed;
    reason_ = "no memory";  // short: must not allocate
  }
}

void Governor::read() {
  environment_ = policy::host::process_environment();
  settings_ = policy::host::read_settings(environment_);
  if (settings_.log) log::set_level(*settings_.log);
  governance_ = policy::host::read_governance(settings_, std::nullopt, std::nullopt, policy::host::places_of(environment_));
  stance_ = stance_of(governance_, settings_);
  reason_ = governance_.reason;
  job_ = settings_.job.value_or("process-" + std::to_string(getpid()));
  for (const std::string& warning : settings_.warnings) log::write(log::Level::warning, warning);
  for (const std::string& note : governance_.notes) log::write(log::Level::info, note);
  if (stance_ != Stance::governed) return;
  identity_ = policy::host::read_identity(environment_, needs_of(governance_.layers));
  machine_ = policy::host::read_machine();
}

policy::Composed Governor::compose(const policy::DeviceFacts& device) const {
  return policy::compose(governance_.layers, identity_, device, machine_);
}

Governor::Membership Governor::membership() const {
  if (stance_ != Stance::governed) return {"", reason_};
  // Any device will do: classes are the same on all.
  const policy::Composed composed = compose({"", 0, Bytes{std::uint64_t{1} << 40}});
  return {composed.job.rules.name, composed.match.reason};
}

policy::ReportRules Governor::report_rules() const {
  return governance_.layers.own ? governance_.layers.own->policy.report : governance_.layers.governing.policy.report;
}

std::string Governor::effective_policy() const {
  return policy::encode_document(governance_.layers.governing.policy);
}

std::optional<std::string> Governor::variable(std::string_view name) const {
  for (const auto& [variable, value] : environment_) {
    if (variable == name) return value;
  }
  return std::nullopt;
}

std::string Governor::policy_name() const {
  if (governance_.chosen) return governance_.chosen->file.path;
  if (governance_.system) return governance_.system->file.path;
  return "built-in default";
}

}  // namespace cupool::shim
