#!/usr/bin/env bash
# Starts N ranks of a program on this machine: launch/ranks.sh <N|auto> <program> [arguments]
# auto: one rank a visible GPU, or 2. Each rank is bound to its share of the cores where there are enough of them.
set -euo pipefail
# shellcheck source=launch/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

num_gpus() {
    if [ -n "${CUDA_VISIBLE_DEVICES+set}" ]; then
        tr ',' '\n' <<<"$CUDA_VISIBLE_DEVICES" | grep -cvE '^(-1)?$'
    elif command -v nvidia-smi >/dev/null; then
        nvidia-smi -L 2>/dev/null | grep -c '^GPU'
    else
        echo 0
    fi || true # grep has counted none
}

# Cores, not hardware threads.
num_cores() { lscpu -p=core,socket | grep -v '^#' | sort -u | wc -l; }

# Open MPI binds without regard to the affinity mask (taskset, container, batch job) that it was started under.
owns_all_cpus() { [ "$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)" = "$(getconf _NPROCESSORS_ONLN)" ]; }

[ $# -ge 2 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
ranks=$1
shift
if [ "$ranks" = auto ]; then
    ranks=$(num_gpus)
    [ "$ranks" -gt 0 ] || ranks=2
fi
[[ $ranks =~ ^[1-9][0-9]*$ ]] || die "the number of ranks is a positive integer or auto, not '$ranks'"
command -v mpirun >/dev/null || die "mpirun is missing: run launch/setup.sh, or load an MPI module"

cores=$(num_cores)
if [ "$ranks" -le "$cores" ] && owns_all_cpus; then
    placement=(--map-by "slot:PE=$((cores / ranks))" --bind-to core)
else
    placement=(--oversubscribe --bind-to none)
fi
if [ "$(id -u)" = 0 ]; then # Open MPI refuses root otherwise; in containers root is the usual user
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
# Without ssh, which it would need for other hosts, Open MPI's usual launcher does not start anything here either.
if ! command -v ssh >/dev/null && ! command -v rsh >/dev/null; then export OMPI_MCA_plm=${OMPI_MCA_plm:-isolated}; fi
exec mpirun "${placement[@]}" -n "$ranks" "$@"
