"""patchbench over three hosts: `python3 hosts_test.py <patchbench> <mpirun and its options>`.

Output slabs really travel between nodes; the bytes must be those of one rank on one host.
"""
import os
import tempfile
import unittest
from pathlib import Path

import hosts  # first: it makes the next one known

import program
from program import run

STUDY = """
name: three_hosts
image: {height: 150, width: 130, noise_sigma: 0.1}
network: dncnn
weights: seed:1
batch: 2
patch: [24, 40]
halo: 8
threads: 1
forward_calls: 0
warmup.reps: 0
stop: {min_reps: 2, max_time_s: 0}
"""


class ThreeHostsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.hosts = hosts.Hosts(['pb-node1', 'pb-node2', 'pb-node3'])
        cls.folder = Path(tempfile.mkdtemp(prefix='patchbench-cluster-'))
        (cls.folder / 'study.yaml').write_text(STUDY)

    @classmethod
    def tearDownClass(cls):
        hosts.shutil.rmtree(cls.folder, ignore_errors=True)
        cls.hosts.close()

    def run_everywhere(self, *words):
        return self.hosts.mpirun(2, program.MPIRUN, program.PROGRAM, *words, code=0)

    def assert_exchange(self, point):
        """What the first host did not do itself was sent to it, and is set beside the link that was measured."""
        exchange, figures, settings = point['exchange'], point['summary'], point['point']
        image_bytes = 3 * 4 * settings['image']['height'] * settings['image']['width']
        self.assertEqual(exchange['carrier'], 'MPI')
        self.assertGreater(exchange['bytes'], image_bytes / 3)
        self.assertLess(exchange['bytes'], image_bytes)
        self.assertGreater(exchange['link_bytes_per_s'], 1e6)
        self.assertGreater(exchange['link_latency_s'], 1e-7)
        for key in ('stage_exchange_s', 'exchange_gb_per_s', 'exchange_of_link_percent'):
            self.assertGreater(figures[key], 0, key)
        self.assertAlmostEqual(figures['exchanged_mib'], exchange['bytes'] / 2**20)
        self.assertAlmostEqual(figures['link_gb_per_s'], exchange['link_bytes_per_s'] / 1e9)
        self.assertTrue([note for note in figures['notes'] if 'between nodes by MPI' in note], figures['notes'])

    def test_simulated_devices_exchange_too(self):
        result = self.run_everywhere('run', self.folder / 'study.yaml', '--out', self.folder / 'simulated',
                                     '--set', 'engine=timed', '--set', 'timed.per_window_s=0.001', '--set', 'patch=24')
        self.assertIn('between nodes by MPI', result.stdout)
        point = program.points(self.folder / 'simulated')[0]
        self.assertEqual(point['verification']['outcome'], 'passed')
        self.assert_exchange(point)

    def test_the_exchange_gives_the_bytes_of_one_rank(self):
        study = self.folder / 'study.yaml'
        run('run', study, '--out', self.folder / 'one', code=0)
        self.run_everywhere('run', study, '--out', self.folder / 'six')
        images = sorted(file.name for file in (self.folder / 'one').glob('*.png'))
        self.assertEqual(len(images), 2)
        for name in images:
            self.assertEqual((self.folder / 'six' / name).read_bytes(), (self.folder / 'one' / name).read_bytes(), name)
        places = program.lines(self.folder / 'six')[0]['environment']['ranks']
        self.assertEqual({place['host'] for place in places}, set(self.hosts.names))
        for point in program.points(self.folder / 'six'):
            self.assertEqual(point['verification']['outcome'], 'passed')
            self.assert_exchange(point)
            for rank, place in zip(point['samples']['ranks'], places, strict=True):
                asked_for_the_time = rank['timeline']['clock_error_s'] > 0
                self.assertEqual(asked_for_the_time, place['node'] != 0)

    def test_exchanged_rows_give_the_bytes_of_one_rank(self):
        """Slabs of six ranks, of which each third border lies between hosts."""
        words = ['run', self.folder / 'study.yaml', '--set', 'halo=exchanged', '--set', 'engine=native', '--set', 'patch=24']
        run(*words, '--out', self.folder / 'one-slab', code=0)
        self.run_everywhere(*words, '--out', self.folder / 'six-slabs')
        name, = [file.name for file in (self.folder / 'one-slab').glob('*.png')]
        self.assertEqual((self.folder / 'six-slabs' / name).read_bytes(), (self.folder / 'one-slab' / name).read_bytes())
        point = program.points(self.folder / 'six-slabs')[0]
        self.assertEqual(point['verification']['outcome'], 'passed')
        one_neighbour = 19 * 130 * 64 * 4
        self.assertEqual([rank['border_bytes'] for rank in point['samples']['ranks']],
                         [one_neighbour, *[2 * one_neighbour] * 4, one_neighbour])

    def test_ranks_of_three_hosts_write_one_file(self):
        """They share the file system, as nodes of a cluster do; each writes its own part, and nothing is exchanged."""
        source = self.folder / 'source.npy'
        pixels = bytes((row * 7 + column * 3 + column * row // 64) % 256 for row in range(150) for column in range(3 * 130))
        source.write_bytes(program.npy(pixels, (150, 130, 3), '|u1'))  # no two rows alike
        words = ['run', self.folder / 'study.yaml', '--set', f'image.path={source}', '--set', 'output=file', '--set', 'patch=24']
        run(*words, '--out', self.folder / 'one-file', code=0)
        self.run_everywhere(*words, '--out', self.folder / 'six-files')
        name, = [file.name for file in (self.folder / 'one-file').glob('*.npy')]
        self.assertEqual((self.folder / 'six-files' / name).read_bytes(), (self.folder / 'one-file' / name).read_bytes())
        point = program.points(self.folder / 'six-files')[0]
        self.assertEqual(len([rank for rank in point['samples']['ranks'] if rank['num_patches']]), 6)
        self.assertIsNone(point['exchange'])

    def test_scattered_ranks_give_the_bytes_of_one_rank(self):
        study = self.folder / 'study.yaml'
        run('run', study, '--out', self.folder / 'base', code=0)
        self.run_everywhere('run', study, '--out', self.folder / 'scattered', '--set', 'placement=scatter', '--set', 'ranks=4')
        for image in (self.folder / 'base').glob('*.png'):
            self.assertEqual((self.folder / 'scattered' / image.name).read_bytes(), image.read_bytes(), image.name)
        places = program.lines(self.folder / 'scattered')[0]['environment']['ranks']
        for point in program.points(self.folder / 'scattered'):
            members = [rank['rank'] for rank in point['samples']['ranks']]
            self.assertEqual(members, [0, 1, 2, 4])
            self.assertEqual({places[member]['host'] for member in members}, set(self.hosts.names))

    def test_taken_batches_give_the_same_bytes_or_are_refused(self):
        """Open MPI has one-sided operations between hosts over some networks only; TCP is none of them."""
        study = self.folder / 'study.yaml'
        self.run_everywhere('run', study, '--out', self.folder / 'taken', '--set', 'schedule=[contiguous,dynamic]',
                            '--set', 'patch=24')
        contiguous, dynamic = program.points(self.folder / 'taken')
        if dynamic['status'] == 'ok':
            images = [(self.folder / 'taken' / Path(point['output_file']).name).read_bytes() for point in (contiguous, dynamic)]
            self.assertEqual(*images)
        else:
            self.assertEqual((contiguous['status'], dynamic['status']), ('ok', 'refused'))
            self.assertIn('schedule = dynamic', dynamic['reason'])

    def test_check_sees_three_hosts(self):
        result = self.run_everywhere('check', '--device', 'cpu')
        for name in self.hosts.names:
            self.assertIn(name, result.stdout)
        self.assertIn('between nodes: ', result.stdout)
        self.assertIn('within a node: ', result.stdout)
        self.assertRegex(result.stdout.splitlines()[-1], r'^CHECK: (OK|\d+ findings?, 0 wrong)$')


if __name__ == '__main__':
    hosts.run_isolated()
    os.environ.update(OMP_NUM_THREADS='1', OMP_WAIT_POLICY='passive')
    program.main()
