#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the C texts that go in front of every generated source as string constants.

Usage: embed.py OUT.cpp ABI.h PRELUDE.h. Comments go, so that the C compiler reads less each time.
"""
import re
import sys


def chunks(path):
    text = open(path).read()
    lines = [re.sub(r"\s*//.*$", "", line) for line in text.split("\n")]
    text = "\n".join(line for line in lines if line.strip()) + "\n"
    return [text[i:i + 8000] for i in range(0, len(text), 8000)]


def literal(path):
    return "\n".join('R"embed(' + chunk + ')embed"' for chunk in chunks(path))


out, abi, prelude = sys.argv[1:]
with open(out, "w") as file:
    file.write("// SPDX-License-Identifier: Apache-2.0\n#include \"tools/simgpu/ptx/runtime/embedded.h\"\n\nnamespace cupool::simgpu::ptx {\n")
    file.write(f"const char* const kAbiText =\n{literal(abi)};\nconst char* const kPreludeText =\n{literal(prelude)};\n")
    file.write("}  // namespace cupool::simgpu::ptx\n")
