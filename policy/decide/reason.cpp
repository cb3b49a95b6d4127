// SPDX-License-Identifier: Apache-2.0
#include "policy/decide/reason.h"

namespace cupool::policy {
namespace {

/// A rule's sentence from the figures of its verdict.
class Sentence {
 public:
  Sentence(const Verdict& verdict, Bytes unit) : verdict_(verdict), figures_(verdict.figures), unit_(unit) {}

  std::string text() const {
    if (verdict_.outcome == Outcome::grant) return "granted: " + grant();
    std::string out = verdict_.outcome == Outcome::wait ? "waits at place " + std::to_string(verdict_.rank + 1) + ": " : "denied: ";
    out += obstacle();
    switch (verdict_.ending) {
      case Ending::none:
      case Ending::by_rule:
        break;
      case Ending::on_full:
        out += "; its policy denies instead of waiting (on_full)";
        break;
      case Ending::cannot_wait:
        out += "; the call may not wait";
        break;
      case Ending::deadline:
        out += "; it has waited as long as it may (max_wait, or its own deadline)";
        break;
    }
    return out;
  }

 private:
  std::string bytes(Units units) const {
    const auto total = checked_mul(units.count, unit_.count);
    return total ? cupool::to_text(Bytes{*total}) : std::to_string(units.count) + " units";
  }
  std::string asks() const { return "asks for " + bytes(figures_.asked); }
  std::string free() const { return bytes(figures_.free) + " of " + bytes(figures_.capacity) + " free"; }

  std::string grant() const {
    switch (verdict_.rule) {
      case Rule::nothing_asked:
        return "nothing was asked";
      case Rule::guarantee:
        return bytes(verdict_.granted) + " within the job's guarantee of " + bytes(figures_.guarantee);
      case Rule::critical_reserve:
        return bytes(verdict_.granted) + " out of the reserve for critical classes";
      case Rule::admitted:
        return "the job may start";
      default:
        return bytes(verdict_.granted) + " borrowed";
    }
  }

  std::string obstacle() const {
    switch (verdict_.rule) {
      case Rule::turn:
        return "there is room, but " + std::to_string(verdict_.rank) + " of better rank come first";
      case Rule::called_back:
        if (figures_.called_back.count == 0)
          return asks() + "; what is being called back for others before it will do for it as well";
        return asks() + "; " + bytes(figures_.called_back) + " are being called back from borrowers of lower rank";
      case Rule::critical_reserve:
        return asks() + " with " + free() + ", but " + bytes(figures_.kept_critical) +
               " are kept for critical classes; free some first, or lower critical_reserve";
      case Rule::reservations:
        return asks() + " with " + free() + ", but " + bytes(figures_.kept_reserved) + " are set aside for jobs with a reservation";
      case Rule::promised:
        return asks() + " with " + free() + ", but " + bytes(figures_.kept_promised) +
               " are guaranteed to others and this class does not give back what it borrows; \"on_revoke\": \"park\" lets it "
               "borrow them";
      case Rule::draining:
        return asks() + " with " + free() + "; " + bytes(figures_.draining) +
               " of ended jobs are still coming back from the driver";
      case Rule::pool_full:
        return asks() + " with " + free() +
               (figures_.kept_critical.count > 0 ? " (" + bytes(figures_.kept_critical) + " kept for critical classes)" : "") +
               "; free some first, or lower the limits of others";
      case Rule::max_jobs:
        return std::to_string(figures_.jobs) + " jobs are alive and " + std::to_string(figures_.max_jobs) +
               " may be; wait for one to end, or raise admission.max_jobs";
      case Rule::zone_full:
        return "its guarantee of " + bytes(figures_.guarantee) + " beside " + bytes(figures_.kept_promised) +
               " guaranteed to live jobs does not fit in the static zone; wait for one to end, or raise static_zone";
      case Rule::not_coverable:
        return "its guarantee of " + bytes(figures_.guarantee) + " could not be kept: only " + bytes(figures_.usable) +
               " are free or can be called back; \"on_revoke\": \"park\" on the borrowing classes makes more of it available";
      default:
        return for_good();
    }
  }

  std::string for_good() const {
    switch (verdict_.rule) {
      case Rule::over_limit:
        return asks() + " beside " + bytes(figures_.held) + " held, above the job's limit of " + bytes(figures_.limit) +
               "; free some first, or raise the limit";
      case Rule::over_capacity:
        return asks() + " beside " + bytes(figures_.held) + " held, more than the pool could ever give to this class" +
               (figures_.kept_critical.count > 0 ? " beside the reserve for critical classes" : "") +
               "; use less, or raise the pool's capacity";
      case Rule::over_zone:
        return "its guarantee of " + bytes(figures_.guarantee) + " is larger than the static zone; lower it, or raise static_zone";
      case Rule::bad_account:
        return "the account holds more than " + std::to_string(kMaxJobs) + " jobs or " + std::to_string(kMaxRequests) + " requests";
      default:
        return "the request names no job of the account";
    }
  }

  const Verdict& verdict_;
  const Figures& figures_;
  Bytes unit_;
};

}  // namespace

const char* to_text(Outcome outcome) {
  switch (outcome) {
    case Outcome::grant:
      return "grant";
    case Outcome::wait:
      return "wait";
    case Outcome::deny:
      return "deny";
  }
  return "?";
}

const char* to_text(Rule rule) {
  switch (rule) {
    case Rule::nothing_asked:
      return "nothing_asked";
    case Rule::guarantee:
      return "guarantee";
    case Rule::borrow:
      return "borrow";
    case Rule::critical_reserve:
      return "critical_reserve";
    case Rule::admitted:
      return "admitted";
    case Rule::turn:
      return "turn";
    case Rule::called_back:
      return "called_back";
    case Rule::reservations:
      return "reservations";
    case Rule::promised:
      return "promised";
    case Rule::draining:
      return "draining";
    case Rule::pool_full:
      return "pool_full";
    case Rule::max_jobs:
      return "max_jobs";
    case Rule::zone_full:
      return "zone_full";
    case Rule::not_coverable:
      return "not_coverable";
    case Rule::over_limit:
      return "over_limit";
    case Rule::over_capacity:
      return "over_capacity";
    case Rule::over_zone:
      return "over_zone";
    case Rule::bad_request:
      return "bad_request";
    case Rule::bad_account:
      return "bad_account";
  }
  return "?";
}

const char* to_text(Ending ending) {
  switch (ending) {
    case Ending::none:
      return "none";
    case Ending::by_rule:
      return "by_rule";
    case Ending::on_full:
      return "on_full";
    case Ending::cannot_wait:
      return "cannot_wait";
    case Ending::deadline:
      return "deadline";
  }
  return "?";
}

std::string explain(const Verdict& verdict, Bytes unit) {
  return Sentence(verdict, unit).text();
}

}  // namespace cupool::policy
