"""Studies with engines that run in a process of their own: three networks in all installed frameworks on 1 and 3 ranks,
and an engine that fails in every way (tests/engine/workers/faulty.py). What is not installed is skipped."""
import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import program
from program import wait_until

ENGINES = Path(os.environ.get('PATCHBENCH_ENGINES', program.REPOSITORY / '.engines'))
INSTALLED = sorted(path.name for path in ENGINES.glob('*') if (path / 'bin' / 'python').exists())
FAULTY = program.REPOSITORY / 'tests' / 'engine' / 'workers' / 'faulty.py'
FP64_TOLERANCE = 2e-5  # of full scale: fp32 in other orders of summation, through networks of up to 60 layers
STUDY = """
name: engines
image: {height: 48, width: 64}
network: dncnn
weights: seed:1
device: cpu
threads: 1
patch: 24
halo: 4
batch: 2
last_batch: ragged
warmup.reps: 0
forward_calls: 1
bounds: false
save_images: false
stop: {min_reps: 2, max_time_s: 0}
"""


class EnginesTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        if not INSTALLED:
            self.skipTest('no engine is installed: launch/engines.sh --only onnxruntime')
        self.env = {**os.environ, 'PATCHBENCH_PYTHON': str(ENGINES / INSTALLED[0] / 'bin' / 'python')}

    def run_study(self, more, ranks=0, study=STUDY, code=None):
        study = self.write('study.yaml', study + more)
        result = program.run('run', study, '--out', self.folder / 'out', ranks=ranks, code=code, env=self.env, timeout=600)
        return result, program.points(self.folder / 'out')

    def test_engines_run_every_network_on_1_and_3_ranks_and_agree_with_fp64(self):
        names = ['torch', 'native', *INSTALLED]
        networks = 'zip: {network: [dncnn, unet, drunet], weights: [default, seed:1, default]}\nhalo: 8\n'
        study = STUDY.replace('network: dncnn\nweights: seed:1\n', networks).replace('halo: 4\n', '')
        result, points = self.run_study(f'engine: [{", ".join(names)}]\nranks: [3, 1]\nverify.fp64: true\n', 3, study, code=0)
        self.assert_valid(result.stdout.strip().splitlines()[-1])
        ran = [(point['point']['network'], point['point']['engine'], point['point']['settled']['num_ranks'])
               for point in points]
        self.assertEqual(sorted(ran), sorted(itertools.product(('dncnn', 'unet', 'drunet'), names, (1, 3))))
        for point in points:
            with self.subTest(point=point['label']):
                check = point['verification']
                self.assertEqual(check['outcome'], 'passed', check)
                self.assertLessEqual(check['fp64_error'], FP64_TOLERANCE)
                self.assertGreater(check['fp64_error'], 0, 'fp32 rounds')
                if point['point']['engine'] in INSTALLED:
                    self.check_own_process(point)

    def check_own_process(self, point):
        note = ' '.join(point['summary']['notes'])
        self.assertIn('in a process of its own', note)
        self.assertIn('with the hand-over', note)
        for rank in point['memory']['ranks']:
            self.assertGreater(rank['allocated_peak_mib'], 20, 'the framework itself')
            self.assertGreater(rank['engine_peak_mib'], 20)
            self.assertLess(rank['engine_peak_mib'], rank['allocated_peak_mib'], 'without the windows')
            self.assertLess(rank['engine_peak_mib'], rank['host_peak_mib'], 'without the rank')
        self.assertGreater(point['samples']['load_s'], 0.05, 'the process starts Python')
        self.assertGreater(point['samples']['prepare_s'], 0.001, 'its first call')

    def test_engines_that_have_bf16_pass_verification_and_say_how_they_computed(self):
        names = [name for name in INSTALLED if name != 'onnxruntime']
        _, points = self.run_study(f'engine: [{", ".join(["torch", *names])}]\ndtype: bf16\n', ranks=2, code=0)
        self.assertEqual([point['verification']['outcome'] for point in points], ['passed'] * len(points))
        for point in points[1:]:
            self.assertIn('bf16 through fp32 in the shared memory', ' '.join(point['summary']['notes']))
            self.assertGreater(point['verification']['window_error'], 1e-4, 'bf16 is not fp32')

    def test_onnxruntime_has_no_bf16(self):
        study = self.write('study.yaml', STUDY + 'engine: onnxruntime\ndtype: bf16\n')
        self.assert_refused(program.run('run', study, '--out', self.folder / 'out'), 2, 'dtype = bf16', 'onnxruntime',
                            'dtype: fp32', 'openvino')

    def test_failures_are_the_status_of_their_points(self):
        engine = os.path.relpath(FAULTY, self.folder)  # as in a study: relative to its folder
        options = ['call=crash', 'call=raise', 'call=shape', 'load=raise', 'call=memory', 'call=hang']
        more = f'engine: "python:{engine}"\nmemory_limit_mib: 64\ngroups:\n'
        more += f'  - {{worker.options: [{", ".join(options[:-1])}], worker.timeout_s: 20}}\n'
        more += '  - {worker.options: call=hang, worker.timeout_s: 3}\n'
        result, points = self.run_study(more, ranks=2)
        self.assertIn(result.returncode, (1, 5), result.stderr + result.stdout)
        found = {point['point']['worker']['options']: (point['status'], point['reason']) for point in points}
        self.assertEqual({option: found[option][0] for option in options},
                         {**dict.fromkeys(options, 'failed'), 'call=memory': 'oom'})
        for option, words in (('call=crash', 'the last line of a crash'), ('call=raise', 'dislikes these windows'),
                              ('call=shape', 'instead of'), ('load=raise', 'dislikes these windows'),
                              ('call=hang', 'worker.timeout_s')):
            self.assertIn(words, found[option][1])

    def test_what_an_adapter_says_does_not_steer_the_terminal(self):
        adapter = self.write('adapter.py', 'def load(model, options):\n    raise RuntimeError("not \\x1b[31mthis")\n')
        result, points = self.run_study(f'engine: "python:{adapter}"\n')
        self.assertIn('not ', points[0]['reason'])
        self.assertNotIn('\x1b', result.stderr + result.stdout)

    def test_a_study_does_not_go_on_with_another_adapter(self):
        adapter = self.write('adapter.py', 'def load(model, options):\n    return lambda windows, *more: windows\n')
        study = f'engine: "python:{adapter}"\nverify.mode: "off"\n'
        result, points = self.run_study(study)
        self.assertEqual([point['status'] for point in points], ['ok'], result.stderr)
        resume = ['run', self.folder / 'study.yaml', '--out', self.folder / 'out', '--resume']
        self.assertIn('1 of 1 points are finished', program.run(*resume, env=self.env).stderr)
        adapter.write_text(adapter.read_text() + '# changed\n')
        result = program.run(*resume, env=self.env, code=2)
        self.assertIn(f'the contents of {adapter} are other ones', result.stderr)

    def test_a_process_that_ended_fails_its_image_alone(self):
        adapter = self.write('adapter.py', 'import os\n\nLAYOUT = "any"\n\n\ndef load(model, options):\n'
                             '    def call(windows, out):\n        if abs(windows.max() - 7 / 255) < 1e-3:\n            os._exit(3)\n'
                             '        out[...] = windows\n\n    return call\n')
        images = self.folder / 'in'
        images.mkdir()
        for index, value in enumerate((100, 7, 100, 100)):  # the dark one ends the process
            (images / f'{index}.png').write_bytes(program.png(40, 36, 1, lambda x, y, c, value=value: value))
        options = ('--engine', f'python:{adapter}', '--weights', 'seed:1', '--network', 'dncnn', '--allow-untrained', '--halo', 0,
                   '--sigma', 0.1, '--batch', 1, '--verify', 0)
        result = program.run('denoise', images, self.folder / 'out', *options, env=self.env, code=1)
        self.assertEqual(sorted(file.name for file in (self.folder / 'out').iterdir()), ['0.png', '2.png', '3.png'])
        self.assertIn('1.png: failed: ', result.stdout)

    def test_an_absent_engine_is_named_with_its_command(self):
        self.env['PATCHBENCH_ENGINES'] = str(self.folder)
        result, points = self.run_study('engine: [jax, torch]\n')
        self.assertEqual([point['status'] for point in points], ['failed', 'ok'])
        self.assertIn('launch/engines.sh --only jax', points[0]['reason'])

    def test_an_engine_without_its_packages_is_named_with_what_to_do(self):
        environment = self.folder / 'jax'
        subprocess.run([sys.executable, '-m', 'venv', '--without-pip', environment], check=True)
        self.env['PATCHBENCH_ENGINES'] = str(self.folder)
        del self.env['PATCHBENCH_PYTHON']
        _, (point,) = self.run_study('engine: jax\n')
        self.assertEqual(point['status'], 'failed')
        for words in ("No module named 'jax'", str(environment), 'launch/engines.sh --only jax'):
            self.assertIn(words, point['reason'])

    def test_no_process_outlives_a_killed_rank(self):
        pid_file = self.folder / 'pid'
        study = self.write('study.yaml', STUDY + f'engine: "python:{FAULTY}"\nworker.options: "call=hang,pid={pid_file}"\n')
        launch = self.start(program.command('run', study, '--out', self.folder / 'out', ranks=1), env=self.env)
        worker = int(wait_until(lambda: pid_file.exists() and pid_file.read_text(), 'worker'))
        guardian = self.parent_of(worker)
        os.kill(self.parent_of(guardian), signal.SIGKILL)
        wait_until(lambda: not self.is_running(worker) and not self.is_running(guardian), 'end of its processes')
        launch.wait(timeout=60)

    def test_a_worker_that_is_killed_at_any_moment_fails_its_point(self):
        """While it loads, in its first call, in a pass, and between two calls; the other rank's worker is well."""
        moments = {'load': 'load=wait', 'prepare': 'call=wait', 'pass': 'call=wait,from=4', 'idle': 'from=8,burn=0.001'}
        groups = ''.join(f'  - {{engine: "python:{FAULTY}", stop.min_reps: {100000 if moment == "idle" else 2}, '
                         f'worker.options: "{options},reached={self.folder / moment},go={self.folder / moment}.go"}}\n'
                         for moment, options in moments.items())
        study = self.write('study.yaml', f'{STUDY}groups:\n{groups}  - {{engine: torch}}\n')
        out = self.folder / 'out'
        launch = self.start(program.command('run', study, '--out', out, ranks=2), env=self.env)
        for number, moment in enumerate(moments):
            reached = self.folder / moment
            worker = int(wait_until(lambda: reached.exists() and reached.read_text(), f'worker in {moment}'))
            rank = self.parent_of(self.parent_of(worker))
            if moment == 'idle':  # the call under way ends, and no other begins
                os.kill(rank, signal.SIGSTOP)
                time.sleep(0.2)
            os.kill(worker, signal.SIGKILL)
            os.kill(rank, signal.SIGCONT)
            (self.folder / f'{moment}.go').touch()  # of this point alone: the next one may begin soon
            wait_until(lambda: len(program.points(out)) > number, f'status after a kill in {moment}', 10)
            point = program.points(out)[number]
            self.assertEqual(point['status'], 'failed')
            self.assertIn('killed by signal 9', point['reason'])
            wait_until(lambda: not self.processes_with(f'reached={reached},'), f'end of the processes of {moment}', 10)
        self.assertEqual(launch.wait(timeout=60), 1)
        self.assertEqual([point['status'] for point in program.points(out)], ['failed'] * 4 + ['ok'])

    def processes_with(self, words):
        """Processes whose command line has these words."""
        return [file for file in Path('/proc').glob('[0-9]*/cmdline') if words in self.command_of(file)]

    def command_of(self, file):
        try:
            return file.read_bytes().replace(b'\0', b' ').decode(errors='replace')
        except (FileNotFoundError, ProcessLookupError):
            return ''

    def parent_of(self, process):
        return int(Path(f'/proc/{process}/stat').read_text().rsplit(')', 1)[1].split()[1])

    def is_running(self, process):
        try:
            return Path(f'/proc/{process}/stat').read_text().rsplit(')', 1)[1].split()[0] != 'Z'
        except (FileNotFoundError, ProcessLookupError):
            return False

    def test_check_lists_the_engines(self):
        result = program.run('check', '--device', 'cpu', env=self.env)
        line = next(line for line in result.stdout.splitlines() if line.startswith('engines in a process of their own:'))
        for name in INSTALLED:
            self.assertRegex(line, rf'{name.replace("py", "")}[a-z-]* \d+\.\d+.*, Python 3')
        self.assertNotIn('does not start', line)


if __name__ == '__main__':
    if not INSTALLED:
        print('skipped: no engine is installed: launch/engines.sh --only onnxruntime')
        sys.exit(77)
    program.main()
