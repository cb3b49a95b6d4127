#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""exports.py SOURCE_ROOT VERSION [NODE]: a linker version script that exports what a driver of that CUDA version exports.

With NODE the symbols carry that symbol version, which no vendor's driver has; lookups by version need one.
"""
import pathlib
import re
import sys

root, version = pathlib.Path(sys.argv[1]), int(sys.argv[2])
rows = [re.split(r",\s*", row) for path in sorted(root.glob("shim/abi/entries/*.def"))
        for row in re.findall(r"^CUPOOL_ENTRY\((.*)\)$", path.read_text(), re.M)]
names = [exported for _, _, _, exported, _, since, _ in rows if int(since) <= version]
print((sys.argv[3] if len(sys.argv) > 3 else "") + "{ global: fake_calls; " + " ".join(name + ";" for name in names) + " local: *; };")
