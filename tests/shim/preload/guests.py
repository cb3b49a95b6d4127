# SPDX-License-Identifier: Apache-2.0
"""What the tests of the preload share: where things were built, drivers laid out under their real names, programs run both ways."""
import os
import pathlib
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
SHIM = BUILD / "shim"
GUESTS = BUILD / "tests/shim/preload"
PRELOAD = SHIM / "libcupool.so"
DRIVERS = BUILD / "tests/support/fake_cuda"


class Folder:
    """A temporary folder with drivers under their real names, for one test."""

    def __init__(self, test):
        self._holder = tempfile.TemporaryDirectory()
        test.addCleanup(self._holder.cleanup)
        self.path = pathlib.Path(self._holder.name)

    def driver(self, name, folder=None):
        """Lays out fake driver `name` and returns its folder."""
        target = self.path / (folder or f"driver-{name}")
        target.mkdir(exist_ok=True)
        for soname in ("libcuda.so.1", "libcuda.so"):
            (target / soname).symlink_to(DRIVERS / f"libfake_cuda_{name}.so") if not (target / soname).exists() else None
        return target

    def copy(self, *files, folder="copy"):
        target = self.path / folder
        target.mkdir(exist_ok=True)
        for file in files:
            (target / pathlib.Path(file).name).write_bytes(pathlib.Path(file).read_bytes())
        return target


def environment(driver=None, preload=PRELOAD, **extra):
    variables = {key: value for key, value in os.environ.items()
                 if not key.startswith(("CUPOOL", "LD_", "FAKE_CUDA", "SIMGPU", "ASAN", "MALLOC_PERTURB"))}
    variables.pop("MALLOC_PERTURB_", None)
    if driver is not None:
        variables["LD_LIBRARY_PATH"] = str(driver)
    if preload is not None:
        variables["LD_PRELOAD"] = str(preload)
    variables.update({key: str(value) for key, value in extra.items()})
    return variables


def run(program, *arguments, env, timeout=60, **options):
    return subprocess.run([str(program if "/" in str(program) else GUESTS / program), *map(str, arguments)], env=env, text=True,
                          capture_output=True, timeout=timeout, **options)


def lines_of(result):
    """ROUTE -> the rest of its line."""
    return dict(line.split(" ", 1) for line in result.stdout.splitlines() if " " in line)
