#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The policy sub-commands as a user meets them: exit codes, formats, what goes to which stream.

Usage: policy_command_test.py CUPOOL
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

CUPOOL = os.path.abspath(sys.argv.pop(1))
GOOD = '{"version": 1, "default_class": "b", "classes": {"a": {"limit": "50%"}, "b": {"limit": "1GiB"}},' \
       ' "jobs": [{"match": {"command": "*serve*"}, "class": "a"}]}'
BAD = '{"version": 1, "defrg": {}, "pool": {"unit": "1MB"}}'
WARNS = '{"version": 1, "time_slice": {"mode": "off"}}'


class Command(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        for name, text in (("good", GOOD), ("bad", BAD), ("warns", WARNS)):
            (self.path / f"{name}.json").write_text(text)

    def run_it(self, *arguments, text_in="", **extra):
        environment = {"PATH": os.environ["PATH"], "HOME": self.folder.name, **extra}
        return subprocess.run([CUPOOL, *arguments], cwd=self.folder.name, env=environment, input=text_in, capture_output=True, text=True, timeout=60,
                              check=False)

    def check(self, *arguments, **extra):
        return self.run_it("policy", "check", *arguments, **extra)

    def test_exit_codes(self):
        self.assertEqual(self.check("good.json").returncode, 0)
        self.assertEqual(self.check("bad.json").returncode, 1)
        self.assertEqual(self.check("warns.json").returncode, 0)
        self.assertEqual(self.check("--strict", "warns.json").returncode, 1)
        self.assertEqual(self.check("none.json").returncode, 2)
        self.assertEqual(self.check("none.json", "bad.json").returncode, 2)
        self.assertEqual(self.check().returncode, 2)
        self.assertEqual(self.run_it().returncode, 2)
        self.assertEqual(self.run_it("policy").returncode, 2)
        self.assertEqual(self.run_it("--version").stdout.split()[0], "cupool")

    def test_bad_inputs_end_quickly_with_a_reason(self):
        os.mkfifo(self.path / "fifo")
        with open(self.path / "huge.json", "wb") as huge:
            huge.truncate(1 << 30)
        for name, reason in (("/dev/zero", "is a device"), ("fifo", "is a FIFO"), (".", "is a directory"), ("huge.json", "larger than 1 MiB")):
            result = self.check(name)
            self.assertEqual(result.returncode, 2, name)
            self.assertIn(reason, result.stderr)

    def test_standard_input(self):
        self.assertEqual(self.check("-", text_in=GOOD).stdout, "<stdin>: ok\n")
        self.assertIn("nested more than 32 deep", self.check("-", text_in="[" * 100_000).stdout)
        with open("/dev/zero", "rb") as zero:
            result = subprocess.run([CUPOOL, "policy", "check", "-"], stdin=zero, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("larger than 1 MiB", result.stdout)

    def test_json(self):
        for arguments in (("--json",), ("--format", "json")):
            result = json.loads(self.check(*arguments, "good.json", "bad.json").stdout)
            self.assertFalse(result["ok"])
            self.assertEqual([entry["ok"] for entry in result["files"]], [True, False])
            first = result["files"][1]["problems"][0]
            self.assertEqual((first["severity"], first["line"], first["column"], first["pointer"]), ("error", 1, 16, "/defrg"))

    def test_github(self):
        lines = self.check("--format", "github", "bad.json").stdout.splitlines()
        self.assertEqual(lines[0], '::error file=bad.json,line=1,col=16::/defrg: unknown key; did you mean "defrag"?')
        self.assertEqual(len(lines), 2)

    def test_colours(self):
        self.assertIn("\x1b[31m", self.check("--color", "always", "bad.json").stdout)
        self.assertNotIn("\x1b", self.check("--color", "never", "bad.json").stdout)
        self.assertNotIn("\x1b", self.check("bad.json").stdout)

    def test_names_from_files_never_reach_the_terminal_raw(self):
        (self.path / "evil\x1b[31m.json").write_text('{"version": 1, "a\\u001b[2J": 1}')
        result = self.check("evil\x1b[31m.json")
        self.assertNotIn("\x1b", result.stdout + result.stderr)

    def test_on_a_device(self):
        result = self.check("--gpu", "GPU-5d1e=512MiB", "good.json")
        self.assertEqual(result.returncode, 0, result.stdout)
        result = self.check("--gpu", "GPU-5d1e=128MiB", "good.json")
        self.assertEqual(result.returncode, 1)
        self.assertIn("on GPU-5d1e (128 MiB): leaves the pool without one unit", result.stdout)
        for wrong in ("GPU-5d1e=10GB", "10", "x=1GiB", "GPU-5d1e=50%"):
            self.assertEqual(self.check("--gpu", wrong, "good.json").returncode, 2, wrong)

    def test_diff(self):
        (self.path / "other.json").write_text(GOOD.replace('"50%"', '"40%"').replace("*serve*", "*train*"))
        result = self.run_it("policy", "diff", "good.json", "other.json")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout.split(), ["/classes/a/limit", '"50%"', "->", '"40%"', "/jobs/0/match/command", '"*serve*"', "->", '"*train*"'])
        self.assertEqual(self.run_it("policy", "diff", "good.json", "good.json").returncode, 0)
        self.assertEqual(self.run_it("policy", "diff", "good.json", "bad.json").returncode, 2)
        found = json.loads(self.run_it("--json", "policy", "diff", "good.json", "other.json").stdout)
        self.assertEqual(found["differences"][0], {"pointer": "/classes/a/limit", "first": "50%", "second": "40%"})

    def explain(self, *arguments, **extra):
        result = self.run_it("--json", "policy", "explain", *arguments, **extra)
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        return json.loads(result.stdout)

    def test_explain_without_a_file(self):
        found = self.explain("--gpu", "100GiB", "--", "python", "train.py")
        self.assertEqual(found["policy"]["name"], "built-in")
        self.assertEqual(found["command"], "python train.py")

    def test_explain_figures_and_origins(self):
        found = self.explain("--policy", "./good.json", "--gpu", "GPU-5d1e=100GiB", "--", "./serve", "-x")
        self.assertEqual(found["class"]["name"], "a")
        limit = [value for value in found["gpus"][0]["job"] if value["key"] == "/classes/a/limit"][0]
        self.assertEqual((limit["units"], limit["bytes"], limit["written"]), (380, 380 << 27, "50%"))
        self.assertEqual(limit["from"], "./good.json:1:" + str(GOOD.index('"50%"') + 1))
        self.assertEqual([value["from"] for value in found["gpus"][0]["job"] if value["key"] == "/classes/a/weight"], ["default"])
        self.assertEqual(self.explain("--policy", "./good.json", "--", "train")["class"]["name"], "b")

    def test_explain_describes_somebody_else(self):
        (self.path / "who.json").write_text('{"version": 1, "default_class": "b", "classes": {"a": {}, "b": {}},'
                                            ' "jobs": [{"match": {"user": "bo", "env": {"P": "prod"}, "cwd": "/w"}, "class": "a"}]}')
        arguments = ["--policy", "./who.json", "--user", "bo", "--env", "P=prod", "--cwd", "/w"]
        self.assertEqual(self.explain(*arguments)["class"]["name"], "a")
        self.assertEqual(self.explain(*arguments[:-2])["class"]["name"], "b")

    def test_explain_finds_the_policy_as_a_job_would(self):
        self.assertEqual(self.explain("--", "x", CUPOOL_POLICY="./good.json")["policy"]["name"], "./good.json")
        folder = self.path / ".config/cupool/policies"
        folder.mkdir(parents=True)
        (folder / "lab.json").write_text(GOOD)
        self.assertEqual(self.explain(CUPOOL_POLICY="lab")["policy"]["name"], str(folder / "lab.json"))
        result = self.run_it("policy", "explain", CUPOOL_POLICY="nolab")
        self.assertEqual(result.returncode, 2)
        self.assertIn("was not found; looked for", result.stderr)
        self.assertTrue(self.explain(CUPOOL="off")["off"])

    def test_explain_refuses_an_unknown_class(self):
        result = self.run_it("policy", "explain", "--policy", "./good.json", "--class", "c")
        self.assertEqual(result.returncode, 1)
        self.assertIn('the class "c"', result.stdout)

    def test_usage_errors_suggest(self):
        self.assertIn('did you mean "policy"?', self.run_it("polcy").stderr)
        self.assertIn('did you mean "check"?', self.run_it("policy", "chek").stderr)
        self.assertIn('did you mean "--strict"?', self.check("--strct", "x").stderr)
        for arguments in (("polcy",), ("policy", "chek"), ("policy", "check", "--strct", "x"), ("policy", "check", "--format", "xml", "x")):
            self.assertEqual(self.run_it(*arguments).returncode, 2, arguments)

    def test_help_has_examples(self):
        for command in ("check", "explain", "schema", "init", "diff"):
            result = self.run_it("policy", command, "--help")
            self.assertEqual(result.returncode, 0)
            self.assertIn(f"Examples:\n  cupool policy {command}", result.stdout)


if __name__ == "__main__":
    unittest.main()
