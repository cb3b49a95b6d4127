#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cupool policy simulate as a user meets it: the example policies keep their promises, others break them, bad input is refused.

Usage: simulate_test.py CUPOOL ROOT.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

CUPOOL, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
faults = []


def simulate(*arguments, text=None):
    return subprocess.run([CUPOOL, "policy", "simulate", *map(str, arguments)], input=text, capture_output=True, text=True,
                          env={**os.environ, "NO_COLOR": "1"}, timeout=60, check=False)


def expect(condition, what):
    if not condition:
        faults.append(what)


def check_examples(folder):
    policies = sorted(ROOT.glob("config/*.json"))
    scenarios = sorted(ROOT.glob("config/scenarios/*.json"))
    named = {p.stem for p in policies if not p.name.endswith(".schema.json")}
    expect(named == {s.stem for s in scenarios} and len(named) >= 4, f"each policy of config/ has its scenario: {named}")
    for scenario in scenarios:
        kept = simulate(scenario)
        expect(kept.returncode == 0 and "kept: all" in kept.stdout, f"{scenario.name} breaks a promise:\n{kept.stdout[-1500:]}{kept.stderr}")
        # The promise is the policy's: where every job is alike and may have everything, it is broken.
        plain = folder / "plain.json"
        plain.write_text('{"version": 1, "classes": {"all": {"max_wait": "1s"}}, "default_class": "all"}')
        broken = simulate("--policy", plain, scenario)
        expect(broken.returncode == 1 and "broken: " in broken.stdout, f"{scenario.name} is kept by any policy")
        check_json(scenario)
        check_picture(scenario, folder / "picture.svg")


def check_json(scenario):
    out = subprocess.run([CUPOOL, "--json", "policy", "simulate", str(scenario)], capture_output=True, text=True, check=False)
    result = json.loads(out.stdout)
    expect(result["kind"] == "cupool.policy_simulation" and result["version"] == 1, "the JSON says what it is")
    expect(result["broken"] == [] and result["expectations"] > 0, "the JSON holds the expectations")
    capacity = result["pool"]["capacity_units"]
    changes = []
    for job in result["jobs"]:
        before = 0
        for sample in job["samples"]:
            changes.append((sample["at_ns"], sample["held_units"] - before))
            before = sample["held_units"]
            expect(before <= job["limit_units"], f"{job['name']} never exceeds its limit")
    held = 0
    for _, change in sorted(changes):
        held += change
        expect(held <= capacity, "the jobs never exceed the pool")


def check_picture(scenario, file):
    expect(simulate("--svg", file, scenario).returncode == 0, "a picture is drawn")
    tree = xml.etree.ElementTree.parse(file)
    titles = [e.text for e in tree.iter("{http://www.w3.org/2000/svg}title")]
    expect(any("holds" in t for t in titles), "the picture says who held what")


def check_inputs(folder):
    small = '{"version": 1, "jobs": [{"name": "a", "steps": [{"ask": "1GiB"}, {"work": "1s"}]}]}'
    expect(simulate("-", text=small).returncode == 0, "a scenario may come from standard input, under the built-in policy")
    inline = small.replace('"jobs"', '"policy": {"version": 1,\n "classes": {"x": {"limit": "4GB"}}}, "jobs"')
    refused = simulate("-", text=inline)
    expect(refused.returncode == 2 and "<stdin>:2:29: error: /classes/x/limit" in refused.stderr,
           f"a mistake in an inline policy is found where it stands: {refused.stderr}")
    denied = simulate("-", text=small.replace('"jobs"', '"policy": {"version": 1, "classes": {"x": {"limit": "512MiB"}}}, "jobs"'))
    expect("above the job's limit of 512 MiB" in denied.stdout, "a refusal says which rule and which figures")
    too_large = simulate("-", text=small.replace('"jobs"', '"device": {"total": "64MiB"}, "jobs"'))
    expect(too_large.returncode == 2 and "without one unit" in too_large.stderr, f"a policy that does not fit the device: {too_large.stderr}")
    endless = simulate("-", text=small.replace("1GiB", "1u").replace('{"work": "1s"}', '{"free": "all"}').replace('"steps"', '"repeat": 1000000, "steps"'))
    expect(endless.returncode == 1 and "cut short" in endless.stdout, "what never ends is cut short, and says so")
    for name, text in {"half": small[:40], "deep": "[" * 100000, "empty": "", "nul": small + "\0", "nan": '{"version": NaN}'}.items():
        result = simulate("-", text=text)
        expect(result.returncode == 2 and "error" in result.stderr, f"{name}: {result.returncode} {result.stderr[:200]}")
    for path in ("/dev/zero", folder, folder / "absent.json"):
        expect(simulate(path).returncode == 2, f"{path} is refused")
    lost = folder / "lost.json"
    lost.write_text(small.replace('"jobs"', '"policy": "nowhere.json", "jobs"'))
    result = simulate(lost)
    expect(result.returncode == 2 and "nowhere.json" in result.stderr, "a policy that is not there is named")
    expect(simulate("--svg", folder / "no" / "x.svg", "-", text=small).returncode == 2, "a picture that cannot be written is an error")


with tempfile.TemporaryDirectory() as name:
    check_examples(pathlib.Path(name))
    check_inputs(pathlib.Path(name))
for fault in faults:
    print(fault)
print(f"{len(faults)} faults")
sys.exit(1 if faults else 0)
