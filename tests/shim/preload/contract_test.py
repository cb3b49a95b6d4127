#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The contract program observes the same bare and preloaded. Usage: contract_test.py BUILD CONTRACT LIBCUDA ROUTE

Lines that may differ are listed in intended_differences.txt beside this file, each with its reason.
"""
import pathlib
import subprocess
import sys
import tempfile

from guests import PRELOAD, environment

contract, libcuda, route = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
intended = {line.split()[0] for line in (pathlib.Path(__file__).parent / "intended_differences.txt").read_text().splitlines()
            if line and not line.startswith("#")}


def observe(preload):
    with tempfile.TemporaryDirectory() as folder:
        variables = environment(libcuda.parent, preload=preload, SIMGPU_DIR=folder, SIMGPU_MEMORY="2GiB")
        done = subprocess.run([contract, "--route", route], env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=170)
    return done.returncode, [line for line in done.stdout.splitlines() if line.split(" ", 1)[0] not in intended]


bare, governed = observe(None), observe(PRELOAD)
different = [f"bare {a!r}, preloaded {b!r}" for a, b in zip(bare[1], governed[1]) if a != b]
print("\n".join(different[:40]))
print(f"{len(bare[1])} observations bare, {len(governed[1])} preloaded, {len(different)} differ; status {bare[0]} and {governed[0]}")
sys.exit(bare != governed)
