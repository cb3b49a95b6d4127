#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The list of entry points against what the vendor publishes and what real clients ask for.

Checked everywhere: rows are unique, legacy and per-thread forms come in pairs, every name and version that the vendor's runtime asks
for (requested_by_runtime.txt, observed) has a row. Checked where a toolkit is installed, else said aloud: the rows are exactly the
stub library's exports, and the versions exactly those of the typedef headers. Usage: entry_points_test.py SOURCE_ROOT
"""
import collections
import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))
TOOLKIT = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
Row = collections.namedtuple("Row", "family shim simgpu exported base since mode")
ROWS = [Row(*(field.strip() for field in match.split(","))) for path in sorted(ROOT.glob("shim/abi/entries/*.def"))
        for match in re.findall(r"^CUPOOL_ENTRY\((.*)\)$", path.read_text(), re.M)]


def chosen(base, version, per_thread):
    """The exported name that a request reaches: the documented rule of shim/abi/entry_points.def."""
    candidates = [row for row in ROWS if row.base == base and int(row.since) <= version]
    for modes in ([["per_thread"]] if per_thread else []) + [["any", "legacy"]]:
        found = [row for row in candidates if row.mode in modes]
        if found:
            return max(found, key=lambda row: int(row.since)).exported
    return None


class EntryPoints(unittest.TestCase):
    def test_each_exported_name_has_one_row(self):
        twice = [name for name, count in collections.Counter(row.exported for row in ROWS).items() if count > 1]
        self.assertEqual(twice, [])

    def test_columns_hold_known_words_only(self):
        for row in ROWS:
            self.assertIn(row.shim, ("hook", "count", "pass"), row)
            self.assertRegex(row.simgpu, r"^(body|later|refuses_\d+)$", row)
            self.assertIn(row.mode, ("any", "legacy", "per_thread"), row)
            self.assertTrue(row.exported.startswith(row.base), row)

    def test_one_base_has_no_two_forms_for_one_version_and_mode(self):
        forms = collections.Counter((row.base, row.since, row.mode) for row in ROWS)
        self.assertEqual([form for form, count in forms.items() if count > 1], [])

    def test_stream_modes_come_in_pairs(self):
        modes = collections.defaultdict(set)
        for row in ROWS:
            modes[row.base].add(row.mode)
        for base, found in modes.items():
            self.assertIn(found, ({"any"}, {"legacy", "per_thread"}), base)

    def test_both_stream_forms_are_treated_alike(self):
        shim = {row.exported: row.shim for row in ROWS}
        for row in ROWS:
            if row.mode == "per_thread":
                self.assertEqual(row.shim, shim[row.exported[:-len("_ptsz")]], row)

    def test_every_request_of_the_vendors_runtime_is_answered(self):
        words = [word for line in (ROOT / "tests/shim/abi/requested_by_runtime.txt").read_text().splitlines()
                 if not line.startswith("#") for word in line.split()]
        self.assertGreater(len(words), 340)
        known, missing = {row.base for row in ROWS}, []
        for word in words:
            base, versions = word.split(":")
            if not base.startswith(("GL", "EGL", "VDPAU", "Graphics")):
                missing += [f"{base}:{version}" for version in versions.split(",")
                            if not chosen("cu" + base, int(version.rstrip("t")), version.endswith("t"))]
            elif "cu" + base in known and not chosen("cu" + base, 13000, False):
                missing.append(base)
        self.assertEqual(missing, [])

    def test_newer_requests_reach_newer_forms(self):
        self.assertEqual(chosen("cuMemAlloc", 2000, False), "cuMemAlloc")
        self.assertEqual(chosen("cuMemAlloc", 13000, True), "cuMemAlloc_v2")
        self.assertEqual(chosen("cuCtxCreate", 12040, False), "cuCtxCreate_v3")
        self.assertEqual(chosen("cuGetProcAddress", 11030, False), "cuGetProcAddress")
        self.assertEqual(chosen("cuMemcpyHtoD", 6000, True), "cuMemcpyHtoD_v2")
        self.assertEqual(chosen("cuMemcpyHtoD", 7000, True), "cuMemcpyHtoD_v2_ptds")
        self.assertEqual(chosen("cuMemAllocAsync", 11010, False), None)

    @unittest.skipUnless((TOOLKIT / "lib64/stubs/libcuda.so").exists(), f"SKIPPED: no stub library under {TOOLKIT}")
    def test_rows_are_exactly_the_stub_librarys_exports(self):
        listed = subprocess.run(["nm", "-D", "--defined-only", str(TOOLKIT / "lib64/stubs/libcuda.so")], capture_output=True,
                                text=True, check=True).stdout
        exports = {line.split()[2] for line in listed.splitlines() if " T " in line}
        self.assertEqual(exports, {row.exported for row in ROWS})

    @unittest.skipUnless((TOOLKIT / "include/cudaTypedefs.h").exists(), f"SKIPPED: no typedef headers under {TOOLKIT}")
    def test_versions_are_those_of_the_typedef_headers(self):
        published = collections.defaultdict(set)
        for header in ("cudaTypedefs.h", "cudaProfilerTypedefs.h"):
            for base, since, suffix in re.findall(r"PFN_(cu\w+?)_v(\d{4,5})(_pt[ds][sz])?\)", (TOOLKIT / "include" / header).read_text()):
                published[base, bool(suffix)].add(int(since))
        ours = collections.defaultdict(set)
        for row in ROWS:
            ours[row.base, row.mode == "per_thread"].add(int(row.since))
        self.assertEqual(dict(published), dict(ours))


if __name__ == "__main__":
    treatments = collections.Counter(f"shim {row.shim}" for row in ROWS) + collections.Counter(f"simgpu {row.simgpu}" for row in ROWS)
    print(f"{len(ROWS)} entry points: " + ", ".join(f"{count} {what}" for what, count in sorted(treatments.items())))
    unittest.main(verbosity=0)
