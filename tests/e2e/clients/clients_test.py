#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clients_test.py BUILD SOURCE KIND [CASE]: programs that others wrote and published run on the simulated GPU as they are.

KIND: bindings or core (CASE of bindings_program.py or core_program.py), nvml, numba_suite.
"""
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

build, source, kind = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
here = source / "tests/e2e/clients"
tools = source / ".venv/clients/bin"
MIB = 1 << 20
CONTEXT = 100  # MiB that a context takes
# The whole suite of Numba 0.68.1. Fewer tests would hide failures, more would mean another version.
NUMBA_TESTS, NUMBA_SKIPPED = 235, 4


def skip(why):
    print("SKIPPED: " + why)
    sys.exit(77)


def check(condition, what):
    if not condition:
        sys.exit("FAILED: " + what)


def environment(folder, **more):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("CUPOOL", "SIMGPU", "LD_PRELOAD", "NUMBA", "CUDA_"))}
    machine = folder / "machine"
    machine.mkdir(mode=0o700, exist_ok=True)
    return {**clean, "LD_LIBRARY_PATH": f"{build}/tools/simgpu:/usr/local/cuda/lib64", "SIMGPU_DIR": str(machine), "SIMGPU_MEMORY": "2GiB",
            "SIMGPU_CONTEXT_MEMORY": f"{CONTEXT}MiB", "SIMGPU_CACHE_DIR": str(folder / "objects"), **more}


def run(command, env, expect=0):
    done = subprocess.run([str(word) for word in command], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200)
    check(expect is None or done.returncode == expect, f"status {done.returncode}: {command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done


def program(folder):
    print(run([tools / "python", here / f"{kind}_program.py", sys.argv[4]], environment(folder)).stdout)


@contextlib.contextmanager
def holder(env, mebibytes):
    """Another process that holds memory on the first GPU while the body runs; gives its process id."""
    process = subprocess.Popen([tools / "python", here / "bindings_program.py", "hold", str(mebibytes)], env=env, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    try:
        check(process.stdout.readline() == "holding\n", "the process that holds memory has failed")
        yield process.pid
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(60)


def readings(env):
    """Used and total MiB of both GPUs, as each of the three tools says it, and the process ids that each lists."""
    raw = json.loads(run([tools / "python", here / "nvml_program.py"], env).stdout)["gpus"]
    check([gpu["name"] for gpu in raw] == ["NVIDIA H200", "NVIDIA A100-SXM4-80GB"], f"pynvml's names: {raw}")
    for gpu in raw:
        check(gpu["v1"]["used"] + gpu["v1"]["free"] == gpu["v1"]["total"], f"version 1 does not add up: {gpu}")
        check(gpu["v2"]["used"] + gpu["v2"]["free"] + gpu["v2"]["reserved"] == gpu["v2"]["total"], f"version 2 does not add up: {gpu}")
    answer = {"pynvml": [(gpu["v2"]["used"] // MIB, gpu["v2"]["total"] // MIB, [int(pid) for pid in gpu["processes"]]) for gpu in raw]}

    stat = json.loads(run([tools / "gpustat", "--json"], env).stdout)["gpus"]
    check([gpu["name"] for gpu in stat] == [gpu["name"] for gpu in raw], f"gpustat's names: {stat}")
    answer["gpustat"] = [(gpu["memory.used"], gpu["memory.total"], [process["pid"] for process in gpu["processes"]]) for gpu in stat]

    screen = run([tools / "nvitop", "-1", "--ascii"], {**env, "COLUMNS": "100", "LINES": "50"}).stdout
    check("H200" in screen and "A100-SXM4-80GB" in screen, f"nvitop's names:\n{screen}")
    memory = [(0 if used == "0B" else int(float(used.removesuffix("MiB"))), int(total)) for used, total in re.findall(r"(\S+) / (\d+)MiB", screen)]
    listed = [[int(pid) for gpu, pid in re.findall(r"^\W+(\d+) +(\d+) C ", screen, re.MULTILINE) if int(gpu) == index] for index in range(2)]
    check(len(memory) == 2, f"nvitop shows no memory:\n{screen}")
    answer["nvitop"] = [(*figures, pids) for figures, pids in zip(memory, listed)]
    return answer


def nvml(folder):
    env = environment(folder, SIMGPU_GPUS="1xh200,1xa100", SIMGPU_MEMORY="2GiB,1GiB")
    idle = readings(env)
    with holder(env, 300) as first:
        one = readings(env)
        with holder(env, 200) as second:
            both = readings(env)
    after = readings(env)
    for tool in idle:
        check([gpu[0] for gpu in idle[tool]] == [0, 0] and [gpu[2] for gpu in idle[tool]] == [[], []], f"{tool}, idle: {idle[tool]}")
        # NVML's total is what programs can have and what the driver keeps for itself.
        for (_, total, _), capacity in zip(idle[tool], (2048, 1024)):
            check(capacity <= total <= capacity + 16, f"{tool}, total: {idle[tool]}")
        check(one[tool] == [(300 + CONTEXT, idle[tool][0][1], [first]), idle[tool][1]], f"{tool}, one process: {one[tool]}")
        used, _, pids = both[tool][0]
        check(used == 500 + 2 * CONTEXT and sorted(pids) == sorted([first, second]), f"{tool}, two processes: {both[tool]}")
        check(both[tool][1] == idle[tool][1], f"{tool}: the other GPU changed: {both[tool]}")
        check(after[tool] == idle[tool], f"{tool}, after both ended: {after[tool]}")


def toolkit(folder):
    """The CUDA toolkit's compiler laid out as Numba looks for it: nvvm/lib64 and nvvm/libdevice."""
    cuda = pathlib.Path("/usr/local/cuda")
    library = next((path for path in (cuda / "nvvm/lib64/libnvvm.so", cuda / "lib64/libnvvm.so.4", cuda / "lib64/libnvvm.so") if path.exists()), None)
    device = next(iter(sorted(cuda.glob("**/libdevice.10.bc"))), None)
    if library is None or device is None:
        skip("libnvvm or libdevice is not installed, and Numba cannot compile")
    home = folder / "cuda"
    for path, target in ((home / "nvvm/lib64/libnvvm.so", library), (home / "nvvm/libdevice/libdevice.10.bc", device)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target.resolve())
    return home


