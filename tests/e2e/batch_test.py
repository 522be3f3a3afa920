"""What launch/pbs.sh and launch/lsf.sh do between the lines that their systems read: run by bash, with the variables that
PBS and LSF set. (launch/slurm.sbatch runs under a real Slurm: tests/cluster/slurm_test.py.)
"""
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import program

LAUNCH = program.REPOSITORY / 'launch'
STUDY = """
name: job
image: {height: 40, width: 40}
network: dncnn
weights: seed:1
device: cpu
threads: 1
halo: 4
patch: [16, 20]
warmup.reps: 0
forward_calls: 0
save_images: false
stop: {min_reps: 2, max_time_s: 0}
"""


class BatchTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        (self.folder / 'build').symlink_to(Path(program.PROGRAM).resolve().parent)
        (self.folder / 'launch').symlink_to(LAUNCH)
        self.write('study.yaml', STUDY)
        nodes = self.write('nodes', 'localhost\nlocalhost\n')
        self.env = {**os.environ, 'PBS_O_WORKDIR': str(self.folder), 'PBS_NODEFILE': str(nodes),
                    'LSB_DJOB_HOSTFILE': str(nodes), 'STUDY': 'study.yaml'}

    def submit(self, script):
        return self.start(['bash', LAUNCH / script], cwd=self.folder, env=self.env, stderr=subprocess.STDOUT)

    def finish(self, process):
        output = process.communicate(timeout=200)[0]
        return process.returncode, output

    def test_a_job_checks_runs_and_goes_on(self):
        for script in ('pbs.sh', 'lsf.sh'):
            code, output = self.finish(self.submit(script))
            self.assertEqual(code, 0, output)
            self.assertRegex(output, 'CHECK: (OK|.* 0 wrong)')
            self.assert_valid(output.splitlines()[-1])
        self.assertIn('resumed: 2 of 2', output, 'the second job')

    def told(self, script, end):
        """The lines of words that both ranks get of a script; the program ends its check with `end`."""
        (self.folder / 'build').unlink(missing_ok=True)
        (self.folder / 'build').mkdir()
        self.write('build/patchbench', f'#!/bin/sh\necho "$@" >>told\n[ "$1" != check ] || {end}\n').chmod(0o755)
        self.assertEqual(self.finish(self.submit(script))[0] == 0, end != 'false')
        told = (self.folder / 'told').read_text().splitlines()
        shutil.rmtree(self.folder / 'build')
        (self.folder / 'told').unlink()
        return told

    def test_a_launch_that_check_calls_wrong_runs_nothing(self):
        for script in ('pbs.sh', 'lsf.sh'):
            self.assertEqual(self.told(script, 'false'), ['check'] * 2)

    def test_a_study_goes_on_and_has_the_time_that_is_left(self):
        self.assertEqual(self.told('lsf.sh', 'true'), ['check'] * 2 + ['run --resume study.yaml'] * 2)
        words = self.told('pbs.sh', 'sleep 1.1')[2:]
        self.assertRegex(words[0], r'^run --resume --max-time 34[0-7]\d study\.yaml$')
        self.assertEqual(words, words[:1] * 2)

    def test_outside_its_system_a_script_says_how_it_is_submitted(self):
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(('SLURM_', 'PBS_', 'LSB_'))}
        for script, command in (('slurm.sbatch', 'sbatch'), ('pbs.sh', 'qsub'), ('lsf.sh', 'bsub')):
            code, output = self.finish(self.submit(script))
            self.assertNotEqual(code, 0, output)
            self.assertRegex(output, rf'\b{command}\b.*\n$')
            self.assertEqual(output.count('\n'), 1, output)

    def test_the_signal_of_lsf_ends_the_study_and_not_the_script(self):
        self.write('study.yaml', STUDY.replace('min_reps: 2', 'min_reps: 1000000'))
        process = self.submit('lsf.sh')
        program.wait_until((self.folder / 'results/job/results.jsonl').exists, 'results', 120)
        os.killpg(process.pid, signal.SIGUSR1)
        code, output = self.finish(process)
        self.assertEqual(code, 5, output)
        self.assertIn('SIGUSR1', output)

    def wrong_check(self, **variables):
        return program.run('check', '--device', 'cpu', code=2, env={**self.env, **variables}, timeout=60)

    def test_a_wrong_launch_is_named(self):
        self.assertRegex(self.wrong_check(OMPI_COMM_WORLD_SIZE='7').stderr, r'\b7 ranks\b.*\b1\b')
        self.assertIn('srun --mpi=pmix', self.wrong_check(SLURM_STEP_NUM_TASKS='2', SLURM_PROCID='0').stderr)

    def test_a_finding_that_is_wrong_is_exit_code_2(self):
        found = self.wrong_check(MPI_LOCALRANKID='5').stdout
        self.assertIn('WRONG: rank 0@', found)
        self.assertRegex(found.splitlines()[-1], r'^CHECK: \d+ findings?, 1 wrong$')


if __name__ == '__main__':
    if not shutil.which('hwloc-bind'):
        print('skipped: hwloc-bind is missing (apt package hwloc)')
        sys.exit(77)
    program.main()
