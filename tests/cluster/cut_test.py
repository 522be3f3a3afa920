"""A node that is cut off while output travels: `python3 cut_test.py <patchbench> <mpirun and its options>`.

The third of three hosts loses its network in the exchange of the second point. With TCP keepalive, as docs/cluster.md
recommends, mpirun ends the job on all hosts.
"""
import os
import subprocess
import time
from pathlib import Path

import hosts  # first: it makes the next one known

import program
from program import MPIRUN, PROGRAM, wait_until

STUDY = """
name: cut
image: {height: 96, width: 96}
network: dncnn
weights: seed:1
device: cpu
bounds: off
previews: 0
patch: 32
halo: 8
threads: 1
forward_calls: 0
warmup.reps: 0
stop: {min_reps: 2, max_time_s: 0}
watchdog_s: 2
groups:
  - {batch: 1}
  - {batch: 2}
"""
KEEPALIVE = ['--mca', 'oob_tcp_keepalive_time', '2', '--mca', 'oob_tcp_keepalive_intvl', '1',
             '--mca', 'oob_tcp_keepalive_probes', '3']
ENDS_WITHIN_S = float(os.environ.get('ENDS_WITHIN_S', 10))


class CutTest(program.ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.hosts = hosts.Hosts(['pb-node1', 'pb-node2', 'pb-node3'])

    @classmethod
    def tearDownClass(cls):
        cls.hosts.close()

    def setUp(self):
        super().setUp()
        self.out = self.folder / 'out'
        self.write('study.yaml', STUDY)

    def launch(self, fault):
        """A rank a host; that of the last host meets the fault in the exchange of the second point."""
        script = self.write('rank.sh', f'#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" != 2 ] || export PATCHBENCH_FAULT={fault}\n'
                            f'exec {PROGRAM} run {self.folder}/study.yaml --out {self.out}\n')
        script.chmod(0o755)
        return self.hosts.start(1, [*MPIRUN, *KEEPALIVE], script)

    def ranks(self):
        """Process ids of patchbench on all hosts."""
        listing = subprocess.run(['pgrep', '-f', f'^{PROGRAM} run {self.folder}'], capture_output=True, text=True).stdout
        return [int(pid) for pid in listing.split()]

    def states(self):
        return [point['status'] for point in program.points(self.out)]

    def stopped(self):
        return [pid for pid in self.ranks() if Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] == 'T']

    def end(self, process):
        started = time.monotonic()
        output, errors = process.communicate(timeout=60)
        wait_until(lambda: not self.ranks(), 'end of all ranks', ENDS_WITHIN_S)
        seconds = time.monotonic() - started
        print(f'\n  ended after {seconds:.1f} s with {process.returncode}:\n{errors.strip()}', flush=True)
        self.assertLess(seconds, ENDS_WITHIN_S)
        self.assertNotEqual(process.returncode, 0)
        self.assertEqual(self.states(), ['ok'])
        self.assertEqual([file.name for file in self.out.glob('001-*')], [])
        return errors + output

    def test_cut_off(self):
        process = self.launch('exchange:stop:3')
        self.addCleanup(process.kill)
        wait_until(self.stopped, 'exchange of rank 2')
        self.hosts.cut('pb-node3')
        self.addCleanup(self.hosts.join, 'pb-node3')
        for pid in self.stopped():
            os.kill(pid, 18)
        said = self.end(process)
        self.assertRegex(said, r'daemon.*pb-node3', 'mpirun names the node')
        self.assertIn('patchbench: node pb-node3: rank 2\n', said)

    def test_killed(self):
        process = self.launch('exchange:kill:3')
        self.addCleanup(process.kill)
        wait_until(lambda: self.states() == ['ok'], 'first point')
        self.assertIn('rank 2', self.end(process))


if __name__ == '__main__':
    hosts.run_isolated()
    os.environ.update(OMP_NUM_THREADS='1', OMP_WAIT_POLICY='passive')
    program.main()
