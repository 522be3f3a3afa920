"""launch/bind.sh: for real under mpirun, and what it would do on a node with four GPUs (`python3 bind_test.py - <mpirun>`).

That node is made up: a topology for hwloc and an nvidia-smi that prints four GPUs.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from program import MPIRUN, REPOSITORY

BIND = REPOSITORY / 'launch' / 'bind.sh'
CORES, PACKAGES = 8, 2  # cores of a package; two threads each, numbered as Linux does: first all first threads
BUSES = [['17', '65'], ['ca', 'e3']]
UUIDS = ['GPU-aaaaaaaa-0000', 'GPU-bbbbbbbb-1111', 'GPU-cccccccc-2222', 'GPU-dddddddd-3333']

NVIDIA_SMI = '''#!/bin/sh
case $1 in
    -L) cat <<'TEXT'
GPU 0: NVIDIA A100 (UUID: GPU-aaaaaaaa-0000)
GPU 1: NVIDIA A100 (UUID: GPU-bbbbbbbb-1111)
GPU 2: NVIDIA A100 (UUID: GPU-cccccccc-2222)
  MIG 1g.5gb Device 0: (UUID: MIG-12345678-9abc)
GPU 3: NVIDIA A100 (UUID: GPU-dddddddd-3333)
TEXT
    ;;
    --query-gpu=index,uuid,pci.bus_id) cat <<'TEXT'
0, GPU-aaaaaaaa-0000, 00000000:17:00.0
1, GPU-bbbbbbbb-1111, 00000000:65:00.0
2, GPU-cccccccc-2222, 00000000:CA:00.0
3, GPU-dddddddd-3333, 00000000:E3:00.0
TEXT
    ;;
    *) exit 1 ;;
esac
'''


def bits(processors):
    return f'0x{sum(1 << processor for processor in processors):08x}'


def threads(package, core):
    first = package * CORES + core
    return [first, first + PACKAGES * CORES]


def sets(processors, nodes):
    both = f'cpuset="{bits(processors)}" complete_cpuset="{bits(processors)}"'
    return f'{both} nodeset="{bits(nodes)}" complete_nodeset="{bits(nodes)}"'


class Topology:
    """hwloc's XML (format 2.0) of two packages with a memory node and two GPUs each."""

    def __init__(self):
        self.index = 0

    def number(self):
        self.index += 1
        return f'gp_index="{self.index}"'

    def core(self, package, core):
        inside = ''.join(f'<object type="PU" os_index="{pu}" {sets([pu], [package])} {self.number()}/>'
                         for pu in threads(package, core))
        return (f'<object type="Core" os_index="{core}" {sets(threads(package, core), [package])} {self.number()}>'
                f'{inside}</object>')

    def gpu(self, bus):
        return (f'<object type="Bridge" {self.number()} bridge_type="0-1" depth="0" bridge_pci="0000:[{bus}-{bus}]">'
                f'<object type="PCIDev" {self.number()} pci_busid="0000:{bus}:00.0" '
                'pci_type="0302 [10de:20b0] [10de:1450] a1" pci_link_speed="0.000000"/></object>')

    def package(self, package):
        inside = [pu for core in range(CORES) for pu in threads(package, core)]
        memory = f'<object type="NUMANode" os_index="{package}" {sets(inside, [package])} {self.number()}/>'
        cores = ''.join(self.core(package, core) for core in range(CORES))
        gpus = ''.join(self.gpu(bus) for bus in BUSES[package])
        return (f'<object type="Package" os_index="{package}" {sets(inside, [package])} {self.number()}>'
                f'{memory}{cores}{gpus}</object>')

    def text(self):
        everything = range(2 * PACKAGES * CORES)
        packages = ''.join(self.package(package) for package in range(PACKAGES))
        return ('<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE topology SYSTEM "hwloc2.dtd"><topology version="2.0">'
                f'<object type="Machine" os_index="0" {sets(everything, [0, 1])} allowed_cpuset="{bits(everything)}" '
                f'allowed_nodeset="{bits([0, 1])}" {self.number()}>{packages}</object></topology>')


class BindTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix='patchbench-bind-'))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / 'node.xml').write_text(Topology().text())

    def make_tool(self, name, text):
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o755)

    def with_gpus(self):
        self.make_tool('nvidia-smi', NVIDIA_SMI)

    def would(self, rank, ranks, command=('--dry-run',), **variables):
        """What bind.sh says that it would do with this rank of the node that is made up."""
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(('OMPI_', 'SLURM_', 'CUDA_', 'PMIX_', 'MPI_LOCAL'))}
        launcher = {'OMPI_COMM_WORLD_LOCAL_RANK': str(rank), 'OMPI_COMM_WORLD_LOCAL_SIZE': str(ranks),
                    'OMPI_COMM_WORLD_RANK': '40', 'OMPI_COMM_WORLD_SIZE': '44'}  # the last node of eleven
        env = {**kept, 'PATH': f'{self.folder}:{os.environ["PATH"]}', 'HWLOC_XMLFILE': str(self.folder / 'node.xml'),
               **(launcher if rank is not None else {}), **variables}
        result = subprocess.run([BIND, *command], env=env, capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.strip() + result.stderr

    def test_every_rank_gets_the_cores_and_the_memory_beside_its_gpu(self):
        self.with_gpus()
        self.assertEqual([self.would(rank, 4) for rank in range(4)],
                         ['rank 0 of 4: GPU 0000:17:00.0, processors 0,1,2,3, memory node 0',
                          'rank 1 of 4: GPU 0000:65:00.0, processors 4,5,6,7, memory node 0',
                          'rank 2 of 4: GPU 0000:ca:00.0, processors 8,9,10,11, memory node 1',
                          'rank 3 of 4: GPU 0000:e3:00.0, processors 12,13,14,15, memory node 1'])

    def test_visible_devices_say_which_gpu_it_is(self):
        self.with_gpus()
        for variable in ('2,0', f'{UUIDS[2]},{UUIDS[0]}', 'GPU-cccc,GPU-aaaa', '2,0,-1,3'):
            self.assertIn('GPU 0000:ca:00.0', self.would(0, 2, CUDA_VISIBLE_DEVICES=variable), variable)
            self.assertIn('GPU 0000:17:00.0', self.would(1, 2, CUDA_VISIBLE_DEVICES=variable), variable)
        # One device a task, as Slurm's --gpus-per-task gives it: it is that one whatever the rank.
        self.assertIn('GPU 0000:e3:00.0, processors 12,13,14,15', self.would(1, 2, CUDA_VISIBLE_DEVICES='3'))
        self.assertIn('GPU 0000:ca:00.0', self.would(0, 1, CUDA_VISIBLE_DEVICES='MIG-12345678-9abc'))
        for nothing in ('', 'aaaaaaaa'):  # the second is a part of a UUID, but not its beginning
            self.assertIn('GPU none', self.would(0, 1, CUDA_VISIBLE_DEVICES=nothing))
        # What follows an entry that is none is not visible: the third rank has the first GPU again.
        self.assertIn('GPU 0000:ca:00.0', self.would(2, 3, CUDA_VISIBLE_DEVICES='2,0,-1,3'))

    def test_the_program_is_started_there_with_all_its_words(self):
        self.with_gpus()
        self.make_tool('hwloc-bind', '#!/bin/sh\nprintf "%s|" "$CUDA_DEVICE_ORDER" "$@"\n')
        cores = '|'.join(f'core:{core}' for core in range(4, 8))
        self.assertEqual(self.would(1, 4, ('a program', 'two words')), 'PCI_BUS_ID|--no-smt|'
                         f'--cpubind|{cores}|--membind|{cores}|--|a program|two words|')

    def test_a_gpu_of_which_no_core_is_known_is_said_and_all_cores_are_shared_out(self):
        self.make_tool('nvidia-smi', NVIDIA_SMI.replace('00:17:', '00:18:'))
        said = self.would(0, 2)
        self.assertIn('GPU 0000:18:00.0, processors 0,1,2,3,4,5,6,7, memory node 0', said)
        self.assertIn('no core of this job is known to be near GPU 0000:18:00.0', said)

    def test_without_a_gpu_the_cores_are_shared_out(self):
        self.assertEqual([self.would(rank, 3) for rank in range(3)],
                         ['rank 0 of 3: GPU none, processors 0,1,2,3,4, memory node 0',
                          'rank 1 of 3: GPU none, processors 5,6,7,8,9, memory node 0,1',
                          'rank 2 of 3: GPU none, processors 10,11,12,13,14,15, memory node 1'])
        self.assertIn('processors 10,11,12,', self.would(4, 6), 'shares that differ do not overlap')
        everything = ','.join(map(str, range(16)))
        self.assertEqual(self.would(16, 17), f'rank 16 of 17: GPU none, processors {everything}, memory node 0,1')

    def test_every_launcher_is_understood(self):
        for variables in ({'JSM_NAMESPACE_LOCAL_RANK': '1', 'JSM_NAMESPACE_LOCAL_SIZE': '2'},
                          {'MPI_LOCALRANKID': '1', 'MPI_LOCALNRANKS': '2'},
                          {'MV2_COMM_WORLD_LOCAL_RANK': '1', 'MV2_COMM_WORLD_LOCAL_SIZE': '2'},
                          {'PALS_LOCAL_RANKID': '1', 'PALS_LOCAL_SIZE': '2'},
                          {'PALS_LOCAL_RANKID': '1', 'PALS_LOCAL_SIZE': '2', 'SLURM_LOCALID': '0'},
                          {'FLUX_TASK_LOCAL_ID': '1', 'FLUX_JOB_SIZE': '5', 'FLUX_JOB_NNODES': '3'},
                          {'SLURM_LOCALID': '1', 'SLURM_NODEID': '2', 'SLURM_STEP_TASKS_PER_NODE': '4(x2),2'},
                          {'SLURM_LOCALID': '1', 'SLURM_NODEID': '0', 'SLURM_STEP_TASKS_PER_NODE': '2'}):
            self.assertEqual(self.would(None, None, **variables),
                             'rank 1 of 2: GPU none, processors 8,9,10,11,12,13,14,15, memory node 1')
        # mpirun inside a Slurm job: the inner launcher counts.
        self.assertIn('rank 1 of 2', self.would(1, 2, SLURM_LOCALID='0', SLURM_STEP_TASKS_PER_NODE='1'))

    def test_a_rank_that_cannot_be_is_refused_in_one_sentence(self):
        without = {name: value for name, value in os.environ.items() if not name.startswith(('OMPI_', 'SLURM_'))}
        for rank, ranks in (('5', None), ('abc', '2'), ('-1', '2'), ('2', '2'), ('0', '0')):
            variables = {'SLURM_LOCALID': rank, **({'SLURM_STEP_TASKS_PER_NODE': ranks} if ranks else {})}
            result = subprocess.run([BIND, '--dry-run'], env={**without, **variables}, capture_output=True, text=True,
                                    timeout=60)
            self.assertEqual((result.returncode, result.stdout), (1, ''), result.stderr)
            self.assertRegex(result.stderr, rf"^bind.sh: .*'{rank}'.*\n$")

    def test_help_starts_nothing(self):
        result = subprocess.run([BIND, '--help'], capture_output=True, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertIn('bind.sh --dry-run', result.stdout)

    def test_two_real_ranks_have_processors_of_their_own(self):
        if len(os.sched_getaffinity(0)) < 2 or len(os.sched_getaffinity(0)) < os.cpu_count():
            self.skipTest('this process may not run on every processor, or there is only one')
        result = subprocess.run([*MPIRUN, '-n', '2', BIND, 'grep', 'Cpus_allowed_list', '/proc/self/status'],
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        masks = {line.split()[1] for line in result.stdout.splitlines()}
        self.assertEqual(len(masks), 2, result.stdout)

    def test_a_missing_hwloc_is_named(self):
        (self.folder / 'bash').symlink_to(shutil.which('bash'))
        result = subprocess.run([BIND, 'true'], env={'PATH': str(self.folder)}, capture_output=True, text=True)
        self.assertEqual((result.returncode, 'hwloc-bind' in result.stderr), (1, True), result.stderr)


if __name__ == '__main__':
    if not shutil.which('hwloc-bind'):
        print('skipped: hwloc-bind is missing (apt package hwloc)')
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
