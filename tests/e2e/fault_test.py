"""Faults while a study runs: signals, killed ranks, a folder that cannot be written."""
import os
import signal
import subprocess
import time

import program

LONG = """
name: long
weights: seed:1
device: cpu
patch: 64
halo: 8
warmup.reps: 0
stop.min_reps: 2
stop.max_time_s: 0
groups:
  - {image: {height: 64, width: 64}}
  - {image: {height: 128, width: 128}, stop.min_reps: 100000}
  - {image: {height: 64, width: 64}}
"""


class Faults(program.ProgramTest):
    def start_long(self, ranks, out):
        """The first point is finished, the second runs for ever."""
        process = self.start(program.command('run', self.write('long.yaml', LONG), '--out', out, ranks=ranks))
        program.wait_until(lambda: program.points(out), 'first point', 120)
        time.sleep(1)
        return process

    def children(self, process):
        listing = subprocess.run(['pgrep', '-P', str(process.pid)], capture_output=True, text=True).stdout.split()
        return [int(pid) for pid in listing]

    def test_sigterm_keeps_what_is_finished_and_exits_with_5(self):
        for number in (signal.SIGTERM, signal.SIGUSR1):
            out = self.folder / f'out{number}'
            process = self.start_long(2, out)
            for rank in self.children(process):  # as a batch system does: every process of the job
                os.kill(rank, number)
            said = process.communicate(timeout=60)[0]
            self.assertEqual(process.returncode, 5)
            self.assertRegex(said, '(?m)^left: +2 points; the same command with --resume goes on$')
            self.assertEqual([point['status'] for point in program.points(out)], ['ok', 'interrupted', 'skipped'])

    def test_a_killed_rank_ends_the_job_and_keeps_what_is_finished(self):
        out = self.folder / 'out'
        process = self.start_long(2, out)
        started = time.monotonic()
        os.kill(self.children(process)[-1], signal.SIGKILL)
        process.communicate(timeout=60)
        self.assertLess(time.monotonic() - started, 30)
        self.assertNotEqual(process.returncode, 0)
        self.assertEqual([line.get('status') for line in program.lines(out)[1:]], ['ok'])

    def test_without_mpirun_no_daemon_is_left_behind(self):
        process = self.start_long(0, self.folder / 'out')
        self.assertEqual(self.children(process), [])
        process.kill()
        process.communicate(timeout=60)

    def test_ctrl_c_ends_cleanly(self):
        out = self.folder / 'out'
        process = self.start_long(2, out)
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0)
        self.assertEqual(program.points(out)[0]['status'], 'ok')

    def test_a_study_that_never_ends_to_be_read(self):
        fifo = self.folder / 'fifo.yaml'
        os.mkfifo(fifo)
        for command in ('plan', 'run', 'report'):
            self.assert_refused(program.run(command, fifo, timeout=30), 2, 'fifo.yaml')

    def test_no_result_replaces_the_study(self):
        study = self.write('results.csv', LONG)
        self.assert_refused(program.run('run', study, '--out', self.folder), 2, 'results.csv')
        self.assertEqual(study.read_text(), LONG)

    def test_a_full_standard_output(self):
        study = self.write('long.yaml', LONG)
        for words in (['--version'], ['--help'], ['settings'], ['plan', study]):
            result = program.run(*words, before=['sh', '-c', 'exec "$0" "$@" > /dev/full'], code=1)
            self.assertIn('standard output', result.stderr)

    def test_a_full_standard_output_of_a_study(self):
        """More text than a buffer holds, so that it is a line in the middle which cannot be written."""
        groups = ''.join(f'  - {{patch: {patch}}}\n' for patch in (64, 16, 32, 40, 48))
        study = self.write('short.yaml', LONG[:LONG.index('groups:')] + f'bounds: off\nimage: {{height: 64, width: 64}}\ngroups:\n{groups}')
        out = self.folder / 'out'
        result = program.run('run', study, '--verbose', '--out', out, before=['sh', '-c', 'exec "$0" "$@" > /dev/full'], code=1)
        self.assertRegex(result.stderr, 'patchbench: standard output could not be written: .*files .* are complete')
        self.assertNotIn('write to file', result.stderr)
        self.assertEqual([point['status'] for point in program.points(out)], ['ok'] * 5)

    def test_a_full_standard_error_changes_no_exit_code(self):
        image = self.write('in.png', program.png(40, 36))
        study = self.write('wrong.yaml', LONG + 'pathc: 32\n')
        denoise = ['denoise', image, self.folder / 'out.png', '--network', 'dncnn', '--sigma', '0.1', '--device', 'cpu']
        for words, code in ((['frobnicate'], 2), ([], 2), (['denoise', 'absent', 'out.png'], 2), (['report', 'absent'], 2),
                            (['compare', 'a', 'b'], 2), (['run', study], 2), (denoise, 0)):
            program.run(*words, before=['sh', '-c', 'exec "$0" "$@" 2> /dev/full'], code=code)
        self.assertTrue((self.folder / 'out.png').exists())
        result = program.run(*denoise, before=['bash', '-c', '"$0" "$@" 2>&1 | true; exit ${PIPESTATUS[0]}'])
        self.assertIn(result.returncode, (0, 1), 'its output was lost, or all of it lay in the pipe')

    def test_a_current_folder_that_was_removed(self):
        gone = ['bash', '-c', f'mkdir {self.folder}/gone && cd {self.folder}/gone && rmdir ../gone && exec "$0" "$@"']
        self.assert_refused(program.run('settings', before=gone), 2, 'current folder')

    def test_an_output_folder_that_cannot_be_made(self):
        blocker = self.write('blocker', 'a file')
        study = self.write('long.yaml', LONG)
        result = program.run('run', study, '--out', blocker / 'out', ranks=2)
        self.assert_refused(result, 2, 'blocker')


if __name__ == '__main__':
    program.main()
