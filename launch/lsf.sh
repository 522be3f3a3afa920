#!/bin/bash
# A study under LSF. Edit the lines below each EDIT; then, in the folder of the project:
#   STUDY=configs/batch_sweep.yaml bsub <launch/lsf.sh
# Two minutes before its time is over the study gets SIGUSR1, keeps what is finished and ends with 5: submit it again and
# it goes on. docs/cluster.md says what each line is for.
#BSUB -J patchbench
#BSUB -o %J.log
#BSUB -x
# EDIT: ranks, ranks a node, GPUs a node (one rank a GPU; without GPUs take that line out), minutes
#BSUB -n 4
#BSUB -R "span[ptile=4]"
#BSUB -gpu "num=4:mode=shared"
#BSUB -W 60
#BSUB -wa USR1
#BSUB -wt 2

: "${LSB_DJOB_HOSTFILE:?is not set: submit this script with STUDY=study.yaml bsub <launch/lsf.sh}"
trap : USR1 # the signal comes to this shell, too
# EDIT: what this cluster needs for MPI; `module load patchbench` too where it is installed. With jsrun, one resource set
# a node: ranks=(jsrun --rs_per_host 1 --tasks_per_rs 4 --gpu_per_rs ALL_GPUS --cpu_per_rs ALL_CPUS --bind none bind.sh patchbench)
# module load openmpi
export PATH=$PWD/build:$PWD/launch:$PATH
# A node that is cut off from the network ends the job after 10 + 5 x 2 s, not after a quarter of an hour.
export OMPI_MCA_oob_tcp_keepalive_time=10 OMPI_MCA_oob_tcp_keepalive_intvl=2 OMPI_MCA_oob_tcp_keepalive_probes=5
ranks=(mpirun --hostfile "$LSB_DJOB_HOSTFILE" --bind-to none -x PATH ${LD_LIBRARY_PATH:+-x LD_LIBRARY_PATH} bind.sh patchbench)
"${ranks[@]}" check && "${ranks[@]}" run --resume "${STUDY:?name it: STUDY=study.yaml bsub}"
