#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a libFuzzer target for a number of executions, in one process for each core, from a corpus that is kept.

Usage: run_fuzz.py TARGET CORPUS RUNS [LIBFUZZER OPTION...] [--keep]. CORPUS holds one input a line, as a JSON string whose characters are its
bytes. It is only read, except with --keep, which writes it anew: the smallest inputs that cover all that was found. CUPOOL_TEST_LONG=1 runs
ten times as many. Fails on a crash, a hang, a leak, undefined behaviour, or fewer executions than asked for; the input that did it is printed.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

keep = sys.argv[-1] == "--keep"
target, corpus, runs, *options = sys.argv[1:-1] if keep else sys.argv[1:]
runs = int(runs) * (10 if os.environ.get("CUPOOL_TEST_LONG") == "1" else 1)
workers = max(1, min(4, os.cpu_count() or 1))
environment = {**os.environ, "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1", "ASAN_OPTIONS": "detect_leaks=1"}

with tempfile.TemporaryDirectory() as folder:
    seeds = pathlib.Path(folder, "seeds")
    seeds.mkdir()
    for number, line in enumerate(pathlib.Path(corpus).read_text(encoding="ascii").splitlines()):
        (seeds / str(number)).write_bytes(json.loads(line).encode("latin-1"))
    started = []
    for number in range(workers):
        own = pathlib.Path(folder, str(number))
        own.mkdir()
        log = open(pathlib.Path(folder, f"{number}.log"), "w+", encoding="utf-8", errors="replace")
        command = [target, f"-runs={-(-runs // workers)}", f"-seed={os.getpid() * 8 + number}", "-timeout=10", "-rss_limit_mb=1024", "-print_final_stats=1",
                   f"-artifact_prefix={own}.fault-", *options, str(own), str(seeds)]
        print(" ".join(command))
        started.append((subprocess.Popen(command, stdout=log, stderr=log, env=environment), log))
    executed, failed = 0, False
    for process, log in started:
        code = process.wait()
        log.seek(0)
        text = log.read()
        executed += sum(int(count) for count in re.findall(r"stat::number_of_executed_units:\s*(\d+)", text))
        if code != 0:
            failed = True
            print(text[-6000:])
        elif summary := re.findall(r"^#\d+\s+DONE.*$", text, re.M):
            print(summary[-1])
    for fault in sorted(pathlib.Path(folder).glob("*.fault-*")):
        print(f"{fault.name.split('-')[1]}: {fault.read_bytes()!r}")
    print(f"{executed} executions")
    if keep and not failed:
        merged = pathlib.Path(folder, "merged")
        merged.mkdir()
        found = [str(pathlib.Path(folder, str(number))) for number in range(workers)]
        subprocess.run([target, "-set_cover_merge=1", str(merged), str(seeds), *found], check=True, stderr=subprocess.DEVNULL)
        inputs = sorted((path.read_bytes() for path in merged.iterdir()), key=lambda text: (len(text), text))
        pathlib.Path(corpus).write_text("".join(json.dumps(text.decode("latin-1")) + "\n" for text in inputs), encoding="ascii")
sys.exit(1 if failed or executed < runs else 0)
