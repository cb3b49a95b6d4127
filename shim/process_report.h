// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cupool::shim {

/// Begins this process's record and sees to it that it is finished at exit: in the launcher's journal when there is one, else as a
/// report that the process writes by itself. Called once, when the session starts.
void begin_process_report();

}  // namespace cupool::shim
