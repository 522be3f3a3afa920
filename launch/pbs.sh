#!/bin/bash
# A study under PBS (OpenPBS, PBS Professional). Edit the lines below each EDIT; then, in the folder of the project:
#   qsub -v STUDY=configs/batch_sweep.yaml launch/pbs.sh
# PBS does not warn long before the time is over: the study ends by itself (--max-time, exit code 5). Submit it again and
# it goes on. docs/cluster.md says what each line is for.
#PBS -N patchbench
#PBS -j oe
#PBS -l place=scatter:excl
# EDIT: nodes, and cores, ranks and GPUs of each (one rank a GPU; without GPUs take ngpus out)
#PBS -l select=1:ncpus=32:mpiprocs=4:ngpus=4
# EDIT: the time, and the seconds below two minutes less
#PBS -l walltime=01:00:00
max_time_s=3480

cd "${PBS_O_WORKDIR:?is not set: submit this script with qsub -v STUDY=study.yaml launch/pbs.sh}" || exit
# EDIT: what this cluster needs for MPI; `module load patchbench` too where it is installed
# module load openmpi
export PATH=$PWD/build:$PWD/launch:$PATH
# A node that is cut off from the network ends the job after 10 + 5 x 2 s, not after a quarter of an hour.
export OMPI_MCA_oob_tcp_keepalive_time=10 OMPI_MCA_oob_tcp_keepalive_intvl=2 OMPI_MCA_oob_tcp_keepalive_probes=5
ranks=(mpirun --hostfile "$PBS_NODEFILE" --bind-to none -x PATH ${LD_LIBRARY_PATH:+-x LD_LIBRARY_PATH} bind.sh patchbench)
"${ranks[@]}" check && "${ranks[@]}" run --resume --max-time $((max_time_s - SECONDS)) "${STUDY:?name it with qsub -v STUDY=}"
