// SPDX-License-Identifier: Apache-2.0
#include "policy/simulate/history.h"

namespace cupool::policy {

const char* to_text(EventKind kind) {
  switch (kind) {
    case EventKind::arrived:
      return "arrives";
    case EventKind::admission_waits:
      return "waits to start";
    case EventKind::admitted:
      return "starts";
    case EventKind::turned_away:
      return "turned away";
    case EventKind::asked:
      return "asks";
    case EventKind::waits:
      return "waits";
    case EventKind::granted:
      return "granted";
    case EventKind::denied:
      return "denied";
    case EventKind::freed:
      return "frees";
    case EventKind::idle:
      return "idle";
    case EventKind::called_back:
      return "called back";
    case EventKind::gave_back:
      return "gives back";
    case EventKind::parked:
      return "parked";
    case EventKind::resumed:
      return "resumes";
    case EventKind::ended:
      return "ends";
    case EventKind::died:
      return "dies";
    case EventKind::drained:
      return "drained";
    case EventKind::foreign_use:
      return "foreign use";
  }
  return "?";
}

const char* to_text(Sample::State state) {
  switch (state) {
    case Sample::State::absent:
      return "absent";
    case Sample::State::arriving:
      return "arriving";
    case Sample::State::runs:
      return "runs";
    case Sample::State::waits:
      return "waits";
    case Sample::State::parked:
      return "parked";
  }
  return "?";
}

const char* to_text(Fate fate) {
  switch (fate) {
    case Fate::unfinished:
      return "unfinished";
    case Fate::finished:
      return "finished";
    case Fate::died:
      return "died";
    case Fate::gave_up:
      return "gave up";
    case Fate::turned_away:
      return "turned away";
  }
  return "?";
}

}  // namespace cupool::policy
