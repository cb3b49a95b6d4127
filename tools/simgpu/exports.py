#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the linker's version script: exactly the names of shim/abi/entry_points.def, up to a CUDA version.

Usage: exports.py ENTRIES_FOLDER VERSION OUTPUT [--nvml NVML_POINTS]
"""
import pathlib
import re
import sys

ROW = re.compile(r"^CUPOOL_ENTRY\(\s*\w+,\s*\w+,\s*\w+,\s*(\w+),\s*\w+,\s*(\d+),", re.M)
NVML_ROW = re.compile(r"^CUPOOL_NVML\(\s*\w+,\s*\w+,\s*(\w+)\)", re.M)


def main():
    folder, version, output = pathlib.Path(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3])
    if len(sys.argv) > 4:
        names = NVML_ROW.findall(pathlib.Path(sys.argv[5]).read_text())
    else:
        rows = [row for part in sorted(folder.glob("*.def")) for row in ROW.findall(part.read_text())]
        names = [name for name, since in rows if int(since) <= version]
    output.write_text("{\n  global:\n" + "".join(f"    {name};\n" for name in sorted(names)) + "  local: *;\n};\n")


if __name__ == "__main__":
    main()
