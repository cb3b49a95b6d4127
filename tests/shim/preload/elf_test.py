#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The two files themselves. Usage: elf_test.py PRELOAD CORE SOURCE_ROOT (the stripped core is measured on a copy)."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PRELOAD, CORE, ROOT = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
del sys.argv[1:]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def defined(library):
    """name -> version of what a library defines dynamically."""
    symbols = {}
    for line in output("objdump", "-T", library).splitlines():
        fields = line.split()
        if len(fields) > 5 and "*UND*" not in line and re.match(r"[0-9a-f]{16}$", fields[0]):
            symbols[fields[-1]] = fields[-2]
    return symbols


def newest_glibc(library):
    return max(tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([\d.]+)", output("objdump", "-T", library)))


def rows(*files):
    return [re.split(r",\s*", row) for file in files for row in re.findall(r"^CUPOOL_\w+\((.*?)\)?$", (ROOT / file).read_text(), re.M)]


class Preload(unittest.TestCase):
    def test_needs_libc_libdl_and_libpthread_by_name_and_nothing_else(self):
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", PRELOAD))
        self.assertEqual(sorted(needed), ["libc.so.6", "libdl.so.2", "libpthread.so.0"])

    def test_runs_nothing_when_it_is_loaded(self):
        dynamic = output("readelf", "-d", PRELOAD)
        for tag in ("(INIT)", "(INIT_ARRAY)", "(PREINIT_ARRAY)", "(FINI)", "(FINI_ARRAY)"):
            self.assertNotIn(tag, dynamic)

    def test_wants_no_symbol_version_newer_than_2_17(self):
        self.assertLessEqual(newest_glibc(PRELOAD), (2, 17))

    def test_has_no_thread_local_storage(self):
        self.assertNotIn("TLS", output("readelf", "-lW", PRELOAD))

    def test_is_at_most_40_kib(self):
        self.assertLessEqual(pathlib.Path(PRELOAD).stat().st_size, 40 * 1024)

    def test_exports_exactly_the_governed_names_and_the_loader_functions(self):
        entries = rows(*[f"shim/abi/entries/{file.name}" for file in (ROOT / "shim/abi/entries").glob("*.def")])
        driver = {row[3] for row in entries if row[1] in ("hook", "count")}
        nvml = {row[2] for row in rows("shim/abi/nvml_points.def") if row[0] == "hook"}
        runtime = {row[0] for row in rows("shim/abi/runtime_points.def")}
        exported = defined(PRELOAD)
        exported.pop("CUPOOL_1", None)  # the version itself
        self.assertEqual(set(exported), driver | nvml | runtime | {"dlsym", "dlvsym", "dlmopen"})
        # Hidden from lookups by name; callers of the runtime ask for its own version, which only an unversioned name satisfies.
        self.assertEqual({exported[name] for name in driver | nvml}, {"(CUPOOL_1)"})
        self.assertEqual({exported[name] for name in runtime | {"dlsym", "dlvsym", "dlmopen"}}, {"Base"})


class Core(unittest.TestCase):
    def test_exports_its_attachment_alone(self):
        self.assertEqual(list(defined(CORE)), ["cupool_core_attach"])

    def test_brings_its_own_cpp_library(self):
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", CORE))
        self.assertEqual([name for name in needed if "stdc++" in name or "gcc" in name], [])

    def test_is_at_most_3_mib_stripped(self):
        with tempfile.NamedTemporaryFile() as stripped:
            subprocess.run(["strip", "-o", stripped.name, CORE], check=True)
            size = pathlib.Path(stripped.name).stat().st_size
        print(f"preload {pathlib.Path(PRELOAD).stat().st_size} bytes, core {size} bytes stripped")
        self.assertLessEqual(size, 3 << 20)


if __name__ == "__main__":
    unittest.main(verbosity=0)
