#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The preload in a root with an older C library (Debian 11, glibc 2.31, where dlsym still lives in libdl).

Usage: old_root_test.py BUILD. Downloads a few packages from the machine's own Debian mirror, so it runs only with CUPOOL_TEST_LONG=1
(or where BUILD/old-root is there already), and says so otherwise.
"""
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import urllib.request

from guests import BUILD, DRIVERS, PRELOAD, SHIM

ROOT = BUILD / "old-root"
RELEASE = "bullseye"
PACKAGES = ["libc6", "libcrypt1", "libgcc-s1", "coreutils", "bash", "dash", "perl-base", "libtinfo6", "libselinux1", "libpcre2-8-0",
            "libattr1", "libacl1", "libgmp10"]


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(77)


def make_root():
    mirrors = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)"], capture_output=True, text=True, check=False).stdout
    mirror = next((line.rstrip("/") for line in mirrors.splitlines() if line.rstrip("/").endswith("/debian")), None)
    if mirror is None:
        skip("apt knows no Debian mirror")
    try:
        with urllib.request.urlopen(f"{mirror}/dists/{RELEASE}/main/binary-amd64/Packages.xz", timeout=60) as index:
            text = lzma.decompress(index.read()).decode()
    except OSError as error:
        skip(f"the mirror has no {RELEASE}: {error}")
    unfinished = ROOT.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    for package in PACKAGES:
        file = re.search(rf"^Package: {re.escape(package)}\n(?:.+\n)*?Filename: (.+)$", text, re.M).group(1)
        archive, _ = urllib.request.urlretrieve(f"{mirror}/{file}")
        subprocess.run(["dpkg", "-x", archive, str(unfinished)], check=True)
        os.unlink(archive)
    unfinished.rename(ROOT)


class OldRoot(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = ROOT / "cupool"
        place.mkdir(exist_ok=True)
        (ROOT / "dev").mkdir(exist_ok=True)
        (ROOT / "dev/null").touch()  # perl -e wants to open it
        shutil.copy(PRELOAD, place)
        shutil.copy(SHIM / "libcupool-core.so", place)
        shutil.copy(DRIVERS / "libfake_cuda_13000.so", place / "libcuda.so.1")

    def inside(self, *command, preload=True, **extra):
        variables = {"PATH": "/bin:/usr/bin", "LC_ALL": "C", **extra, **({"LD_PRELOAD": "/cupool/libcupool.so"} if preload else {})}
        # env inside the root sets them: chroot itself is a program of this one.
        return subprocess.run(["/usr/sbin/chroot", str(ROOT), "/usr/bin/env", "-i", *(f"{k}={v}" for k, v in variables.items()), *command],
                              capture_output=True, text=True, timeout=60, check=False)

    def test_the_c_library_is_an_old_one(self):
        self.assertIn("2.31", self.inside("bash", "-c", "exec /lib/x86_64-linux-gnu/libc.so.6", preload=False).stdout)

    def test_programs_run_as_without_us_bound_lazily_and_at_once(self):
        for command in (["true"], ["false"], ["bash", "-c", "echo $((6 * 7)); exit 3"], ["dash", "-c", "echo dash"], ["ls", "/"],
                        ["perl", "-e", "print 2 ** 10"], ["sha256sum", "/bin/true"], ["sort", "/etc/debian_version"]):
            for bind in ({}, {"LD_BIND_NOW": "1"}):
                bare, governed = self.inside(*command, preload=False, **bind), self.inside(*command, **bind)
                self.assertEqual((governed.stdout, governed.stderr, governed.returncode), (bare.stdout, bare.stderr, bare.returncode), command)

    def test_a_core_that_is_too_new_for_this_root_refuses_allocations_by_name(self):
        # perl resolves by dlsym; the function is not called, the answer alone is looked at.
        program = ('require DynaLoader; my $l = DynaLoader::dl_load_file("libcuda.so.1") or die; '
                   'print DynaLoader::dl_find_symbol($l, "cuMemAlloc_v2") ? "found" : "none"')
        for bind in ({}, {"LD_BIND_NOW": "1"}):
            result = self.inside("perl", "-e", program, LD_LIBRARY_PATH="/cupool", **bind)
            self.assertEqual((result.stdout, result.returncode), ("found", 0), result.stderr)
            self.assertRegex(result.stderr, r"^cupool: allocations are refused: the core cannot be opened: .*GLIBC_2\.\d+.*\n$")


if __name__ == "__main__":
    if not ROOT.exists():
        if not os.environ.get("CUPOOL_TEST_LONG"):
            skip("a root with an old C library is made only with CUPOOL_TEST_LONG=1 (it downloads 10 MB of packages)")
        make_root()
    if os.geteuid() != 0:
        skip("chroot needs root")
    unittest.main(verbosity=0)
