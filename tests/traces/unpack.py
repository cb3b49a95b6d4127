#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""unpack.py SOURCE.xz TARGET: what the build uses to unpack a trace."""
import lzma
import pathlib
import sys

pathlib.Path(sys.argv[2]).write_bytes(lzma.open(sys.argv[1]).read())
