#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""When cupool cannot work: never silently unlimited, never a crash, one line that says why. Usage: failures_test.py BUILD"""
import pathlib
import re
import subprocess
import unittest

from guests import BUILD, GUESTS, PRELOAD, SHIM, Folder, environment, lines_of, run

CORE = SHIM / "libcupool-core.so"
REFUSED = re.compile(r"cupool: allocations are refused: [^\n]+\n")
NOT_GOVERNED = re.compile(r"cupool: this process is not governed: [^\n]+\n")


class WithoutCore(unittest.TestCase):
    def setUp(self):
        self.folder = Folder(self)
        self.driver = self.folder.driver("13000")

    def preload_with(self, core):
        """A copy of the preload beside a core of the given bytes, or beside none."""
        place = self.folder.copy(PRELOAD)
        if core is not None:
            (place / CORE.name).write_bytes(core)
        return place / PRELOAD.name

    def routes(self, preload, **extra):
        return run("guest_routes", env=environment(self.driver, preload=preload, **extra))

    def assert_all_refused(self, result, pattern=REFUSED):
        self.assertRegex(result.stderr, pattern)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertEqual(result.returncode, 0, result.stdout)
        # "WHERE ARRIVED": no allocation by any route arrived at the driver.
        arrived = [line for line in result.stdout.splitlines() if re.match(r"\w+ (hook|driver|other) 1$", line)]
        self.assertEqual(arrived, [])

    def test_no_core_refuses_allocations_by_every_route(self):
        result = self.routes(self.preload_with(None))
        self.assert_all_refused(result)
        self.assertIn("cannot open shared object file", result.stderr)

    def test_many_threads_that_are_first_are_all_refused(self):
        preload = self.preload_with(None)
        for _ in range(40):
            result = run("guest_threads", env=environment(self.driver, preload=preload))
            self.assertEqual(result.stdout, "16 of 16 failed\n")
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_an_empty_core_refuses_allocations(self):
        self.assert_all_refused(self.routes(self.preload_with(b"")))

    def test_a_core_that_is_something_else_refuses_allocations(self):
        other = (BUILD / "tests/shim/preload/libguest_library.so").read_bytes()
        self.assert_all_refused(self.routes(self.preload_with(other)))

    def test_a_core_of_another_version_refuses_allocations(self):
        place = self.folder.copy(CORE)
        (place / PRELOAD.name).write_bytes((GUESTS / "libcupool_of_another_version.so").read_bytes())
        result = self.routes(place / PRELOAD.name)
        self.assert_all_refused(result)
        self.assertIn("different versions", result.stderr)

    def test_a_damaged_core_refuses_allocations(self):
        self.assert_all_refused(self.routes(self.preload_with(CORE.read_bytes()[:4096])))

    def test_refused_is_out_of_memory_and_everything_else_reaches_the_driver(self):
        program = ("import ctypes\nd = ctypes.CDLL('libcuda.so.1')\na = ctypes.c_ulonglong(7)\n"
                   "for n in ('cuMemAlloc_v2', 'cuMemAllocManaged', 'cuMemCreate', 'cuMemAllocAsync', 'cuMemAllocAsync_ptsz', 'cuArrayCreate_v2',\n"
                   "          'cuMemAllocFromPoolAsync', 'cuMemAllocPitch_v2', 'cuGraphAddMemAllocNode', 'cuInit', 'cuMemFree_v2', 'cuCtxSynchronize'):\n"
                   "  before = d.fake_calls(n.encode()); code = getattr(d, n)(ctypes.byref(a), 1, 1, 1, 1)\n"
                   "  print(n, code, d.fake_calls(n.encode()) - before, a.value)\n")
        result = run("/usr/bin/python3", "-c", program, env=environment(self.driver, preload=self.preload_with(None)))
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        for line in result.stdout.splitlines():
            name, code, arrived, value = line.split()
            self.assertEqual((code, arrived), ("0", "1") if name in ("cuInit", "cuMemFree_v2", "cuCtxSynchronize") else ("2", "0"), name)
            self.assertEqual(value, "7", name)
        self.assertEqual(len(result.stdout.splitlines()), 12)

    def test_open_on_error_passes_everything_and_says_so(self):
        result = self.routes(self.preload_with(None), CUPOOL_ON_ERROR="open")
        bare = run("guest_routes", env=environment(self.driver, preload=None))
        self.assertRegex(result.stderr, NOT_GOVERNED)
        self.assertEqual(result.stdout.replace(" hook ", " driver "), bare.stdout)

    def test_off_is_silent_and_passes_everything(self):
        result = self.routes(PRELOAD, CUPOOL="off")
        bare = run("guest_routes", env=environment(self.driver, preload=None))
        self.assertEqual((result.stdout.replace(" hook ", " driver "), result.stderr), (bare.stdout, ""))

    def test_a_policy_of_root_overrules_off_and_open(self):
        # A private /etc with a policy in it, in a mount namespace of this test alone.
        script = ("mount -t tmpfs none /etc && mkdir /etc/cupool && echo '{}' > /etc/cupool/policy.json && "
                  f"exec {GUESTS / 'guest_late'} alloc")
        probe = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/etc"], capture_output=True, check=False)
        if probe.returncode != 0:
            self.skipTest(f"SKIPPED: no mount namespace here: {probe.stderr.decode().strip()}")
        for extra in ({"CUPOOL": "off"}, {"CUPOOL_ON_ERROR": "open"}):
            result = run("/usr/bin/unshare", "-m", "sh", "-c", script, env=environment(self.driver, preload=self.preload_with(None), **extra))
            self.assertEqual(result.stdout, "alloc 2\n")
            self.assertRegex(result.stderr, REFUSED)

    def test_runtime_names_still_reach_the_runtime(self):
        result = run("guest_runtime", env=environment(self.driver, preload=self.preload_with(None)))
        self.assertIn("cudaMalloc 2 (nil)\n", result.stdout)
        self.assertIn("last error 13, then 0\n", result.stdout)


