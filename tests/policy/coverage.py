#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures which lines of policy/ its tests and the fuzzing corpus reach, prints them by file, and fails below 95 %.

Usage: coverage.py ROOT BUILD. A build of its own (BUILD/coverage) is configured once; only what these tests need is compiled.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT, BUILD = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve() / "coverage"
LEAST = 95.0

if shutil.which("gcovr") is None or shutil.which("gcov") is None:
    print("SKIPPED: gcovr is missing")
    sys.exit(77)


def run(*command):
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "CC": "gcc", "CXX": "g++"})
    if result.returncode != 0:
        print(" ".join(map(str, command)))
        print(result.stdout[-4000:] + result.stderr[-2000:])
        sys.exit(1)
    return result.stdout


if not (BUILD / "build.ninja").exists():
    run("meson", "setup", BUILD, ROOT, "-Db_coverage=true", "-Dbuildtype=debug", "-Doptimization=1")
tests = [test["name"] for test in json.loads(run("meson", "introspect", BUILD, "--tests"))
         if test["name"].startswith(("policy", "fuzz_policy")) and {"cupool:unit", "cupool:model"} & set(test["suite"])]
for old in BUILD.rglob("*.gcda"):
    old.unlink()
run("meson", "test", "-C", BUILD, *tests)
objects = [BUILD / "policy", BUILD / "tests/fuzz"]
report = json.loads(run("gcovr", "-r", ROOT, "--filter", f"{ROOT}/policy/", "--json-summary", "-", *objects))
for file in sorted(report["files"], key=lambda entry: entry["line_percent"] or 0):
    print(f"{file['line_covered']:5} of {file['line_total']:5} lines  {file['line_percent'] or 0:5.1f} %  {file['filename']}")
print(f"{report['line_covered']} of {report['line_total']} lines of policy/, {report['line_percent']} % (at least {LEAST} %)")
sys.exit(0 if report["line_percent"] >= LEAST else 1)
