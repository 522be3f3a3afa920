"""Launches in a row, each of which must end by itself with exit code 0 and leave no process: `soak_test.py <patchbench>
<mpirun and its options>`. A few of them; SOAK_LAUNCHES=200 for a long look."""
import os
import time

import faulty
import program

SMALLEST = """
name: soak
network: dncnn
weights: seed:1
device: cpu
bounds: off
previews: 0
save_images: false
patch: 16
halo: 0
threads: 1
forward_calls: 0
warmup.reps: 0
stop: {min_reps: 1, max_time_s: 0}
image: {height: 16, width: 32}
"""


class Soak(faulty.FaultyTest):
    def test_launches_in_a_row(self):
        study = self.write('soak.yaml', SMALLEST)
        started = time.monotonic()
        launches = int(os.environ.get('SOAK_LAUNCHES', 3))
        slowest = 0
        for launch in range(launches):
            begin = time.monotonic()
            program.run('run', study, '--out', self.out, ranks=2, code=0, timeout=faulty.HANGS_S)
            slowest = max(slowest, time.monotonic() - begin)
            self.assertEqual(self.leftovers(), [], f'launch {launch}')
        print(f'\n  {launches} launches in {time.monotonic() - started:.0f} s, the slowest {slowest:.1f} s', flush=True)


if __name__ == '__main__':
    program.main()
