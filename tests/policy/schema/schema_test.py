#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The schema and the decoder judge the same documents: what the schema refuses, the decoder refuses.

Usage: schema_test.py CUPOOL ROOT [--update]. corpus.jsonl holds one document a line, with both judgements as they were found: "yes", "no", or
"unreadable" where Python's JSON reader does not get that far. --update judges anew. The documents that only the decoder refuses are what a
schema cannot say; README.md lists them, by reason.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("SKIPPED: python3-jsonschema is missing")
    sys.exit(77)

CUPOOL, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
CORPUS = ROOT / "tests/policy/schema/corpus.jsonl"
faults = []


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def schema_judgement(validator, text):
    try:
        document = json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        return "unreadable"
    return "yes" if validator.is_valid(document) else "no"


def decoder_judgements(texts):
    """One run of the command for all; a text with lone surrogates cannot be written to a file and is not in the corpus."""
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for number, text in enumerate(texts):
            names.append(f"{number}.json")
            pathlib.Path(folder, names[-1]).write_text(text, newline="")
        result = subprocess.run([CUPOOL, "policy", "check", "--json", *names], cwd=folder, capture_output=True, text=True, check=False)
        return [("yes" if entry["ok"] else "no", [problem["text"] for problem in entry.get("problems", [])]) for entry in json.loads(result.stdout)["files"]]


schema = json.loads((ROOT / "config/policy.schema.json").read_text())
jsonschema.Draft7Validator.check_schema(schema)
validator = jsonschema.Draft7Validator(schema)
rows = [json.loads(line) for line in CORPUS.read_text().splitlines()]
judged = decoder_judgements([row["text"] for row in rows])
counts = {}
for row, (decoder, problems) in zip(rows, judged):
    found = {"schema": schema_judgement(validator, row["text"]), "decoder": decoder}
    counts[(found["schema"], decoder)] = counts.get((found["schema"], decoder), 0) + 1
    if found["schema"] == "no" and decoder == "yes":
        faults.append(f"the schema refuses what the decoder accepts: {row['text']}")
    if "--update" in sys.argv:
        row.update(found)
    elif any(row.get(judge) != answer for judge, answer in found.items()):
        faults.append(f"judged {found}, before {row}: {problems}")
if "--update" in sys.argv:
    CORPUS.write_text("".join(json.dumps(row) + "\n" for row in rows))
if len(rows) < 300 or counts.get(("yes", "yes"), 0) < 100 or counts.get(("no", "no"), 0) < 100:
    faults.append("the corpus is too small")
print(f"{len(rows)} documents (schema, decoder): " + ", ".join(f"{'/'.join(key)} {count}" for key, count in sorted(counts.items())))
for fault in faults:
    print(fault)
sys.exit(1 if faults else 0)
