"""launch/slurm.sbatch under a real Slurm: `python3 slurm_test.py <patchbench>`.

The first job has less time than its study needs: Slurm's SIGTERM before the end stops it, and what is finished is kept.
The second goes on to the end.
"""
import os
import tempfile
import unittest
from pathlib import Path

import hosts  # first: it makes program known
import slurm

import program

LAUNCH = program.REPOSITORY / 'launch'
NODES_LINE = '#SBATCH --nodes=1 --ntasks-per-node=4 --gpus-per-node=4'
NUM_POINTS = 16
# 16 points of at least 4 s each, most of it warm-up: never done within 60 s, however fast the machine, and nothing to be
# found in the timings, however busy.
STUDY = f"""
name: walltime
image: {{height: 40, width: 40}}
network: dncnn
weights: seed:1
device: cpu
threads: 1
batch: 1
halo: 4
patch: {{from: 8, to: {8 + NUM_POINTS - 1}, step: 1}}
warmup.time_s: 4
forward_calls: 0
save_images: false
stop: {{min_reps: 2, max_time_s: 0}}
"""


class SlurmTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix='patchbench-cluster-'))
        cls.addClassCleanup(hosts.shutil.rmtree, cls.folder, ignore_errors=True)
        cls.slurm = slurm.Slurm()
        cls.addClassCleanup(cls.slurm.close)
        cls.lay_out_project()

    @classmethod
    def lay_out_project(cls):
        """As a user sees it: build/, launch/, a study, and the one line of slurm.sbatch edited that must be."""
        (cls.folder / 'build').symlink_to(Path(program.PROGRAM).parent)
        (cls.folder / 'launch').symlink_to(LAUNCH)
        (cls.folder / 'study.yaml').write_text(STUDY)
        script = (LAUNCH / 'slurm.sbatch').read_text()
        assert NODES_LINE in script
        cls.script = cls.folder / 'slurm.sbatch'
        cls.script.write_text(script.replace(NODES_LINE, f'#SBATCH --nodes=1 --ntasks-per-node={os.cpu_count()}'))

    def run_job(self, *options, seconds, words=('study.yaml', '--out', 'results')):
        job = self.slurm.submit(self.folder, *options, self.script, *words)
        state = self.slurm.result(job, seconds)
        return state, (self.folder / f'patchbench-{job}.log').read_text()

    def points(self):
        return [point for point in program.points(self.folder / 'results') if point['status'] == 'ok']

    def test_a_study_that_outlasts_its_job_goes_on_in_the_next(self):
        # Slurm sends it up to half a minute early: 30 to 60 s after the start.
        state, log = self.run_job('--time=2', '--signal=TERM@60', seconds=300)
        self.assertEqual(state, ('FAILED', '5:0'), log + self.slurm.logs())
        self.assertIn('SIGTERM', log)
        first = self.points()
        self.assertTrue(0 < len(first) < NUM_POINTS, log)
        state, log = self.run_job('--time=10', seconds=400)
        self.assertEqual(state, ('COMPLETED', '0:0'), log + self.slurm.logs())
        self.assertIn(f'resumed: {len(first)} of {NUM_POINTS}', log)
        self.assertRegex(log, r'RESULT: (IN)?VALID')
        points = self.points()
        self.assertEqual(sorted(point['index'] for point in points), list(range(NUM_POINTS)))
        self.assertEqual([point for point in points if point in first], first)
        self.assertEqual({point['verification']['outcome'] for point in points}, {'passed'})

    def test_launches_of_a_study_are_starts_of_all_ranks(self):
        (self.folder / 'timed.yaml').write_text('name: timed\nengine: timed\ntimed.per_window_s: 0.001\ndevice: cpu\n'
                                                'patch: 32\nhalo: 8\nimage: {height: 64, width: 64}\n')
        state, log = self.run_job('--time=10', seconds=200, words=('timed.yaml', '--out', 'timed', '--launches', '2'))
        self.assertEqual(state, ('COMPLETED', '0:0'), log + self.slurm.logs())
        self.assertIn('launches: 2 of 2', log)
        for launch in (1, 2):
            first = program.lines(self.folder / f'timed/launch-{launch}')[0]
            self.assertEqual(len(first['environment']['ranks']), os.cpu_count())

    def test_a_folder_is_denoised_and_what_is_there_is_kept(self):
        (self.folder / 'noisy').mkdir()
        for index in range(3):
            (self.folder / 'noisy' / f'{index}.png').write_bytes(program.png(50, 40 + index))
        words = ('denoise', 'noisy', 'denoised/', '--network', 'dncnn', '--sigma', '0.1', '--device', 'cpu')
        for said in ('3 images: 3 denoised', 'not denoised: denoised/2.png is there'):
            state, log = self.run_job('--time=10', seconds=200, words=words)
            self.assertEqual(state, ('COMPLETED', '0:0'), log + self.slurm.logs())
            self.assertIn(said, log)

    def test_ranks_under_srun_are_one_job(self):
        ranks = os.cpu_count()
        job = self.slurm.submit(self.folder, f'--ntasks={ranks}', '--output=check.log', '--wrap',
                                'srun --mpi=pmix launch/bind.sh build/patchbench check --device cpu')
        state, log = self.slurm.result(job, 120), (self.folder / 'check.log').read_text()
        self.assertEqual(state, ('COMPLETED', '0:0'), log)
        self.assertIn(f'{ranks} rank', log)
        self.assertRegex(log, 'CHECK: (OK|.* 0 wrong)')

    def test_ranks_without_the_right_mpi_are_named_as_copies(self):
        job = self.slurm.submit(self.folder, '--ntasks=2', '--output=copies.log', '--wrap',
                                'srun --mpi=none build/patchbench check --device cpu')
        self.assertEqual(self.slurm.result(job, 120), ('FAILED', '2:0'), (self.folder / 'copies.log').read_text())
        self.assertRegex((self.folder / 'copies.log').read_text(), r'\b2 tasks\b.*--mpi=pmix')


if __name__ == '__main__':
    if not os.environ.get(hosts.ISOLATED):
        slurm.skip_unless_possible()
    hosts.run_isolated()
    os.environ.update(OMP_NUM_THREADS='1', OMP_WAIT_POLICY='passive')
    program.main()
