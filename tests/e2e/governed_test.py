#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""governed_test.py BUILD SOURCE CASE: real programs on a simulated GPU, bare and under cupool. Cases: see `cases` below."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

build, source, case = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
cupool, simgpu = build / "tools/cupool/cupool", build / "tools/simgpu"
programs = source / "tests/e2e/programs"
python = source / ".venv/tinygrad/bin/python"
POLICY = {"version": 1, "classes": {"standard": {"priority": 50, "limit": "512MiB", "on_full": "deny"}}, "default_class": "standard"}


def environment(folder, **more):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("CUPOOL", "SIMGPU", "LD_PRELOAD"))}
    return {**clean, "DEV": "CUDA", "XDG_STATE_HOME": str(folder / "state"), "XDG_CACHE_HOME": str(folder / "cache"), **more}


def simulated(folder, memory="2GiB", **more):
    (folder / "sim").mkdir(mode=0o700, exist_ok=True)
    return environment(folder, LD_LIBRARY_PATH=str(simgpu), SIMGPU_DIR=str(folder / "sim"), SIMGPU_MEMORY=memory, **more)


def run(command, env, expect=0):
    done = subprocess.run([str(word) for word in command], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=400)
    if expect is not None and done.returncode != expect:
        sys.exit(f"status {done.returncode}, expected {expect}: {command}\n{done.stdout}\n{done.stderr}")
    return done


def write_policy(folder, policy=POLICY):
    path = folder / "policy.json"
    path.write_text(json.dumps(policy))
    return path


def governed(folder, command, *options, memory="2GiB", expect=0, policy=POLICY):
    report = folder / "report.json"
    done = run([cupool, "run", "--sim", memory, "--policy", write_policy(folder, policy), "--report", report, *options, "--", *command], environment(folder), expect)
    return done, json.loads(report.read_text()) if report.exists() else None


def check(condition, what):
    if not condition:
        sys.exit("FAILED: " + what)


def needs_tinygrad():
    if not python.exists():
        print("SKIPPED: .venv/tinygrad is missing; tests/run makes it")
        sys.exit(77)


def training(folder, *options, **env):
    """Trains bare and governed; the losses must be equal to the bit, and fall."""
    needs_tinygrad()
    command = [python, programs / "train_mlp.py", *options]
    bare = run(command, simulated(folder, **env))
    os.environ.update(env)
    done, report = governed(folder, command)
    check(bare.stdout == done.stdout, f"the losses differ:\n{bare.stdout}\n{done.stdout}")
    losses = [float(line.split()[3]) for line in bare.stdout.splitlines()]
    check(losses[-1] < 0.9 * losses[0], f"the loss does not fall: {losses}")
    gpu = report["processes"][0]["gpus"][0]
    check(report["governed"] is True and gpu["pooled"] is True, "the report says: not governed")
    check(report["processes"][0]["policy_source"].endswith("policy.json"), f"policy: {report['processes'][0]['policy_source']}")
    check(0 < gpu["peak_bytes"] <= 512 << 20 and gpu["limit_bytes"] == 512 << 20, f"peak and limit: {gpu}")
    check(any(entry["name"] == "cuMemAlloc_v2" and entry["calls"] > 0 for entry in report["processes"][0]["entry_points"]), "no calls were counted")
    return report


def train_adam(folder):
    training(folder)


def train_sgd_without_cache(folder):
    # LRU=0: every buffer is allocated and freed at every step.
    report = training(folder, "--optimizer", "sgd", LRU="0")
    check(report["processes"][0]["gpus"][0]["frees"] > 40, "the frees were not seen")


def train_without_graphs(folder):
    training(folder, "--steps", "6", JIT="0")


