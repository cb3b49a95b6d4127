#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs without CUDA do not notice the preload: same output, same errors, same status, no thread, descriptor, file, signal handler,
umask or environment of ours. Usage: strangers_test.py BUILD"""
import concurrent.futures
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from guests import PRELOAD, environment, run

COMMANDS = [line for line in (pathlib.Path(__file__).parent / "strangers.txt").read_text().splitlines() if line and line[0] != "#"]
LEAST = 60


def observe(command, preload):
    """Status, output, errors, and the files that the command left, in a folder of the same name both times."""
    with tempfile.TemporaryDirectory(prefix="stranger-") as holder:
        folder = pathlib.Path(holder) / "here"
        folder.mkdir()
        result = run("/bin/bash", "-c", command, cwd=folder, timeout=120, stdin=subprocess.DEVNULL,
                     env=environment(preload=preload, HOME=folder, LC_ALL="C", CCACHE_DISABLE="1"))
        files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if ".git/" not in str(path))
        return result.returncode, result.stdout.replace(holder, "HOLDER"), result.stderr.replace(holder, "HOLDER"), files


def missing_program(command):
    program = command.split()[0]
    return None if shutil.which(program) or program in ("test", "touch", "cp") else program


class Strangers(unittest.TestCase):
    def test_ordinary_programs_run_the_same(self):
        absent = sorted({missing_program(command) for command in COMMANDS} - {None})
        present = [command for command in COMMANDS if not missing_program(command)]
        if absent:
            print("SKIPPED, not installed here: " + " ".join(absent))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            bare = list(pool.map(lambda command: observe(command, None), present))
            governed = list(pool.map(lambda command: observe(command, PRELOAD), present))
        compared = 0
        for command, without, with_us in zip(present, bare, governed):
            with self.subTest(command=command):
                self.assertEqual(with_us, without)
                compared += 1
        print(f"{compared} programs compared")
        self.assertGreaterEqual(len(present), LEAST)

    def test_a_process_sees_nothing_of_us_in_itself(self):
        bare = run("guest_state", env=environment(preload=None))
        governed = run("guest_state", env=environment())
        self.assertEqual((governed.stdout, governed.stderr, governed.returncode), (bare.stdout, bare.stderr, 0))

    def test_nothing_is_opened_beyond_the_library_itself(self):
        strace = shutil.which("strace")
        if not strace:
            self.skipTest("SKIPPED: strace is not installed")
        traced = run(strace, "-f", "-e", "trace=openat,open,execve,clone,clone3,socket,connect,memfd_create,futex,rt_sigaction,write,mkdir",
                     "/bin/true", env=environment())
        if "ptrace" in traced.stderr and traced.returncode != 0:
            self.skipTest("SKIPPED: strace may not trace here")
        ours = [line for line in traced.stderr.splitlines() if "ENOENT" not in line and "exited with" not in line
                and "execve" not in line and ".so" not in line and "ld.so.cache" not in line]
        self.assertEqual(ours, [])
        self.assertNotIn("libcupool-core", traced.stderr)

    def test_a_program_that_only_asks_for_cuda_is_told_the_truth(self):
        # Without a driver there is nothing to govern: the core is not opened, the answer is the loader's own.
        program = "import ctypes\ntry: ctypes.CDLL('libcuda.so.1')\nexcept OSError as e: print(e)\nprint(hasattr(ctypes.CDLL(None), 'cuInit'))"
        bare = run(sys.executable, "-c", program, env=environment(preload=None))
        governed = run(sys.executable, "-c", program, env=environment())
        self.assertEqual((governed.stdout, governed.stderr), (bare.stdout, bare.stderr))


if __name__ == "__main__":
    unittest.main(verbosity=0)
