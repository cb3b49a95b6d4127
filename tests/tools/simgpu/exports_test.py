#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""exports_test.py ENTRIES LIBCUDA VERSION...: each library exports exactly the names of its age, and simulates every `body` row.

Arguments come in pairs of a library and its CUDA version. A name without a body is a weak symbol (not_simulated.cpp), so that the
dynamic symbol table tells what is simulated.
"""
import collections
import pathlib
import re
import subprocess
import sys

ROW = re.compile(r"^CUPOOL_ENTRY\(\s*(\w+),\s*(\w+),\s*(\w+),\s*(\w+),\s*(\w+),\s*(\d+),", re.M)


def exported(library):
    listing = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return {fields[2].split("@")[0]: fields[1] for fields in map(str.split, listing.splitlines()) if len(fields) == 3}


def main():
    rows = [row for part in sorted(pathlib.Path(sys.argv[1]).glob("*.def")) for row in ROW.findall(part.read_text())]
    faults = 0
    for library, version in zip(sys.argv[2::2], map(int, sys.argv[3::2])):
        symbols = exported(library)
        of_age = {row[3]: row[2] for row in rows if int(row[5]) <= version}
        for name in sorted(of_age.keys() - symbols.keys()):
            print(f"{library}: {name} is not exported")
            faults += 1
        for name in sorted(symbols.keys() - of_age.keys()):
            print(f"{library}: {name} is exported and not of this age")
            faults += 1
        unfinished = [name for name, treatment in of_age.items() if treatment == "body" and symbols.get(name) == "W"]
        for name in sorted(unfinished):
            print(f"{library}: {name} is a body row and has no body")
            faults += 1
        count = collections.Counter(treatment for treatment in of_age.values())
        print(f"{version}: {len(of_age)} names, " + ", ".join(f"{number} {what}" for what, number in sorted(count.items())))
    if not rows or faults:
        sys.exit(1)


main()