def limit_holds(folder):
    done, report = governed(folder, [sys.executable, programs / "ask_too_much.py"])
    check("512 MiB in all, 512 MiB free" in done.stdout, done.stdout)
    check("got 512 MiB, then error 2" in done.stdout, done.stdout)
    check("and is told: 0 MiB free" in done.stdout, done.stdout)
    check("asking again gives 0" in done.stdout, done.stdout)
    process = report["processes"][0]
    check(process["refusals"][0]["rule"] == "/classes/standard/limit", f"{process['refusals']}")
    check("refused" in done.stderr and "/classes/standard/limit" in done.stderr, done.stderr)


def raw_preload(folder):
    report = folder / "raw.json"
    env = simulated(folder, LD_PRELOAD=str(build / "shim/libcupool.so"), CUPOOL_POLICY=str(write_policy(folder)), CUPOOL_REPORT=str(report))
    done = run([sys.executable, programs / "ask_too_much.py"], env)
    check("got 512 MiB, then error 2" in done.stdout, done.stdout)
    written = json.loads(report.read_text())
    check(written["run"]["launched_by_cupool_run"] is False and written["governed"] is True, f"{written['run']}")
    check(written["processes"][0]["ended"] == "exit", "the process did not finish its record")


def broken_policy_refuses(folder):
    broken = folder / "broken.json"
    broken.write_text('{"version": 1, "classes": {"standard": {"limit": "12 GB"}}}')
    done = run([cupool, "run", "--sim", "2GiB", "--policy", broken, "--", "/bin/echo", "ran"], environment(folder), expect=125)
    check("ran" not in done.stdout and "broken.json" in done.stderr, done.stderr)
    raw = run([sys.executable, programs / "ask_too_much.py"], simulated(folder, LD_PRELOAD=str(build / "shim/libcupool.so"), CUPOOL_POLICY=str(broken)))
    check("got 0 MiB, then error 2" in raw.stdout, raw.stdout)
    check("allocations are refused" in raw.stderr, raw.stderr)


def killed_program_is_reported(folder):
    program = "import ctypes,os,signal\nexec(open(%r).read().split('print(f\"after')[0].split('for block')[0])\nos.kill(os.getpid(), signal.SIGKILL)" % str(programs / "ask_too_much.py")
    done, report = governed(folder, [sys.executable, "-c", program], expect=-9)
    process = report["processes"][0]
    check(report["run"]["exit"] == {"signal": 9}, f"{report['run']}")
    check(process["ended"] == "no exit handler ran" and process["gpus"][0]["current_bytes"] == 512 << 20, f"{process['gpus'][0]['current_bytes']}")
    check(len(process["refusals"]) == 1, "the refusal is lost")


def launcher_is_transparent(folder):
    for status in (0, 7, 255):
        done = run([cupool, "run", "--", "sh", "-c", f"echo out; echo err >&2; exit {status}"], environment(folder), expect=status)
        check(done.stdout == "out\n" and "err\n" in done.stderr, f"{done}")
    check(run([cupool, "run", "--", "sh", "-c", "kill -TERM $$"], environment(folder), expect=None).returncode == -15, "the signal is lost")
    check(run([cupool, "run", "--", "no-such-program"], environment(folder), expect=None).returncode == 127, "not found is 127")
    check(run([cupool, "run", "--", "/etc/passwd"], environment(folder), expect=None).returncode == 126, "not executable is 126")


def installed_under_a_path_with_blanks(folder):
    home = folder / "a place: here"
    run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", home], environment(folder))
    command = next(home.rglob("bin/cupool"))
    report = folder / "report.json"
    done = run([command, "run", "--sim", "2GiB", "--policy", write_policy(folder), "--report", report, "--", sys.executable, programs / "ask_too_much.py"], environment(folder))
    check("got 512 MiB, then error 2" in done.stdout, done.stdout + done.stderr)
    env = simulated(folder)
    done = run([command, "run", "--policy", write_policy(folder), "--report", folder / "second.json", "--", sys.executable, programs / "ask_too_much.py"], env)
    check("got 512 MiB, then error 2" in done.stdout, done.stdout + done.stderr)
    check((next(home.rglob("share/cupool")) / "policies/lab.json").exists(), "the policies are not installed")


