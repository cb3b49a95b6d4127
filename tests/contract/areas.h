// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/contract/driver.h"
#include "tests/contract/observer.h"

namespace contract {

// Each observes one part of the driver's surface and leaves the process as it found it. All but the first two run with a current
// context on device 0.
void observe_before_initialisation(const Driver&, Observer&);
void observe_devices_and_lookup(const Driver&, Observer&);
void observe_contexts(const Driver&, Observer&);
void observe_memory(const Driver&, Observer&);
void observe_copies(const Driver&, Observer&);
void observe_host_memory(const Driver&, Observer&);
void observe_pools(const Driver&, Observer&);
void observe_virtual_memory(const Driver&, Observer&);
void observe_streams(const Driver&, Observer&);
void observe_capture(const Driver&, Observer&);
void observe_graphs(const Driver&, Observer&);
void observe_modules(const Driver&, Observer&);
void observe_faults(const Driver&, Observer&);
/// `self` is the program's own file: it is started again as the peer process.
void observe_sharing(const Driver&, Observer&, const char* self, const char* route);

/// The peer's part of observe_sharing: reads handles from standard input, answers on standard output. Returns its exit status.
int run_sharing_peer(const Driver&);

/// A small PTX program: `fill(pointer, value, count)` writes `value` to `count` words;
/// `poke(address)` writes one word; and a global array `table` of 16 words, initialised with 1, 2, 3.
extern const char kKernels[];

}  // namespace contract
