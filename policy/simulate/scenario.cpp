// SPDX-License-Identifier: Apache-2.0
#include "policy/simulate/scenario.h"

#include <algorithm>
#include <initializer_list>

#include "policy/names.h"
#include "policy/suggest.h"

namespace cupool::policy {
namespace {

constexpr std::uint64_t kLargest = std::uint64_t{1} << 53;

/// Reads values and says what is wrong with them. Each reader returns nothing after an error.
class Values {
 public:
  Values(const Document& document, Problems& problems) : document_(document), problems_(problems) {}

  void error(const Node& node, std::string text) { add(node.where, node, std::move(text)); }

  /// Calls `member` for each member whose name is in `names`; any other is an error.
  template <class Member>
  void members(const Node& node, std::string_view what, std::initializer_list<std::string_view> names, Member&& member) {
    if (node.kind != NodeKind::object) return error(node, std::string(what) + " is an object");
    for (const Node* child = document_.first_child(node); child != nullptr; child = document_.next(*child)) {
      const bool known = std::find(names.begin(), names.end(), child->key) != names.end();
      if (known)
        member(*child);
      else if (!child->key.starts_with("x-"))
        add(child->key_where, *child,
            "unknown key" + suggestion(child->key, {names.begin(), names.end()}, std::string(what) + " has"));
    }
  }

  template <class Entry>
  void entries(const Node& node, std::string_view what, Entry&& entry) {
    if (node.kind != NodeKind::array) return error(node, std::string(what) + " is a list");
    for (const Node* child = document_.first_child(node); child != nullptr; child = document_.next(*child)) entry(*child);
  }

  std::optional<std::string> text(const Node& node) {
    if (node.kind == NodeKind::string) return node.text;
    error(node, document_.shown(node) + " is not a text in double quotes");
    return std::nullopt;
  }

  std::optional<bool> boolean(const Node& node) {
    if (node.kind == NodeKind::boolean) return node.boolean;
    error(node, document_.shown(node) + " is not true or false");
    return std::nullopt;
  }

  std::optional<std::uint64_t> integer(const Node& node, std::uint64_t low, std::uint64_t high) {
    if (node.kind == NodeKind::integer && node.integer >= low && node.integer <= high) return node.integer;
    error(node, document_.shown(node) + " is not a whole number from " + std::to_string(low) + " to " + std::to_string(high));
    return std::nullopt;
  }

  std::optional<Duration> duration(const Node& node) {
    const auto written = text_or(node, R"(a duration such as "30s" or "1h30m")");
    if (!written) return std::nullopt;
    return take(node, read_duration(*written));
  }

  std::optional<Instant> instant(const Node& node) {
    const auto span = duration(node);
    return span ? std::optional(Instant{span->ns}) : std::nullopt;
  }

  std::optional<Size> size(const Node& node) {
    if (node.kind == NodeKind::integer && node.integer <= kLargest) return Size::bytes(Bytes{node.integer});
    const auto written = text_or(node, R"(a size such as "12GiB", "40%" or "12u")");
    if (!written) return std::nullopt;
    const auto value = take(node, read_size(*written));
    if (!value || value->kind != Size::Kind::infinity) return value;
    error(node, R"("infinity" is no amount that a job could hold; write a size such as "12GiB")");
    return std::nullopt;
  }

  std::optional<Amount> amount(const Node& node) {
    const auto value = size(node);
    if (!value) return std::nullopt;
    return Amount{*value, false, node.where, document_.pointer(node)};
  }

  std::string pointer(const Node& node) const { return document_.pointer(node); }
  const Document& document() const { return document_; }

 private:
  void add(Stretch where, const Node& node, std::string text) {
    problems_.add(Severity::error, where, document_.pointer(node), std::move(text));
  }

  std::optional<std::string> text_or(const Node& node, std::string_view wanted) {
    if (node.kind == NodeKind::string) return node.text;
    error(node, document_.shown(node) + " is not " + std::string(wanted));
    return std::nullopt;
  }

  template <class T>
  std::optional<T> take(const Node& node, Read<T> read) {
    if (!read.value) error(node, std::move(read.reason));
    return read.value;
  }

  const Document& document_;
  Problems& problems_;
};

/// `target = value` when there is one.
template <class T, class U>
void assign(T& target, std::optional<U> value) {
  if (value) target = std::move(*value);
}

class ScenarioDecoder {
 public:
  ScenarioDecoder(const Document& document, Problems& problems) : values_(document, problems) {}

  Scenario run() {
    const Node& root = values_.document().root();
    values_.members(root, "a scenario",
                    {"version", "policy", "device", "cores", "give_back", "drain", "end", "jobs", "foreign", "expect"},
                    [this](const Node& node) { read_member(node); });
    if (root.kind != NodeKind::object) return std::move(scenario_);
    if (values_.document().member(root, "version") == nullptr) values_.error(root, R"(has no version; write "version": 1)");
    if (values_.document().member(root, "jobs") == nullptr)
      values_.error(root, R"(has no jobs; write "jobs": [{"name": "train", "steps": [{"ask": "4GiB"}, {"work": "10s"}]}])");
    return std::move(scenario_);
  }

