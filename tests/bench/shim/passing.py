#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the shim adds: to a call that passes it, to the start of a program without CUDA, to the first CUDA call. One JSON object.

Figures of one run are compared with each other only. Usage: passing.py BUILD
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(sys.argv[1]).resolve()
PRELOAD = str(BUILD / "shim/libcupool.so")
CLEAN = {key: value for key, value in os.environ.items() if not key.startswith(("LD_", "CUPOOL"))}


def per_call(program, driver):
    figures = {}
    for preload in ({}, {"LD_PRELOAD": PRELOAD}):
        output = subprocess.run([program], env={**CLEAN, "LD_LIBRARY_PATH": driver, **preload}, capture_output=True, text=True, check=True)
        for line in output.stdout.splitlines():
            name, ns = line.split()
            figures.setdefault(name, []).append(float(ns))
    return {name: {"bare_ns": bare, "preloaded_ns": governed, "added_ns": round(governed - bare, 2)} for name, (bare, governed) in figures.items()}


def one_run_ms(command, extra):
    start = time.perf_counter()
    subprocess.run(command, env={**CLEAN, **extra}, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - start) * 1000


def difference_ms(command, extra, runs):
    """Median of the differences of neighbouring runs, bare and preloaded in turn."""
    pairs = [(one_run_ms(command, extra), one_run_ms(command, {**extra, "LD_PRELOAD": PRELOAD})) for _ in range(runs)]
    return {"bare_ms": round(statistics.median(bare for bare, _ in pairs), 3),
            "added_ms": round(statistics.median(governed - bare for bare, governed in pairs), 3)}


def main():
    with tempfile.TemporaryDirectory() as driver:
        (pathlib.Path(driver) / "libcuda.so.1").symlink_to(BUILD / "tests/support/fake_cuda/libfake_cuda_13000.so")
        result = {
            "per_call": per_call(str(BUILD / "tests/bench/passing"), driver),
            "program_without_cuda": difference_ms(["/bin/true"], {}, 300),
            "program_whose_first_call_attaches": difference_ms([str(BUILD / "tests/shim/preload/guest_late"), "alloc"],
                                                               {"LD_LIBRARY_PATH": driver}, 100),
        }
    print(json.dumps(result, indent=2))


main()
