#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""on_simgpu.py CONTRACT LIBCUDA SERVER ROUTE: runs the contract program on a simulated 2 GiB GPU of its own.

Fails when an observation differs from what is expected of a real driver; the count of observations must not shrink either.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

program, library, _server, route = sys.argv[1:5]
with tempfile.TemporaryDirectory() as folder:
    environment = {**os.environ, "LD_LIBRARY_PATH": str(pathlib.Path(library).resolve().parent), "SIMGPU_DIR": folder, "SIMGPU_MEMORY": "2GiB"}
    run = subprocess.run([program, "--route", route], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=170)
sys.stderr.write(run.stderr)
summary = re.search(r"(\d+) observations, (\d+) differ", run.stderr)
if not summary:
    sys.exit(f"the program did not come to its end (status {run.returncode}); its last line: {run.stdout.splitlines()[-1:]}")
if int(summary.group(1)) < 400:
    sys.exit(f"only {summary.group(1)} observations")
sys.exit(run.returncode)
