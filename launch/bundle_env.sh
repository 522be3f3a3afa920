# Sourced in a bundle, where it is bin/env.sh: finds LibTorch and lets the program, mpirun and their libraries find each
# other wherever the bundle lies. Sets `bundle`, PATH, PATCHBENCH_TORCH, PATCHBENCH_MODELS, LD_LIBRARY_PATH and the
# variables by which Open MPI finds its parts.
# shellcheck shell=bash
bundle=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

bundle_die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

bundle_check_glibc() {
    local needed here
    needed=$(cat "$bundle/bin/glibc_needed")
    here=$(getconf GNU_LIBC_VERSION | cut -d ' ' -f 2)
    [ "$(printf '%s\n' "$needed" "$here" | sort -V | head -1)" = "$needed" ] ||
        bundle_die "this bundle needs glibc $needed and this system has $here: make one on a system as old as this (launch/bundle.sh)"
}

# The folder `torch`, without importing it, which takes seconds.
bundle_find_torch() {
    if [ -z "${PATCHBENCH_TORCH:-}" ]; then
        command -v python3 >/dev/null ||
            bundle_die "no LibTorch: set PATCHBENCH_TORCH=<folder torch of an installed torch==2.11.0>, or put its python3 on PATH"
        PATCHBENCH_TORCH=$(python3 -c 'import importlib.util
spec = importlib.util.find_spec("torch")
print(spec.submodule_search_locations[0] if spec else "")') || PATCHBENCH_TORCH=
        [ -n "$PATCHBENCH_TORCH" ] || bundle_die "$(command -v python3) has no torch: run python3 -m pip install torch==2.11.0, or set PATCHBENCH_TORCH=<folder torch>"
    fi
    PATCHBENCH_TORCH=$(cd "$PATCHBENCH_TORCH" 2>/dev/null && pwd) || bundle_die "PATCHBENCH_TORCH is not a folder that exists"
}

bundle_check_torch() {
    local version advice="install torch==2.11.0 from PyPI (CUDA 13.0, runs on CPUs, too) and set PATCHBENCH_TORCH=<its folder torch>"
    version=$(sed -n "s/^__version__ *= *['\"]\([^'\"]*\).*/\1/p" "$PATCHBENCH_TORCH/version.py" 2>/dev/null) || true
    [ -n "$version" ] || bundle_die "$PATCHBENCH_TORCH is no torch: $advice"
    [ "${version%%+*}" = 2.11.0 ] ||
        bundle_die "$PATCHBENCH_TORCH is torch $version, and this program needs 2.11.0, whose NCCL and cuDNN it was built with: $advice"
    [ -e "$PATCHBENCH_TORCH/lib/libtorch_cuda.so" ] || bundle_die "$PATCHBENCH_TORCH ($version) is a torch without CUDA: $advice"
    compgen -G "$PATCHBENCH_TORCH/../nvidia/*/lib/libcudart.so.13" >/dev/null ||
        bundle_die "$PATCHBENCH_TORCH ($version) has no CUDA 13 runtime in ../nvidia: $advice"
}

# Libraries of the bundle are found by their place; only those of the wheel go through the environment, so that programs
# started from here (python3, ssh) keep their own.
bundle_library_path() {
    local folder path=$PATCHBENCH_TORCH/lib
    for folder in "$(dirname "$PATCHBENCH_TORCH")"/nvidia/*/lib; do path=$path:$folder; done
    case ${LD_LIBRARY_PATH:-} in
        "$path"*) ;;
        *) LD_LIBRARY_PATH=$path${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} ;;
    esac
}

# Engines in processes of their own (docs/engines.md) start with this one.
export PATCHBENCH_USER_LIBRARY_PATH=${PATCHBENCH_USER_LIBRARY_PATH-${LD_LIBRARY_PATH:-}}
bundle_check_glibc
bundle_find_torch
bundle_check_torch
bundle_library_path
case :$PATH: in *:"$bundle/bin":*) ;; *) PATH=$bundle/bin:$PATH ;; esac
export PATH PATCHBENCH_TORCH LD_LIBRARY_PATH
export PATCHBENCH_MODELS=${PATCHBENCH_MODELS:-$bundle/models}
export OPAL_PREFIX=$bundle OPAL_BINDIR=$bundle/bin OPAL_LIBDIR=$bundle/lib OPAL_PKGLIBDIR=$bundle/lib/openmpi
export OPAL_DATADIR=$bundle/share OPAL_PKGDATADIR=$bundle/share/openmpi OPAL_SYSCONFDIR=$bundle/share/openmpi
# Without ssh Open MPI's usual launcher does not start anything, not even on this machine alone.
if ! command -v ssh >/dev/null && ! command -v rsh >/dev/null; then export OMPI_MCA_plm=${OMPI_MCA_plm:-isolated}; fi
# The system's plugins belong to other versions of these libraries.
export PMIX_PKGLIBDIR=$bundle/lib/pmix HWLOC_PLUGINS_PATH=$bundle/lib/hwloc