 private:
  void read_member(const Node& node) {
    if (node.key == "version") {
      values_.integer(node, 1, 1);
    } else if (node.key == "policy") {
      if (node.kind == NodeKind::object)
        scenario_.policy_text = node.where;
      else
        scenario_.policy_file = values_.text(node);
    } else if (node.key == "device") {
      read_device(node);
    } else if (node.key == "cores") {
      assign(scenario_.machine.physical_cores, values_.integer(node, 1, 65536));
    } else if (node.key == "give_back") {
      assign(scenario_.give_back, values_.duration(node));
    } else if (node.key == "drain") {
      assign(scenario_.drain, values_.duration(node));
    } else if (node.key == "end") {
      assign(scenario_.end, values_.instant(node));
    } else if (node.key == "jobs") {
      values_.entries(node, "jobs", [this](const Node& entry) { read_job(entry); });
    } else if (node.key == "foreign") {
      values_.entries(node, "foreign", [this](const Node& entry) { read_foreign(entry); });
    } else {
      values_.entries(node, "expect", [this](const Node& entry) { read_expectation(entry); });
    }
  }

  void read_device(const Node& node) {
    values_.members(node, "a device", {"total", "uuid", "index"}, [this](const Node& member) {
      if (member.key == "index") return assign(scenario_.device.index, values_.integer(member, 0, 9999));
      if (member.key == "uuid") return read_uuid(member);
      const auto total = values_.size(member);
      if (total && total->kind != Size::Kind::bytes) values_.error(member, R"(the size of a device is in bytes: "80GiB")");
      if (total && total->kind == Size::Kind::bytes) scenario_.device.total = Bytes{total->value};
    });
  }

  void read_uuid(const Node& node) {
    const auto uuid = values_.text(node);
    if (!uuid) return;
    if (is_device_selector(*uuid) && uuid->size() > 4)
      scenario_.device.uuid = *uuid;
    else
      values_.error(node, R"(not a UUID; write for example "GPU-5d1e")");
  }

  void read_foreign(const Node& node) {
    std::pair<Instant, Bytes> use{};
    values_.members(node, "foreign use", {"at", "holds"}, [&](const Node& member) {
      if (member.key == "at") return assign(use.first, values_.instant(member));
      const auto size = values_.size(member);
      if (size && size->kind == Size::Kind::units) values_.error(member, R"(the use of others is in bytes: "10GiB")");
      if (size) use.second = size->bytes_in(scenario_.device.total, Bytes{0});
    });
    scenario_.foreign.push_back(use);
  }

  void read_job(const Node& node) {
    ScenarioJob job;
    job.pointer = values_.pointer(node);
    job.identity.uid = UINT32_MAX;  // no user of this machine
    values_.members(
        node, "a job",
        {"name", "at", "count", "every", "repeat", "class", "command", "user", "group", "cgroup", "cwd", "env", "steps"},
        [&](const Node& member) { read_job_member(member, job); });
    if (node.kind == NodeKind::object && job.name.empty() && values_.document().member(node, "name") == nullptr)
      values_.error(node, R"(the job has no name; write "name": "train")");
    planned_ += job.count;
    if (planned_ > kMostPlannedJobs && planned_ - job.count <= kMostPlannedJobs)
      values_.error(node, "with this job there are more than " + std::to_string(kMostPlannedJobs) + " in all; lower count");
    scenario_.jobs.push_back(std::move(job));
  }

  void read_job_member(const Node& node, ScenarioJob& job) {
    if (node.key == "name") return read_name(node, job);
    if (node.key == "at") return assign(job.arrives, values_.instant(node));
    if (node.key == "count") return assign(job.count, values_.integer(node, 1, kMostPlannedJobs));
    if (node.key == "every") return assign(job.every, values_.duration(node));
    if (node.key == "repeat") return assign(job.repeat, values_.integer(node, 1, 1'000'000));
    if (node.key == "class") {
      job.class_name = values_.text(node);
      job.class_where = node.where;
      return;
    }
    if (node.key == "command") return read_command(node, job.identity);
    if (node.key == "user") return assign(job.identity.user, values_.text(node));
    if (node.key == "group") {
      if (auto group = values_.text(node)) job.identity.groups.emplace_back(UINT32_MAX, std::move(*group));
      return;
    }
    if (node.key == "cgroup") return assign(job.identity.cgroup, values_.text(node));
    if (node.key == "cwd") return assign(job.identity.cwd, values_.text(node));
    if (node.key == "env") return read_environment(node, job.identity);
    values_.entries(node, "steps", [&](const Node& entry) { read_step(entry, job); });
  }

