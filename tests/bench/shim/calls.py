#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""calls.py BUILD: what an allocation, the first call and the preload itself cost, bare and preloaded in turn, as JSON."""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

build = pathlib.Path(sys.argv[1]).resolve()
program, preload = build / "tests/bench/shim_calls", build / "shim/libcupool.so"
simgpu = build / "tools/simgpu"


def once(what, driver, preloaded, folder):
    env = {k: v for k, v in os.environ.items() if not k.startswith("CUPOOL")}
    env.update(LD_LIBRARY_PATH=str(driver), SIMGPU_DIR=folder, SIMGPU_MEMORY="2GiB", CUPOOL_REPORT=folder + "/r.json", CUPOOL_LOG="off")
    if preloaded:
        env["LD_PRELOAD"] = str(preload)
    done = subprocess.run([program, what], env=env, capture_output=True, text=True, timeout=100)
    return float(done.stdout)


def measure(what, driver):
    with tempfile.TemporaryDirectory() as folder:
        values = {False: [], True: []}
        for _ in range(5):
            for preloaded in (False, True):
                values[preloaded].append(once(what, driver, preloaded, folder))
    return statistics.median(values[False]), statistics.median(values[True])


def start_up():
    """Milliseconds that the preload adds to a program without CUDA: medians of many starts, in turn."""
    import time
    taken = {False: [], True: []}
    for _ in range(60):
        for preloaded in (False, True):
            env = {**os.environ, **({"LD_PRELOAD": str(preload)} if preloaded else {})}
            start = time.perf_counter()
            subprocess.run(["/bin/true"], env=env)
            taken[preloaded].append((time.perf_counter() - start) * 1000)
    return statistics.median(taken[False]), statistics.median(taken[True])


pair, attach, start = measure("pairs", simgpu), measure("attach", simgpu), start_up()
print(json.dumps({
    "pair_ns": {"bare_simgpu": pair[0], "preloaded": pair[1]},
    "first_call_ms": {"bare": round(attach[0] / 1e6, 2), "preloaded": round(attach[1] / 1e6, 2)},
    "program_without_cuda_ms": {"bare": round(start[0], 3), "preloaded": round(start[1], 3), "added": round(start[1] - start[0], 3)},
    "preload_bytes": (build / "shim/libcupool.so").stat().st_size,
}, indent=2))
