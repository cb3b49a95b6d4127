#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the tree to its rooms: who may include whom, what may stand at the top, a README in each folder, SPDX lines.

Usage: check_rooms.py ROOT. Prints one line per fault (file:line: what, and the remedy) and exits 1 when there is any.
"""
import pathlib
import re
import subprocess
import sys

# room -> rooms whose headers it may include directly. "And whatever those may use" follows by closure.
ROOMS = {
    "policy/base": [],
    "policy": ["policy/base"],
    "policy/decide": ["policy"],
    "policy/simulate": ["policy/decide"],
    "policy/host": ["policy"],
    "pool/heap": ["policy/base"],
    "pool/ledger": ["policy/decide"],
    "pool": ["pool/heap", "pool/ledger", "policy/decide"],
    "shim/abi": [],
    "shim/preload": ["shim/abi"],
    "shim/report": ["pool", "policy/host"],
    "shim/ipc": ["shim/abi", "pool"],
    "shim": ["shim/abi", "shim/report", "shim/ipc", "pool", "policy/host"],
    "tools/simgpu": ["shim/abi", "policy/base"],
    "tools/cupool": ["pool", "policy/host", "policy/simulate", "shim/report"],
}
# A header of the outside world (matched from its start) -> the only files or folders that may include it.
OUTSIDE = {
    "nlohmann/": ["policy/parse.cpp", "shim/report/", "tools/cupool/", "tests/"],
    "CLI/": ["tools/cupool/", "tools/simgpu/ptx/tool/", "tests/"],
    "fmt/": ["tools/cupool/", "tests/"],
    "dlfcn.h": ["shim/", "tools/simgpu/", "tools/cupool/cmd_doctor.cpp", "tools/cupool/launch/probe.c", "tests/"],
    "libunwind.h": ["shim/report/call_site.cpp"],
    "sys/socket.h": ["shim/ipc/", "tools/simgpu/", "tests/"],
    "sys/mman.h": ["pool/ledger/store.cpp", "shim/report/", "tools/simgpu/", "tests/"],
    "thread": ["pool/", "shim/ipc/", "shim/", "tools/simgpu/", "tests/"],
    "cuda.h": ["tests/"],
    "catch2/": ["tests/"],
    "rapidcheck": ["tests/"],
    "benchmark/": ["tests/"],
}
# Pure rooms: no clock, lock, thread, file or operating system at all.
PURE = ["policy/", "pool/heap/"]
PURE_EXEMPT = ["policy/host/", "policy/base/"]
IMPURE = re.compile(r"^(thread|mutex|shared_mutex|condition_variable|chrono|ctime|time\.h|fstream|iostream|filesystem|unistd\.h|fcntl\.h|"
                    r"sys/.*|pthread\.h|dlfcn\.h|cstdlib_env)$")
TOP = {"meson.build", "meson_options.txt", "shim", "pool", "policy", "tools", "tests", "config", "README.md"}
SOURCE = {".h", ".cpp", ".c", ".S", ".def", ".inc", ".cu"}
NEEDS_SPDX = SOURCE | {".py", ".sh", ".build"}
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')


def room_of(path):
    """The innermost room that holds a path, or None (tests/X is judged as its own kind)."""
    best = None
    for room in ROOMS:
        if path.startswith(room + "/") and (best is None or len(room) > len(best)):
            best = room
    return best


def closure(room):
    seen, todo = set(), [room]
    while todo:
        current = todo.pop()
        if current not in seen:
            seen.add(current)
            todo.extend(ROOMS[current])
    return seen


def tracked(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    if listed.returncode == 0:
        return [p for p in listed.stdout.split("\n") if p and (root / p).exists()]
    return [str(p.relative_to(root)) for p in root.rglob("*") if p.is_file() and not str(p.relative_to(root)).startswith("build")]


def check_includes(path, text, faults):
    room = room_of(path)
    allowed = closure(room) if room else None
    for number, line in enumerate(text.split("\n"), 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        quoted, name = found.group(1) == '"', found.group(2)
        where = f"{path}:{number}"
        target = room_of(name)
        if quoted and target is None and "/" not in name:
            faults.append(f'{where}: include "{name}" by its path from the root')
        if room and target and target not in allowed:
            faults.append(f"{where}: room {room} may not use {target} (it may use: {', '.join(sorted(allowed - {room})) or 'nothing'})")
        if room and name.startswith("tests/"):
            faults.append(f"{where}: only tests may include from tests/")
        if quoted:
            continue
        for header, places in OUTSIDE.items():
            hit = name == header if not header.endswith("/") and header != "rapidcheck" else name.startswith(header)
            if hit and not any(path.startswith(place) for place in places):
                faults.append(f"{where}: <{name}> belongs in {', '.join(places)} only")
        if any(path.startswith(p) for p in PURE) and not any(path.startswith(p) for p in PURE_EXEMPT) and IMPURE.match(name):
            faults.append(f"{where}: {path.rsplit('/', 1)[0]}/ is pure: <{name}> may not be used here")


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    files = tracked(root)
    faults = []
    for path in files:
        top = path.split("/")[0]
        if top not in TOP and not top.startswith("."):
            faults.append(f"{path}: {top} does not belong at the top level (allowed: {', '.join(sorted(TOP))})")
    folders = {str(pathlib.PurePath(p).parent) for p in files}
    for folder in sorted(folders - {"."}):
        is_room = folder.split("/")[0] in TOP and not folder.startswith("tests/") and not any(part.startswith(".") for part in folder.split("/"))
        if is_room and any(pathlib.PurePath(p).suffix in SOURCE | {".json"} for p in files if str(pathlib.PurePath(p).parent) == folder):
            if folder + "/README.md" not in files:
                faults.append(f"{folder}: has no README.md (half a page: what it is, who may use it, its invariants)")
    for path in files:
        suffix = pathlib.PurePath(path).suffix
        if suffix not in NEEDS_SPDX and pathlib.PurePath(path).name != "meson.build":
            continue
        text = (root / path).read_text(errors="replace")
        if "SPDX-License-Identifier: Apache-2.0" not in "\n".join(text.split("\n")[:3]):
            faults.append(f"{path}:1: add the line SPDX-License-Identifier: Apache-2.0")
        if suffix in SOURCE:
            check_includes(path, text, faults)
    for fault in faults:
        print(fault)
    print(f"{len(files)} files read, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
