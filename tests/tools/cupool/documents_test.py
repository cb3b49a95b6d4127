#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Documents that must agree with the code: the schema, the key table, every message of config/README.md, and the starter policy.

Usage: documents_test.py CUPOOL ROOT [--update]. With --update the documents are written anew instead of being compared.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CUPOOL, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
UPDATE = "--update" in sys.argv
faults = []


def cupool(*arguments, cwd=None):
    environment = {**os.environ, "NO_COLOR": "1"}
    return subprocess.run([CUPOOL, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def agree(path, actual, what):
    """The file must hold `actual`."""
    if UPDATE:
        path.write_text(actual)
    elif not path.exists() or path.read_text() != actual:
        faults.append(f"{path.relative_to(ROOT)}: {what}")


def check_schema():
    agree(ROOT / "config/policy.schema.json", cupool("policy", "schema").stdout, "run cupool policy schema > config/policy.schema.json")


def check_readme():
    path = ROOT / "config/README.md"
    text = path.read_text()
    table = cupool("policy", "schema", "--table").stdout
    wanted = re.sub(r"(<!-- keys:[^\n]*-->\n).*?(<!-- /keys -->)", lambda m: m[1] + table + m[2], text, flags=re.S)
    examples = 0

    def answer(found):
        nonlocal examples
        examples += 1
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "policy.json").write_text(found[1])
            result = cupool("policy", "check", "policy.json", cwd=folder)
        if " error: " in result.stdout and result.returncode != 1:
            faults.append(f"exit code {result.returncode} for {found[1]}")
        return f"```json\n{found[1]}```\n```text\n{result.stdout}```\n"

    wanted = re.sub(r"```json\n(.*?)```\n```text\n.*?```\n", answer, wanted, flags=re.S)
    agree(path, wanted, "differs from what the command says: tests/tools/cupool/documents_test.py CUPOOL ROOT --update")
    if examples < 30:
        faults.append(f"config/README.md: only {examples} messages were found")
    print(f"{examples} messages compared")


def uncommented(starter):
    """Every key of the starter in force: what stands behind the // of a line is taken for the line."""
    lines = []
    for line in starter.split("\n"):
        found = re.match(r'\s*//\s*(("[a-z_]+": |\}).*)', line)
        lines.append(found[1] if found else line)
    return "\n".join(lines)


def check_starter():
    starter = cupool("policy", "init").stdout
    for name, text in (("as it is", starter), ("with every key in force", uncommented(starter))):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "starter.json")
            path.write_text(text)
            result = cupool("policy", "check", "--gpu", "80GiB", str(path))
            # Keys that this version does not act on yet are the only thing that it may warn of.
            other = [line for line in result.stdout.splitlines() if " warning: " in line and "does not act on it yet" not in line]
            if result.returncode != 0 or other:
                faults.append(f"the starter, {name}, is refused:\n{result.stdout}{result.stderr}")
            if '"max_jobs"' not in text:
                faults.append("the starter lacks keys")
    with tempfile.TemporaryDirectory() as folder:
        first = cupool("policy", "init", "lab.json", cwd=folder)
        again = cupool("policy", "init", "lab.json", cwd=folder)
        if first.returncode != 0 or again.returncode != 2 or "exists" not in again.stderr:
            faults.append("policy init must write once and refuse to overwrite")


check_schema()
check_readme()
check_starter()
for fault in faults:
    print(fault)
sys.exit(1 if faults else 0)