def numba_suite(folder):
    known = {}
    for line in (here / "numba_cudadrv_known_failures.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, reason = line.partition(" ")
            check(reason.strip(), f"a known failure without its reason: {name}")
            known[name] = reason
    # Its managed-memory test touches half of the GPU's memory, for real. Two GPUs: its tests of several devices run too.
    env = environment(folder, SIMGPU_MEMORY="1GiB", SIMGPU_GPUS="2", CUDA_HOME=str(toolkit(folder)), NUMBA_CUDA_DRIVER=f"{build}/tools/simgpu/libcuda.so.1",
                      NUMBA_CACHE_DIR=str(folder / "numba"))
    output = run([tools / "python", "-m", "numba.runtests", "-v", "numba.cuda.tests.cudadrv"], env, expect=None).stderr
    failed = {name if name.endswith("." + test) else f"{name}.{test}" for test, name in re.findall(r"^(?:ERROR|FAIL): (\S+) \(([^)\s]+)\)", output, re.MULTILINE)}
    counted = re.search(r"^Ran (\d+) tests", output, re.MULTILINE)
    check(counted, f"the suite did not end:\n{output[-3000:]}")
    skipped = re.search(r"skipped=(\d+)", output)
    numbers = (int(counted[1]), int(skipped[1]) if skipped else 0)
    if failed != set(known):
        print(output[-20000:])
    check(failed <= set(known), "new failures: " + " ".join(sorted(failed - set(known))))
    check(failed == set(known), "known failures that pass: take them off the list: " + " ".join(sorted(set(known) - failed)))
    check(numbers == (NUMBA_TESTS, NUMBA_SKIPPED), f"{numbers[0]} tests, {numbers[1]} skipped; expected {NUMBA_TESTS} and {NUMBA_SKIPPED}")
    print(f"{numbers[0]} tests, {numbers[1]} skipped, {len(failed)} known failures")


if not (tools / "python").exists():
    skip(".venv/clients is missing; tests/run makes it")
with tempfile.TemporaryDirectory() as name:
    {"bindings": program, "core": program, "nvml": nvml, "numba_suite": numba_suite}[kind](pathlib.Path(name))