class WithoutDriver(unittest.TestCase):
    def test_linked_names_answer_as_the_vendors_stub_library(self):
        # Weak references are all that lets such a program start; with us they are defined, and say 34.
        result = run("guest_weak", env=environment())
        self.assertEqual((result.stdout, result.stderr, result.returncode), ("cuInit 34\ncuMemAlloc_v2 34\nnvmlDeviceGetMemoryInfo 12\n", "", 0))
        self.assertEqual(run("guest_weak", env=environment(preload=None)).stdout, "no driver linked\n")

    def test_lookups_find_nothing(self):
        result = run("guest_late", "alloc", env=environment())
        self.assertEqual((result.stdout, result.stderr), ("alloc -1\n", ""))


class Upgrade(unittest.TestCase):
    """Files are replaced by rename; processes that hold the old ones go on."""

    def start(self, *steps):
        folder = Folder(self)
        place = folder.copy(PRELOAD, CORE)
        process = subprocess.Popen([str(GUESTS / "guest_late"), *steps], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=environment(folder.driver("13000"), preload=place / PRELOAD.name))
        self.addCleanup(process.communicate)
        return process, place

    def replace(self, place, preload, core):
        for name, content in ((PRELOAD.name, preload), (CORE.name, core)):
            (place / "new").write_bytes(content)
            (place / "new").rename(place / name)

    def go_on(self, process):
        out, err = process.communicate("go on\n", timeout=30)
        return out, err, process.returncode

    def test_a_job_that_has_used_cuda_is_untouched(self):
        process, place = self.start("alloc", "wait", "alloc")
        self.assertEqual(process.stdout.readline(), "alloc 0\n")
        self.assertEqual(process.stdout.readline(), "waiting\n")
        self.replace(place, b"not a library", b"not a library")
        self.assertEqual(self.go_on(process), ("alloc 0\n", "", 0))

    def test_a_job_that_has_not_is_refused_by_the_new_version_and_lives(self):
        process, place = self.start("wait", "alloc")
        self.assertEqual(process.stdout.readline(), "waiting\n")
        core = CORE.read_bytes()
        version = re.search(rb"different versions \(core ([0-9.]+)\)", core).group(1)
        self.replace(place, PRELOAD.read_bytes(), core.replace(version + b"\0", b"9.9.9\0"[: len(version) + 1]))
        out, err, status = self.go_on(process)
        self.assertEqual((out, status), ("alloc 2\n", 0))
        self.assertRegex(err, REFUSED)


class OtherPlaces(unittest.TestCase):
    def test_children_that_do_not_use_cuda_get_nothing(self):
        # A helper of the program, such as its assembler: no core, no output.
        result = run("/bin/sh", "-c", "/bin/true && as --version > /dev/null; ls /proc/self/fd | wc -l", env=environment())
        bare = run("/bin/sh", "-c", "/bin/true && as --version > /dev/null; ls /proc/self/fd | wc -l", env=environment(preload=None))
        self.assertEqual((result.stdout, result.stderr), (bare.stdout, bare.stderr))

    def test_the_genuine_runtime_resolves_every_name_through_us(self):
        toolkit = pathlib.Path("/usr/local/cuda/lib64/libcudart.so.13")
        if not toolkit.exists():
            self.skipTest(f"SKIPPED: no {toolkit}")
        # It refuses a driver that is not the vendor's afterwards; how it asks is what counts here.
        program = (f"import ctypes\nd = ctypes.CDLL('libcuda.so.1')\nr = ctypes.CDLL('{toolkit}')\nn = ctypes.c_int()\nr.cudaGetDeviceCount(ctypes.byref(n))\n"
                   "print(d.fake_calls(b'cuGetProcAddress_v2'))")
        driver = Folder(self).driver("13000")
        bare = run("/usr/bin/python3", "-c", program, env=environment(driver, preload=None))
        governed = run("/usr/bin/python3", "-c", program, env=environment(driver))
        self.assertGreaterEqual(int(bare.stdout), 440)
        self.assertEqual((governed.stdout, governed.stderr), (bare.stdout, bare.stderr))


if __name__ == "__main__":
    unittest.main(verbosity=0)
