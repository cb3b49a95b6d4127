#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ends_test.py PROGRAM: programs end, in whatever way, although the simulated GPU is busy for ever; and only busy ones have threads.

A program that does not end is killed after a minute and counts as a failure.
"""
import os
import subprocess
import sys
import tempfile

EXPECTED = {"return": "", "exit": "came back\n", "abrupt": "", "fork": "child 0\n", "idle": "1\n"}
failures = 0
with tempfile.TemporaryDirectory() as folder:
    for way, output in EXPECTED.items():
        environment = {**os.environ, "SIMGPU_DIR": folder, "SIMGPU_MEMORY": "4GiB"}
        try:
            run = subprocess.run([sys.argv[1], way], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
            answer = (run.returncode, run.stdout)
        except subprocess.TimeoutExpired:
            answer = ("did not end", "")
        if answer != (0, output):
            failures += 1
            print(f"{way}: {answer}, expected {(0, output)}; stderr: {run.stderr if answer[0] != 'did not end' else ''}")
sys.exit(1 if failures else 0)
