#!/usr/bin/env bash
# Starts a program on the cores and the memory node beside its GPU, which is the visible GPU of the rank's number on its
# node: the one that patchbench takes. GPUs on the same cores share them out; without a GPU the ranks share out all cores.
#   mpirun --bind-to none -n 4 launch/bind.sh build/patchbench run study.yaml
#   srun --cpu-bind=none launch/bind.sh ..              jsrun --bind none .. launch/bind.sh ..
# One hardware thread a core is used. `bind.sh --dry-run` prints the choice and starts nothing. Needs hwloc's programs.
set -euo pipefail

say() { printf 'bind.sh: %s\n' "$*" >&2; }

first_set() { # names of variables: the value of the first that is set
    local name
    for name in "$@"; do
        [ -z "${!name:-}" ] || { echo "${!name}"; return; }
    done
}

# Slurm writes how many tasks each node runs as 4(x2),3: three nodes.
slurm_tasks_of() { # list, number of the node
    tr ',' '\n' <<<"$1" | awk -F '[(x)]+' -v node="$2" '{ for (i = $2 ? $2 : 1; i > 0; --i) if (n++ == node) print $1 }'
}

# Lines `index, uuid, PCI bus id`, as `nvidia-smi` prints them, in the order of the bus ids.
all_gpus() { nvidia-smi --query-gpu=index,uuid,pci.bus_id --format=csv,noheader 2>/dev/null || true; }

# hwloc writes the id as 0000:3b:00.0
bus_ids() { awk -F ', ' '{ print tolower(substr($3, length($3) - 11)) }'; }

gpu_of_slice() { nvidia-smi -L | awk -v slice="$1" '/^GPU/ { gpu = $0 } index($0, slice) { print gpu }' | grep -o 'GPU-[0-9a-f-]*'; }

# As CUDA reads CUDA_VISIBLE_DEVICES: numbers or beginnings of UUIDs, up to the first that is none.
visible_gpus() {
    local entry
    [ -n "${CUDA_VISIBLE_DEVICES+set}" ] || { bus_ids <<<"$gpus"; return; }
    for entry in ${CUDA_VISIBLE_DEVICES//,/ }; do
        [[ $entry != MIG-* ]] || entry=$(gpu_of_slice "$entry")
        awk -F ', ' -v entry="$entry" '$1 == entry || index($2, entry) == 1 { print; found = 1 } END { exit !found }' \
            <<<"$gpus" || break
    done | bus_ids
}

cores_of() { hwloc-calc --quiet --no-smt --intersect core "$1" 2>/dev/null || true; } # "0,1,2": logical numbers

# Part `number` of `parts` of a list; all of it when it is too short.
part_of() { # list, number, parts
    local list begin end
    IFS=, read -ra list <<<"$1"
    begin=$((${#list[@]} * $2 / $3)) end=$((${#list[@]} * ($2 + 1) / $3))
    [ ${#list[@]} -ge "$3" ] || begin=0 end=${#list[@]}
    echo "${list[@]:begin:end - begin}"
}

choose_cores_beside() { # bus id: sets cores
    local near mates=0 before=0 other
    near=$(cores_of "pci=$1")
    [ -n "$near" ] || return 1
    while read -r other; do
        [ "$(cores_of "pci=$other")" = "$near" ] || continue
        [ "$other" != "$1" ] || before=$mates
        mates=$((mates + 1))
    done < <(bus_ids <<<"$gpus")
    cores=$(part_of "$near" $before $mates)
}

usage() { sed -n '2,6s/^# //p' "$0"; }

[ $# -gt 0 ] || { usage >&2; exit 2; }
case $1 in -h | --help) usage; exit ;; esac
command -v hwloc-bind >/dev/null || { say "hwloc-bind is missing: install hwloc (apt-get install hwloc, module load hwloc)"; exit 1; }

rank=$(first_set OMPI_COMM_WORLD_LOCAL_RANK JSM_NAMESPACE_LOCAL_RANK MPI_LOCALRANKID MV2_COMM_WORLD_LOCAL_RANK \
    PALS_LOCAL_RANKID FLUX_TASK_LOCAL_ID SLURM_LOCALID)
ranks=$(first_set OMPI_COMM_WORLD_LOCAL_SIZE JSM_NAMESPACE_LOCAL_SIZE MPI_LOCALNRANKS MV2_COMM_WORLD_LOCAL_SIZE PALS_LOCAL_SIZE)
if [ -z "$ranks" ] && [ -n "${SLURM_STEP_TASKS_PER_NODE:-}" ]; then
    ranks=$(slurm_tasks_of "$SLURM_STEP_TASKS_PER_NODE" "${SLURM_NODEID:-0}")
fi
if [ -z "$ranks" ] && [ -n "${FLUX_TASK_LOCAL_ID:-}" ]; then # flux does not say; it spreads tasks evenly
    ranks=$(((FLUX_JOB_SIZE + FLUX_JOB_NNODES - 1) / FLUX_JOB_NNODES))
fi
rank=${rank:-0} ranks=${ranks:-1}
if ! [[ $rank =~ ^[0-9]{1,6}$ && $ranks =~ ^[0-9]{1,6}$ ]] || ((10#$rank >= 10#$ranks)); then
    say "the launcher's variables say local rank '$rank' of '$ranks' on this node: start it with mpirun, srun or jsrun"
    exit 1
fi

export CUDA_DEVICE_ORDER=PCI_BUS_ID # as nvidia-smi and hwloc count
gpus=$(all_gpus)
mapfile -t visible < <(visible_gpus)
gpu='' cores=''
[ ${#visible[@]} = 0 ] || gpu=${visible[rank % ${#visible[@]}]}
if [ -z "$gpu" ] || ! choose_cores_beside "$gpu"; then
    [ -z "$gpu" ] || say "no core of this job is known to be near GPU $gpu: all its cores are shared out"
    cores=$(part_of "$(cores_of all)" "$rank" "$ranks")
fi
read -ra where <<<"core:${cores// / core:}"

if [ "$1" = --dry-run ]; then
    printf 'rank %s of %s: GPU %s, processors %s, memory node %s\n' "$rank" "$ranks" "${gpu:-none}" \
        "$(hwloc-calc --no-smt --physical-output --intersect pu "${where[@]}")" \
        "$(hwloc-calc --physical-output --intersect numanode "${where[@]}")"
    exit
fi
memory=()
[ "$(hwloc-calc --number-of numanode all)" = 1 ] || memory=(--membind "${where[@]}")
exec hwloc-bind --no-smt --cpubind "${where[@]}" "${memory[@]}" -- "$@"
