#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of the heap's hot paths with callgrind and compares them with the recorded baseline.

Usage: instructions.py HEAP_PATHS BASELINE.json [--record]

Instruction counts are the same on a busy machine as on an idle one. Prints JSON; a path that needs over 5 % more instructions for a
pair (one free, one allocation) than recorded is printed loudly. Never fails on a figure: a slower path may be worth it; then
--record writes the new baseline. Exits with 77 where valgrind is missing.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PATHS = ["tlsf_large", "tlsf_small", "slab", "buddy_large"]
COUNT = 20000
LOUD_ABOVE = 1.05


def count(program, path):
    """Instructions of one pair. The compiler may inline `counted`'s callees, so everything below it is included."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "callgrind.out")
        done = subprocess.run(["valgrind", "--tool=callgrind", "--toggle-collect=*counted*", f"--callgrind-out-file={out}",
                               program, path, str(COUNT)], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"error: {program} {path} failed under valgrind:\n{done.stderr}")
        total = re.search(r"Collected\s*:\s*(\d+)", done.stderr)
        if total is None or int(total.group(1)) == 0:
            sys.exit(f"error: callgrind counted nothing for {path}: was the function `counted` inlined?\n{done.stderr}")
        return int(total.group(1)) / COUNT


def main():
    arguments = [a for a in sys.argv[1:] if a != "--record"]
    if len(arguments) != 2:
        sys.exit(__doc__)
    program, baseline_file = arguments[0], pathlib.Path(arguments[1])
    if shutil.which("valgrind") is None:
        print("SKIPPED: valgrind is not installed (apt-get install valgrind)")
        sys.exit(77)
    counted = {path: round(count(program, path), 1) for path in PATHS}
    if "--record" in sys.argv:
        baseline_file.write_text(json.dumps(counted, indent=1) + "\n")
        print(f"recorded in {baseline_file}")
        return
    baseline = json.loads(baseline_file.read_text())
    rows, loud = [], []
    for path, instructions in counted.items():
        before = baseline.get(path)
        ratio = round(instructions / before, 3) if before else None
        rows.append({"path": path, "instructions_per_pair": instructions, "baseline": before, "ratio": ratio})
        if ratio and ratio > LOUD_ABOVE:
            loud.append(f"!!! {path} needs {instructions} instructions a pair, {100 * (ratio - 1):.1f} % more than the recorded {before}")
    print(json.dumps({"instructions": rows}, indent=1))
    for line in loud:
        print(line)
        print(line, file=sys.stderr)


if __name__ == "__main__":
    main()
