#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The contract program observes the same bare and preloaded. Usage: contract_test.py BUILD CONTRACT LIBCUDA ROUTE

What differs is listed in known_differences.txt beside this file, each with its reason: no more, and no less.
"""
import pathlib
import subprocess
import sys
import tempfile

from guests import PRELOAD, environment

contract, libcuda, route = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
known = {line.strip() for line in (pathlib.Path(__file__).parent / "known_differences.txt").read_text().splitlines()
         if line.strip() and not line.startswith("#")}


def observe(preload):
    """The program's lines, in order, as pairs of name and value."""
    with tempfile.TemporaryDirectory() as folder:
        variables = environment(libcuda.parent, preload=preload, SIMGPU_DIR=folder, SIMGPU_MEMORY="2GiB", XDG_STATE_HOME=folder)
        done = subprocess.run([contract, "--route", route], env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=170)
    if done.returncode not in (0, 1):
        sys.exit(f"the program did not come to its end {'bare' if preload is None else 'preloaded'}: status {done.returncode}\n{done.stderr[-2000:]}")
    return [tuple(line.split(" = ", 1)) for line in done.stdout.splitlines()]


bare, governed = observe(None), observe(PRELOAD)
if [name for name, _ in bare] != [name for name, _ in governed]:
    sys.exit("the program took another course: " + str(set(bare) ^ set(governed))[:2000])
different = {name: (value, other) for (name, value), (_, other) in zip(bare, governed) if value != other}
for name, (value, other) in different.items():
    if name not in known:
        print(f"{name}: bare {value}, preloaded {other}")
for name in sorted(known - set(different)):
    print(f"{name} no longer differs: remove it from known_differences.txt")
print(f"{len(bare)} observations, {len(different)} differ, {len(known)} of them known")
sys.exit(set(different) != known)
