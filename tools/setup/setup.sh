# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What tests/run and tools/demo share: installing what a fresh machine lacks, and configuring builds. Sourced, not run.
# Every step first looks whether there is anything to do, so that a second run needs no network.

setup_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

setup_say() { printf '== %s\n' "$*"; }
setup_die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# Debian packages that the build and the tests need. setup_packages [PACKAGE...]: installs those of its arguments that are missing.
setup_build_packages=(g++ meson ninja-build git python3 python3-jsonschema gcovr catch2 libexpected-dev librapidcheck-dev libbenchmark-dev nlohmann-json3-dev
  libcli11-dev libfmt-dev libunwind-dev tcc)

# What the benchmarks compare with, and count instructions with.
setup_bench_packages=(libjemalloc2 libmimalloc2.0 libtcmalloc-minimal4 valgrind)

setup_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  setup_say "installing packages: ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || setup_die "these packages are missing and this is not root: ${missing[*]}"
    as_root=(sudo)
  fi
  # The lists of a fresh image may be stale or absent: refresh only when installing needs it.
  if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null 2>&1; then
    "${as_root[@]}" apt-get update -qq >/dev/null || setup_die "apt-get update failed: is a Debian mirror reachable?"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
      setup_die "installing failed; by hand: apt-get install ${missing[*]}"
  fi
}

# setup_build DIR [MESON OPTION...]: configures DIR once and again when its options changed.
setup_build() {
  local dir=$1
  shift
  local wanted="$*" stamp="$dir/.setup-options"
  if [ -f "$dir/build.ninja" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then return 0; fi
  setup_say "configuring ${dir#"$setup_root"/}"
  if [ -f "$dir/build.ninja" ]; then
    meson setup --reconfigure "$dir" "$setup_root" "$@" >"$dir/setup.log" 2>&1 || { cat "$dir/setup.log"; setup_die "meson failed"; }
  else
    mkdir -p "$dir"
    meson setup "$dir" "$setup_root" "$@" >"$dir/setup.log" 2>&1 || { cat "$dir/setup.log"; setup_die "meson failed"; }
  fi
  printf '%s\n' "$wanted" >"$stamp"
}

# setup_venv NAME REQUIREMENTS: a Python virtual environment in .venv/NAME with the pinned packages of a requirements file.
setup_venv() {
  local dir="$setup_root/.venv/$1" requirements=$2
  local stamp="$dir/.requirements"
  cmp -s "$requirements" "$stamp" && return 0
  setup_say "virtual environment .venv/$1 from ${requirements#"$setup_root"/}"
  rm -rf "$dir"
  if ! python3 -m venv "$dir" >/dev/null 2>&1; then
    rm -rf "$dir"
    setup_packages python3-venv
    python3 -m venv "$dir" || setup_die "python3 -m venv $dir failed"
  fi
  "$dir/bin/pip" install --quiet --disable-pip-version-check -r "$requirements" || setup_die "pip could not install $requirements"
  cp "$requirements" "$stamp"
}

# setup_nvrtc NAME: sees to it that NVRTC can be found by what runs in .venv/NAME: the toolkit's, else the one from PyPI. Sets NVRTC_PATH
# where a program would not find it by itself.
setup_nvrtc() {
  local dir="$setup_root/.venv/$1" found
  found=$(ls /usr/local/cuda/lib64/libnvrtc.so /usr/local/cuda/lib64/libnvrtc.so.1? 2>/dev/null | head -n 1)
  if [ -z "$found" ]; then
    found=$(find "$dir" -name 'libnvrtc.so*' ! -name '*alt*' ! -name '*builtins*' 2>/dev/null | head -n 1)
  fi
  if [ -z "$found" ]; then
    setup_say "NVRTC from PyPI (no CUDA toolkit on this machine)"
    "$dir/bin/pip" install --quiet --disable-pip-version-check nvidia-cuda-nvrtc==13.0.88 || setup_die "pip could not install nvidia-cuda-nvrtc"
    found=$(find "$dir" -name 'libnvrtc.so*' ! -name '*alt*' ! -name '*builtins*' | head -n 1)
  fi
  export NVRTC_PATH=$found
}
