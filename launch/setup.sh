#!/usr/bin/env bash
# Everything patchbench needs on a bare Debian 12 or Ubuntu 24.04 (root or sudo), then configure and build.
# A second call skips what is done.
set -euo pipefail
# shellcheck source=launch/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
    cat <<'TEXT'
usage: launch/setup.sh [--preset P] [--target T]... [--checks] [--no-packages]
  --preset P      CMake preset: release (default, or $PATCHBENCH_PRESET), ci, sanitize
  --target T      build only T, e.g. patchbench (default: everything)
  --checks        also install what .ci/run needs: clang-format, clang-tidy, shellcheck, clang with libFuzzer, and the
                  engines of launch/engines.sh
  --no-packages   leave the system's packages alone (clusters, other distributions)
PATCHBENCH_TORCH=<torch folder> uses an installed torch==2.11.0 instead of one in .venv.
TEXT
}

packages=(
    g++ cmake ninja-build ccache git pkg-config python3 python3-venv
    libopenmpi-dev openmpi-bin
    libopencv-core-dev libopencv-imgproc-dev libopencv-photo-dev libtiff-dev libpng-dev libjpeg-dev libwebp-dev
    libyaml-cpp-dev libcli11-dev libfmt-dev nlohmann-json3-dev
    libboost-dev libeigen3-dev libzip-dev libssl-dev librandom123-dev libhwy-dev libonnx-dev libprotobuf-dev
    libgtest-dev libgmock-dev libbenchmark-dev
    zstd xz-utils patchelf # launch/bundle.sh
    hwloc # launch/bind.sh
    iproute2 # tests/cluster: hosts in network namespaces
)
# Versions that both distributions carry, so that both see the same findings.
check_packages=(clang-format-14 clang-tidy-16 shellcheck clang-14 libclang-rt-14-dev) # the last two: tests/fuzz

torch_requirements=(torch==2.11.0)
# Not the metapackage: these five are all that nvcc needs (300 MB). Their versions match the CUDA of the torch wheel.
nvcc_requirements=(
    nvidia-cuda-nvcc==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-cccl==13.0.85
    nvidia-cuda-runtime==13.0.96
)
# Headers of cuDNN's fused layers. What its Python part depends on is not needed.
fusion_requirements=(nvidia-cudnn-frontend==1.32.0)
# plotly.min.js, which report.html carries. PATCHBENCH_PLOTLY=<plotly.min.js> uses another copy.
plotly_requirements=(plotly==6.3.0)
venv=$root/.venv

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

missing_packages() {
    local package
    for package in "$@"; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
    done
}

can_become_root() {
    [ "$(id -u)" = 0 ] && return
    command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }
}

install_packages() {
    command -v dpkg-query >/dev/null ||
        die "this is not Debian or Ubuntu: install the equivalents of '$*', then call again with --no-packages"
    local missing
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    local by_hand="apt-get install -y --no-install-recommends ${missing[*]}"
    can_become_root || die "packages are missing and there is no root or sudo here; ask an administrator for: $by_hand"
    say "installing ${#missing[@]} packages: ${missing[*]}"
    local log
    log=$(mktemp -t patchbench-packages.XXXXXX)
    as_root apt-get update -qq >"$log" 2>&1 || true # a broken third-party source is no reason to stop; the next decides
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" \
        >>"$log" 2>&1 || die "packages could not be installed (no network? log: $log); what is missing: $by_hand"
    rm "$log"
}

require_disk() { # GB, for what
    local free_gb
    free_gb=$(df --output=avail -k "$root" | awk 'END { print int($1 / 1000000) }')
    [ "$free_gb" -ge "$1" ] ||
        die "too little disk: $2 needs $1 GB in $root and $free_gb GB are free; free some, or move the folder"
}

# A wheel exists for CPython 3.10 to 3.14; the python3 on PATH need not be the system's.
find_python() {
    local python
    for python in python3 /usr/bin/python3; do
        "$python" -c 'import sys, venv, ensurepip; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 14))' \
            2>/dev/null && { echo "$python"; return; }
    done
    die "no Python 3.10 to 3.14 with the module venv: install python3 and python3-venv"
}

# Whether .venv holds exactly these. pip installs what a package depends on before the package itself, so what is listed
# here is there whole or not at all.
pip_holds() {
    "$venv/bin/python" - "$@" 2>/dev/null <<'PY'
import importlib.metadata, sys
pins = dict(requirement.split("==") for requirement in sys.argv[1:])
sys.exit(any(importlib.metadata.version(name) != version for name, version in pins.items()))
PY
}

pip_install() { # name, GB, requirements..
    local name=$1 size_gb=$2
    shift 2
    pip_holds "$@" && return
    require_disk "$size_gb" "installing $name and building"
    "$venv/bin/python" -m pip --version >/dev/null 2>&1 || make_venv
    say "installing $name into .venv: $*"
    mkdir -p "$venv/tmp" # wheels are unpacked here: /tmp may be small
    TMPDIR=$venv/tmp "$venv/bin/python" -m pip install -q --no-cache-dir --retries 2 "$@" >"$venv/pip.log" 2>&1 ||
        die "$name could not be installed from PyPI (no network? log: $venv/pip.log): what is missing is pip install $*"
    rm -rf "$venv/tmp"
}

