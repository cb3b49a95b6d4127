#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kernels_test.py BUILD SOURCE KIND CASE: an unmodified Python program computes on the simulated GPU, and its numbers are right.

tinygrad: equal to tinygrad's own CPU backend within 1e-5 (relative, 1e-3 for half precision); losses fall; equal to the bit between two
runs, with caches cold and warm, by tcc and gcc, with one and two workers, with and without its JIT. numba: the program checks itself.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

build, source, kind, case = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3], sys.argv[4]
here = source / "tests/e2e/kernels"
python = source / f".venv/{kind}/bin/python"
TOLERANCE = {"half": 2e-3, "half_product": 1e-5}


def skip(why):
    print("SKIPPED: " + why)
    sys.exit(77)


def cuda_home(folder):
    """The toolkit laid out as Numba looks for it: nvvm/lib64 and nvvm/libdevice."""
    toolkit = pathlib.Path("/usr/local/cuda")
    library = next((path for path in (toolkit / "nvvm/lib64/libnvvm.so", toolkit / "lib64/libnvvm.so.4", toolkit / "lib64/libnvvm.so") if path.exists()), None)
    device = next(iter(sorted(toolkit.glob("**/libdevice.10.bc"))), None)
    if library is None or device is None:
        skip("libnvvm or libdevice is not installed")
    home = folder / "cuda"
    for path, target in ((home / "nvvm/lib64/libnvvm.so", library), (home / "nvvm/libdevice/libdevice.10.bc", device)):
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.symlink_to(target.resolve())
    return home


def environment(folder, **more):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("CUPOOL", "SIMGPU", "LD_PRELOAD"))}
    machine = folder / "machine"
    machine.mkdir(mode=0o700, exist_ok=True)
    # The server compiles: what it is started with decides where objects are kept.
    return {**clean, "LD_LIBRARY_PATH": f"{build}/tools/simgpu:/usr/local/cuda/lib64", "SIMGPU_DIR": str(machine), "SIMGPU_MEMORY": "1GiB", "SIMGPU_GPUS": "2",
            "SIMGPU_CACHE_DIR": str(folder / "objects"), "XDG_CACHE_HOME": str(folder / "cache"), "DEV": "CUDA", **more}


def run(folder, **more):
    env = environment(folder, **more)
    begin = time.monotonic()
    done = subprocess.run([python, here / f"{kind}_program.py", case], env=env, capture_output=True, text=True, timeout=500, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"status {done.returncode}\n{done.stdout}\n{done.stderr[-3000:]}")
    print(f"{time.monotonic() - begin:.1f} s {more}")
    return done.stdout


def numbers(line):
    return line.get("losses") or line["values"]


def compare(text, reference):
    ours, theirs = [[json.loads(line) for line in part.splitlines()] for part in (text, reference)]
    if len(ours) != len(theirs):
        sys.exit(f"{len(ours)} results, {len(theirs)} expected")
    for got, expected in zip(ours, theirs):
        name = got.get("name", "loss")
        tolerance = TOLERANCE["half"] if "half" in name and "product" not in name else 1e-5
        for a, b in zip(numbers(got), numbers(expected), strict=True):
            if a != b and not (a != a and b != b) and abs(a - b) > tolerance * max(1.0, abs(b)):
                sys.exit(f"{name}: {a}, not {b}")
        if "losses" in got and not got["losses"][-1] < 0.97 * got["losses"][0]:
            sys.exit(f"the loss does not fall: {got['losses']}")


def tinygrad(folder):
    if not pathlib.Path(os.environ.get("NVRTC_PATH") or "/usr/local/cuda/lib64/libnvrtc.so").exists():
        skip("NVRTC is not installed")
    first = run(folder)
    if case == "half_product":  # the CPU backend rounds bfloat16 otherwise: the program brings numpy's result along
        lines = first.splitlines()
        compare("\n".join(lines[0::2]), "\n".join(lines[1::2]))
    elif case == "two_devices":
        lines = [json.loads(line) for line in first.splitlines()]
        if len(lines) != 3 or any(value != value for line in lines for value in line["values"]):
            sys.exit(f"wrong results: {lines}")
    elif shutil.which("clang"):
        compare(first, run(folder, DEV="CPU", PARALLEL="0"))
    else:
        print("not compared with the CPU backend: it needs clang")
    variants = [{}]
    if case == "mlp_adam":
        variants += [{"SIMGPU_CC": "gcc"}, {"SIMGPU_WORKERS": "1"}, {"SIMGPU_WORKERS": "2"}, {"JIT": "0"}, {"JIT": "2"}]
    for variant in variants:
        if run(folder, **variant) != first:
            sys.exit(f"other bits with {variant or 'warm caches'}")


def numba(folder):
    print(run(folder, CUDA_HOME=str(cuda_home(folder)), NUMBA_CUDA_DRIVER=f"{build}/tools/simgpu/libcuda.so.1"))


if not python.exists():
    skip(f".venv/{kind} is missing; tests/run makes it")
with tempfile.TemporaryDirectory() as name:
    {"tinygrad": tinygrad, "numba": numba}[kind](pathlib.Path(name))