  void read_name(const Node& node, ScenarioJob& job) {
    assign(job.name, values_.text(node));
    if (node.kind != NodeKind::string) return;
    if (!is_class_name(job.name)) values_.error(node, "a name has 1 to 64 letters, digits, _, . or -");
    const auto same = [&](const ScenarioJob& other) { return other.name == job.name; };
    if (std::any_of(scenario_.jobs.begin(), scenario_.jobs.end(), same))
      values_.error(node, "another job has this name; give it its own, or use count");
  }

  void read_command(const Node& node, Identity& identity) {
    const auto command = values_.text(node);
    if (!command) return;
    for (std::size_t begin = 0; begin < command->size();) {
      const std::size_t end = std::min(command->find(' ', begin), command->size());
      if (end > begin) identity.command.push_back(command->substr(begin, end - begin));
      begin = end + 1;
    }
    if (!identity.command.empty()) identity.program = identity.command.front();
  }

  void read_environment(const Node& node, Identity& identity) {
    if (node.kind != NodeKind::object) return values_.error(node, R"(env is an object such as {"SLURM_JOB_PARTITION": "prod"})");
    const Document& document = values_.document();
    for (const Node* child = document.first_child(node); child != nullptr; child = document.next(*child)) {
      if (!is_variable_name(child->key)) values_.error(*child, "not the name of a variable");
      if (auto value = values_.text(*child)) identity.env.emplace_back(child->key, std::move(*value));
    }
  }

  void read_step(const Node& node, ScenarioJob& job) {
    ScenarioStep step;
    const Node* verb = nullptr;
    bool has_options = false;
    values_.members(node, "a step", {"ask", "free", "idle", "work", "die", "deadline", "may_wait", "on_denied"},
                    [&](const Node& member) {
                      if (member.key == "deadline" || member.key == "may_wait" || member.key == "on_denied") {
                        has_options = true;
                        return read_ask_option(member, step.step);
                      }
                      if (verb != nullptr)
                        return values_.error(member, "a step does one thing; begin another for \"" + member.key + '"');
                      verb = &member;
                      read_verb(member, step);
                    });
    if (node.kind != NodeKind::object) return;
    if (verb == nullptr) return values_.error(node, "the step does nothing; write ask, free, idle, work or die");
    if (has_options && step.step.kind != Step::Kind::ask)
      values_.error(node, "deadline, may_wait and on_denied belong to a step that asks");
    job.steps.push_back(std::move(step));
  }

  void read_verb(const Node& node, ScenarioStep& step) {
    if (node.key == "work") {
      step.step.kind = Step::Kind::work;
      return assign(step.step.span, values_.duration(node));
    }
    if (node.key == "die") {
      step.step.kind = Step::Kind::die;
      if (values_.boolean(node) == false) values_.error(node, "leave the step out instead");
      return;
    }
    step.step.kind = node.key == "ask" ? Step::Kind::ask : node.key == "free" ? Step::Kind::free : Step::Kind::idle;
    if (step.step.kind != Step::Kind::ask && node.kind == NodeKind::string && node.text == "all") {
      step.step.all = step.amount.all = true;
      return;
    }
    assign(step.amount, values_.amount(node));
  }

  void read_ask_option(const Node& node, Step& step) {
    if (node.key == "deadline") {
      step.deadline = values_.duration(node);
    } else if (node.key == "may_wait") {
      if (values_.boolean(node) == false) step.patience = Patience::cannot_wait;
    } else {
      const auto word = values_.text(node);
      if (word == "end")
        step.on_denied = OnDenied::end;
      else if (word == "die")
        step.on_denied = OnDenied::die;
      else if (word == "go_on")
        step.on_denied = OnDenied::go_on;
      else if (word)
        values_.error(node, "not one of the words" + suggestion(*word, {"end", "die", "go_on"}, "the words are"));
    }
  }

  void read_expectation(const Node& node) {
    ScenarioExpectation out;
    Expectation& expected = out.expected;
    values_.members(
        node, "an expectation",
        {"job", "finishes", "denied", "waits_at_most", "starts_within", "holds_at_least", "holds_at_most", "parked_at_most"},
        [&](const Node& member) {
          if (member.key == "job") return assign(expected.job, values_.text(member));
          if (member.key == "finishes") return void(expected.finishes = values_.boolean(member));
          if (member.key == "denied") return void(expected.denied = values_.integer(member, 0, kLargest));
          if (member.key == "waits_at_most") return void(expected.waits_at_most = values_.duration(member));
          if (member.key == "starts_within") return void(expected.starts_within = values_.duration(member));
          if (member.key == "parked_at_most") return void(expected.parked_at_most = values_.duration(member));
          (member.key == "holds_at_least" ? out.holds_at_least : out.holds_at_most) = values_.amount(member);
        });
    scenario_.expectations.push_back(std::move(out));
  }

  Values values_;
  Scenario scenario_;
  std::uint64_t planned_ = 0;
};

}  // namespace

Scenario decode_scenario(const Document& document, Problems& problems) {
  return ScenarioDecoder(document, problems).run();
}

}  // namespace cupool::policy