make_venv() {
    local python
    python=$(find_python)
    "$python" -m venv "$venv" || die "cannot make $venv: install python3-venv, or give write permission"
}

find_torch() {
    if [ -n "${PATCHBENCH_TORCH:-}" ]; then
        torch=$(cd "$PATCHBENCH_TORCH" 2>/dev/null && pwd) || die "PATCHBENCH_TORCH=$PATCHBENCH_TORCH is not a folder"
    else
        pip_install LibTorch 9 "${torch_requirements[@]}"
        torch=$(echo "$venv"/lib/python3*/site-packages/torch)
    fi
    grep -qs "2\.11\.0" "$torch/version.py" || die "$torch holds no torch 2.11.0: run pip install torch==2.11.0"
    [ -e "$torch/lib/libtorch_cuda.so" ] ||
        die "$torch is a CPU-only torch: install torch==2.11.0 from PyPI, which carries CUDA 13.0 and runs on CPUs, too"
}

# As cmake/CudaCompiler.cmake looks for it.
has_nvcc() {
    local nvcc
    [ -z "${CUDACXX:-}" ] || return 0
    for nvcc in "$venv"/lib/python3*/site-packages/nvidia/cu13/bin/nvcc nvcc /usr/local/cuda/bin/nvcc; do
        "$nvcc" --version 2>/dev/null | grep -q 'release 13\.0' && return
    done
    return 1
}

find_nvcc() {
    has_nvcc && return
    pip_install nvcc 3 "${nvcc_requirements[@]}"
    local toolkit
    toolkit=$(echo "$venv"/lib/python3*/site-packages/nvidia/cu13)
    ln -sfn lib "$toolkit/lib64" # the wheels hold lib/, nvcc's own profile looks into lib64/
    has_nvcc || die "the nvcc of .venv does not run: remove $venv and call again"
}

# One job a core, and 2.5 GB for each: what a file that includes LibTorch takes.
num_jobs() {
    local by_memory
    by_memory=$(awk '/^MemAvailable/ {print int($2 / 2500000)}' /proc/meminfo)
    local jobs
    jobs=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)
    [ "$by_memory" -ge "$jobs" ] || jobs=$by_memory
    [ "$jobs" -ge 1 ] && echo "$jobs" || echo 1
}

build() { # preset, targets..
    local preset=$1 folder
    shift
    folder=$(build_folder "$preset")
    local configure=(--preset "$preset" -DPATCHBENCH_TORCH="$torch" ${PATCHBENCH_PLOTLY:+"-DPATCHBENCH_PLOTLY=$PATCHBENCH_PLOTLY"})
    if command -v ccache >/dev/null; then
        export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1 # so that another clone of the same sources finds the same objects
        export CCACHE_SLOPPINESS=pch_defines,time_macros # without which ccache compiles what has a precompiled header
        configure+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
    fi
    if [ ! -e "$folder/build.ninja" ] || [ "$(cat "$folder/.configured" 2>/dev/null)" != "${configure[*]}" ]; then
        require_disk 2 "a build"
        say "configuring $folder"
        (cd "$root" && cmake "${configure[@]}" >&2)
        echo "${configure[*]}" >"$folder/.configured"
    fi
    say "building ${folder##*/}: ${*:-everything}"
    cmake --build "$folder" -j "$(num_jobs)" ${1:+--target "$@"} >&2
}

say_what_next() { # folder of the build
    [ -x "$1/patchbench" ] || { say "done: $1"; return; }
    say "done: $1/patchbench; next: export PATH=\"$1:\$PATH\", then patchbench denoise IN OUT"
}

main() {
    local preset=${PATCHBENCH_PRESET:-release} targets=() install=1 engines=0
    while [ $# -gt 0 ]; do
        case $1 in
            --preset | --target) [ $# -ge 2 ] || die "$1 needs a value (--help lists the options)" ;;&
            --preset) preset=$2; shift ;;
            --target) targets+=("$2"); shift ;;
            --checks) packages+=("${check_packages[@]}"); engines=1 ;;
            --no-packages) install=0 ;;
            -h | --help) usage; exit ;;
            *) usage >&2; exit 2 ;;
        esac
        shift
    done
    [ $install = 0 ] || install_packages "${packages[@]}"
    find_torch
    find_nvcc
    PIP_NO_DEPS=1 pip_install cudnn-frontend 1 "${fusion_requirements[@]}"
    [ -n "${PATCHBENCH_PLOTLY:-}" ] || pip_install plotly 1 "${plotly_requirements[@]}"
    # Without a network their tests skip and say so.
    [ $engines = 0 ] || "$root/launch/engines.sh" || say "some engines are not installed"
    build "$preset" "${targets[@]}"
    say_what_next "$(build_folder "$preset")"
}

main "$@"
