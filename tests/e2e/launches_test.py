"""patchbench run --launches: separate starts of all ranks, each with results of its own, and what compare makes of them."""
import datetime
import os
import re
import subprocess

import program
from program import MPIRUN, command, run, wait_until

STUDY = """
name: started
engine: timed
timed.per_window_s: 0.001
device: cpu
patch: 32
halo: 8
batch: [1, 2]
stop: {min_reps: 6, max_time_s: 0}
image: {height: 64, width: 64}
"""
# How busy the machine is decides whether the figures are steady: that is INVALID, but not FAILED.
JUDGED = r'RESULT: (IN)?VALID\b'


class Launches(program.ProgramTest):
    def started(self, *arguments, code=0, env=None):
        result = run('run', self.write('study.yaml', STUDY), '--out', self.folder / 'out', *arguments,
                     env={**os.environ, **(env or {})}, code=code)
        return result

    def script(self, name, text):
        """A launcher: the program and its arguments are "$@"."""
        file = self.write(name, f'#!/bin/bash\n{text}\n')
        file.chmod(0o755)
        return file

    def environments(self):
        return [program.lines(launch)[0]['environment'] for launch in sorted((self.folder / 'out').glob('launch-*'))]

    def test_each_launch_is_a_start_of_all_ranks(self):
        text = self.started('--launches', 3, '--launcher', ' '.join([*MPIRUN, '-n', '2']), env={'TZ': 'JST-9'}).stdout
        environments = self.environments()
        self.assertEqual([len(one['ranks']) for one in environments], [2, 2, 2])
        for number, one in enumerate(environments, 1):
            self.assertIn(f'out/launch-{number}', one['command_line'])
            self.assertNotIn('--launches', one['command_line'])
            age = datetime.datetime.now(datetime.timezone.utc) - datetime.datetime.strptime(one['started_at'], '%Y-%m-%dT%H:%M:%S%z')
            self.assertLess(abs(age), datetime.timedelta(hours=1), 'it is in UTC whatever the time zone')
        self.assertEqual(len(re.findall(rf'(?m)^LAUNCH \d of 3: \d:\d\d, .*out/launch-\d/output\.txt .* {JUDGED}', text)), 3, text)
        self.assertNotIn('Plan of started', text)
        for number in (1, 2, 3):
            printed = (self.folder / f'out/launch-{number}/output.txt').read_text()
            self.assertIn('Plan of started', printed)
            self.assertRegex(printed.splitlines()[-1], JUDGED)
        self.assertIn('launches: 3 of 3', text)
        self.assertRegex(text.splitlines()[-1], JUDGED)
        compared = run('compare', self.folder / 'out', self.folder / 'out', '--fail-on', 'slower=3%', code=0)
        self.assertIn('OLD: 3 launches, NEW: 3 launches', compared.stdout)

    def test_without_a_launcher_the_program_is_started_alone(self):
        text = self.started('--launches=2', '--verbose').stdout
        self.assertEqual(text.count('Plan of started'), 2)
        self.assertEqual([len(one['ranks']) for one in self.environments()], [1, 1])

    def test_a_plan_takes_its_times_from_the_launches_of_its_own_folder(self):
        study = self.write('study.yaml', STUDY)
        self.assertIn('For times add --from', run('plan', study, cwd=self.folder).stdout)
        (self.folder / 'results/started/launch-3').mkdir(parents=True)  # one that left nothing
        self.assertIn('For times add --from', run('plan', study, cwd=self.folder).stdout)
        run('run', study, '--launches', 2, cwd=self.folder, code=0)
        planned = run('plan', study, cwd=self.folder, code=0)
        self.assertIn('results/started/launch-1/results.jsonl and 1 more', planned.stdout)

    def test_ranks_that_were_started_cannot_start_themselves(self):
        result = run('run', self.write('study.yaml', STUDY), '--out', self.folder / 'out', '--launches', 2, ranks=2)
        self.assert_refused(result, 2, '--launches 2', '--launcher')
        self.assertFalse((self.folder / 'out').exists())

    def test_results_that_would_be_mixed_are_refused(self):
        self.started()
        self.assert_refused(self.started('--launches', 2, code=2), 2, 'out/results.jsonl', '--out')
        (self.folder / 'out/results.jsonl').unlink()
        (self.folder / 'out/launch-3').mkdir()
        self.assert_refused(self.started('--launches', 2, '--resume', code=2), 2, 'launch-3', '--out')

    def test_launches_of_an_earlier_run_are_kept_aside(self):
        out = self.folder / 'out'
        self.started('--launches', 3)
        before = [file.read_bytes() for file in sorted(out.glob('launch-*/*.*'))]
        result = self.started('--launches', 2, '--launcher', 'true', code=1)
        self.assertTrue('RESULT: FAILED' in result.stdout and 'launch 2: ' in result.stdout, result.stdout)
        self.assertEqual(list(out.glob('launch-*')), [])
        self.assertEqual([file.read_bytes() for file in sorted(out.glob('earlier-*/launch-*/*.*'))], before)
        self.assertIn(next(out.glob('earlier-*')).name, result.stderr)

    def test_a_resumed_launch_that_does_nothing_failed(self):
        self.started('--launches', 2)
        result = self.started('--launches', 2, '--resume', '--launcher', 'true', code=1)
        self.assertIn('RESULT: FAILED', result.stdout)
        self.assertRegex(self.started('--launches', 2, '--resume').stdout.splitlines()[-1], JUDGED)
        self.assertEqual(list((self.folder / 'out').glob('earlier-*')), [])

    def test_a_study_among_earlier_launches_is_not_moved(self):
        (self.folder / 'out/launch-1').mkdir(parents=True)
        study = self.write('out/launch-1/study.yaml', STUDY)
        self.assert_refused(run('run', study, '--out', self.folder / 'out', '--launches', 2), 2, str(study), '--out')
        self.assertTrue(study.exists())

    def test_two_series_do_not_write_into_one_folder(self):
        slow = self.script('slow.sh', f'touch {self.folder}/started; exec sleep 600')
        self.start(command('run', self.write('study.yaml', STUDY), '--out', self.folder / 'out', '--launches', 2,
                           '--launcher', slow))
        wait_until((self.folder / 'started').exists, 'launch')
        self.assert_refused(self.started('--launches', 2, code=2), 2, f'{self.folder}/out', '--out')

    def test_a_launch_that_is_wrongly_called_is_the_only_one(self):
        result = self.started('--launches', 3, '--launcher', '/no/such/mpirun -n 4', code=2)
        self.assertIn('/no/such/mpirun', result.stderr)
        result = self.started('--launches', 3, '--set', 'batch=none', code=2)
        self.assertNotIn('LAUNCH 2', result.stdout)

    def test_the_gravest_exit_code_is_that_of_all(self):
        once = self.script('once.sh', '"$@"\ncase "$*" in *launch-2*) exit 3;; esac')
        text = self.started('--launches', 3, '--launcher', once, code=3).stdout
        self.assertRegex(text, r'RESULT: FAILED .*launch 2: it left results, but ended with exit code 3')
        self.assertEqual(len(self.environments()), 3, 'a launch that failed its verification ends no study')

    def test_a_launch_that_leaves_no_results_is_named(self):
        once = self.script('once.sh', 'case "$*" in *launch-1*) exit 7;; esac\n"$@"')
        for launcher in (once, 'true', self.script('partial.sh', 'exit 5')):
            result = self.started('--launches', 2, '--launcher', launcher, code=1)
            self.assertIn('RESULT: FAILED', result.stdout)
            self.assertIn('launch 1: ', result.stdout)

    def test_a_launcher_that_swallows_a_failure_hides_nothing(self):
        swallowing = self.script('swallowing.sh', '"$@"\nsed -i "\\$d" "${@: -1}/results.jsonl"')
        result = self.started('--launches', 2, '--launcher', swallowing, code=1)
        self.assertIn('RESULT: FAILED', result.stdout)

    def test_a_launcher_that_fails_after_all_is_named(self):
        late = self.script('late.sh', '"$@"; exit 7')
        result = self.started('--launches', 2, '--launcher', late, code=1)
        self.assertRegex(result.stdout, r'RESULT: FAILED .*launch 1: .*ended with exit code 7')
        for end, code in (('exit 3', 3), ('kill -9 $$', 1)):
            with self.subTest(end=end):
                late = self.script('late.sh', f'"$@"; {end}')
                result = self.started('--launches', 2, '--resume', '--launcher', late, code=code)
                self.assertRegex(result.stdout, rf'RESULT: FAILED .*ended with exit code {137 if code == 1 else code}')

    def test_no_launch_is_started_after_one_that_a_signal_ended(self):
        """A batch system sends its signal to the ranks, not to the program that starts them."""
        study = STUDY.replace('min_reps: 6', 'min_reps: 100000')
        ends = self.script('ends.sh', '"$@" & sleep 2; kill -TERM $!; wait $!')
        options = ('--out', self.folder / 'out', '--launches', 3, '--launcher', ends, '--max-time', 100)
        result = run('run', self.write('long.yaml', study), *options, code=5)
        self.assertIn('launches: 1 of 3', result.stdout)

    def test_a_signal_between_launches_leaves_the_series_unfinished(self):
        between = self.script('between.sh', '"$@"; code=$?; kill -TERM $PPID; exit $code')
        result = self.started('--launches', 2, '--launcher', between, code=5)
        self.assertRegex(result.stdout, r'launches: 1 of 2, [^!]*RESULT: .*1 of 2 launches')

    def test_each_launch_has_its_own_time(self):
        study = STUDY.replace('min_reps: 6', 'min_reps: 100000')
        options = ('--out', self.folder / 'out', '--launches', 2, '--max-time', 1)
        result = run('run', self.write('long.yaml', study), *options, code=5)
        self.assertIn('launches: 2 of 2', result.stdout)

    def test_a_single_launch_has_its_launcher(self):
        self.started('--launches', 1, '--launcher', ' '.join([*MPIRUN, '-n', '2']))
        self.assertEqual([len(one['ranks']) for one in self.environments()], [2])

    def test_a_killed_start_takes_its_launch_along(self):
        """SIGKILL, as a job's end or the kernel sends it, leaves no time to hand anything on."""
        study = self.write('study.yaml', STUDY.replace('min_reps: 6', 'min_reps: 1000').replace('0.001', '0.1'))
        started = self.start(command('run', study, '--out', self.folder / 'out', '--launches', 2))
        wait_until((self.folder / 'out/launch-1/results.jsonl').exists, 'launch')
        started.kill()
        started.wait()
        wait_until(lambda: not self.running(), 'end of the launch')

    def running(self):
        listing = subprocess.run(['pgrep', '-f', f'run {self.folder}/study.yaml'], capture_output=True, text=True)
        return listing.stdout.split()


if __name__ == '__main__':
    program.main()