def threads_hammer(folder):
    hammer = build / "tests/e2e/hammer"
    check("wrong bytes or codes: 0" in run([hammer], simulated(folder)).stdout, "the simulated GPU is wrong by itself")
    done, report = governed(folder, [hammer])
    check("wrong bytes or codes: 0" in done.stdout, done.stdout)
    gpu = report["processes"][0]["gpus"][0]
    check(gpu["current_bytes"] == 0 and gpu["leaked_blocks"] == 0, f"books: {gpu['current_bytes']} bytes, {gpu['leaked_blocks']} blocks left")


def copies_between_devices(folder):
    # Without peer access switched on: cuMemAlloc memory can be copied between devices all the same, and so must the pool's.
    done, report = governed(folder, [build / "tests/tools/simgpu/driver/simgpu_driver_peer_test", "copies go from one device to another*"], memory="2GiBx2")
    check("All tests passed" in done.stdout and len(report["processes"][0]["gpus"]) == 2, done.stdout)


def a_small_limit_is_never_exceeded(folder):
    tight = json.loads(json.dumps(POLICY))
    tight["classes"]["standard"]["limit"] = "128MiB"
    done, report = governed(folder, [build / "tests/e2e/hammer"], policy=tight)
    check("wrong bytes or codes: 0" in done.stdout, done.stdout)
    gpu = report["processes"][0]["gpus"][0]
    check(gpu["peak_bytes"] <= gpu["peak_leased_bytes"] <= 128 << 20, f"peak {gpu['peak_bytes']}, leased {gpu['peak_leased_bytes']}")


def report_follows_its_schema(folder):
    governed(folder, [sys.executable, programs / "ask_too_much.py"])
    judge = "import json,sys,jsonschema; jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))"
    run(["/usr/bin/python3", "-c", judge, folder / "report.json", source / "config/report.schema.json"], environment(folder))


def static_program_is_refused(folder):
    if shutil.which("cc") is None:
        print("SKIPPED: no C compiler")
        sys.exit(77)
    (folder / "p.c").write_text("int main(void) { return 0; }")
    run(["cc", "-static", "-o", folder / "p", folder / "p.c"], environment(folder))
    done = run([cupool, "run", "--", folder / "p"], environment(folder), expect=125)
    check("static program" in done.stderr and "not started" in done.stderr, done.stderr)


def reports_in_other_shapes(folder):
    governed(folder, [sys.executable, programs / "ask_too_much.py"])
    report = folder / "report.json"
    check("/classes/standard/limit" in run([cupool, "report", report], environment(folder)).stdout, "no rule in the table")
    run([cupool, "report", report, "--html", folder / "r.html"], environment(folder))
    check("<svg" in (folder / "r.html").read_text(), "no picture in the page")
    viz = json.loads(run([cupool, "report", report, "--to", "memory-viz"], environment(folder)).stdout)
    check(len(viz["device_traces"]) == 1 and any(event["action"] == "oom" for event in viz["device_traces"][0]), "no refusal in the snapshot")
    trace = json.loads(run([cupool, "report", report, "--to", "chrome-trace"], environment(folder)).stdout)
    check(any(event["ph"] == "i" for event in trace["traceEvents"]), "no refusal in the trace")
    merged = json.loads(run([cupool, "--json", "report", report, report], environment(folder)).stdout)
    check(len(merged["processes"]) == 2, "merging lost a process")
    check(run([cupool, "report", source / "meson.build"], environment(folder), expect=2).stderr.count("meson.build"), "the file is not named")


cases = {name: body for name, body in list(globals().items()) if callable(body) and getattr(body, "__code__", None) and body.__code__.co_varnames[:1] == ("folder",) and body.__code__.co_argcount == 1 and body.__name__ != "environment"}

with tempfile.TemporaryDirectory() as name:
    cases[case](pathlib.Path(name))
print("ok")
