"""patchbench tune: what it tries and writes, that run and denoise take it, and what it refuses."""
import os
import re
import signal
import unittest
from pathlib import Path

import program
from program import run

# A network that takes milliseconds, and no engines of other frameworks. 160 x 140 pixels are 2 x 2 patches of 128.
QUICK = ('--network', 'dncnn', '--weights', 'seed:1', '--device', 'cpu', '--threads', 1, '--no-cache')
ENGINES = Path(os.environ.get('PATCHBENCH_ENGINES', program.REPOSITORY / '.engines'))
INSTALLED = [name for name in ('onnxruntime', 'openvino') if (ENGINES / name / 'bin' / 'python').exists()]
ALONE = {**os.environ, 'PATCHBENCH_ENGINES': '/nowhere'}
KEYS = ('network', 'weights', 'engine', 'device', 'dtype', 'threads', 'patch', 'halo', 'batch', 'ranks', 'memory_limit_mib',
        'image.path', 'image.noise_sigma', 'trained_sigma')


def settings_of(file):
    """The settings of a file that tune wrote, as texts."""
    lines = [line.split(': ', 1) for line in file.read_text().splitlines() if not line.startswith('#')]
    return {key: value.strip('"') for key, value in lines}


def model_with_weights_in(name):
    """An ONNX model of one tensor, whose values lie in the file `name` beside it."""
    def field(number, content):
        return bytes([number << 3 | 2, len(content)]) + content
    entry = field(1, b'location') + field(2, name.encode())
    tensor = field(13, entry)  # TensorProto.external_data
    return bytes([8, 8]) + field(7, field(5, tensor))  # ir_version 8; ModelProto.graph, GraphProto.initializer


class Tune(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.image = self.write("a 'photo'.png", program.png(160, 140))
        self.output = self.folder / 'tuned.yaml'

    def tune(self, *options, ranks=0, code=None):
        image = self.image.parent / '..' / self.folder.name / self.image.name
        self.cache = self.folder / 'cache'
        return run('tune', image, *QUICK, '--output', self.output, '--verbose', *options, ranks=ranks, code=code,
                   env={**ALONE, 'PATCHBENCH_CACHE': str(self.cache)})

    def test_writes_settings_that_run_and_denoise_take(self):
        for ranks in (0, 2):
            before = self.output.read_bytes() if ranks else None
            result = self.tune(ranks=ranks, code=0)
            self.assertIn('★ taken', result.stdout)
            self.assertIn(f'patchbench denoise IN OUT --config {self.output}', result.stdout)
            kept = re.search(r'kept: +the earlier one, in (\S+)', result.stdout)
            self.assertEqual((Path(kept[1]) / self.output.name).read_bytes() if kept else None, before)
            rows = [line.split() for line in result.stdout.splitlines() if re.match('(native|torch) ', line)]
            families = {('native', 'fp32'), ('torch', 'fp32'), ('torch', 'bf16')}
            if 'avx512_bf16' in Path('/proc/cpuinfo').read_text():
                families.add(('native', 'bf16'))
            self.assertEqual({tuple(row[:2]) for row in rows}, families)
            self.assertFalse(self.cache.exists(), '--no-cache')
            carried = {(row[2], row[5]) for row in rows if row[0] == 'native' and row[3] == 'carried'}
            self.assertEqual(carried, {('64', 'all'), ('128', 'all')} | ({('64', '1')} if ranks == 2 else set()))
            for engine in ('native', 'torch'):  # the exact halo, and a smaller one that was searched
                halos = {int(row[3]) for row in rows if row[0] == engine and row[3] != 'carried'}
                self.assertEqual((len(halos), max(halos)), (2, 20))
            written = settings_of(self.output)
            self.assertLessEqual(set(KEYS), set(written))
            self.assertEqual(written['image.path'], str(self.image))
            best, = [row for row in rows if '★' in row]
            self.assertEqual(best[:6], [written[key] for key in ('engine', 'dtype', 'patch', 'halo', 'batch', 'ranks')])
        result = run('plan', self.output, '--ranks', '2', code=0)
        self.assertRegex(result.stdout, 'dncnn')
        image_mib = best[best.index('★') - 2]
        self.assertRegex(result.stdout, rf'dncnn-.* {image_mib} +[0-9.]+\n', 'the memory for the whole image')
        out = self.folder / 'out'
        result = run('run', self.output, '--out', out, '--set', 'bounds=off', '--set', 'stop.max_reps=1')
        self.assertIn(result.returncode, (0, 4), result.stderr + result.stdout)
        run('denoise', self.image, self.folder / 'denoised.png', '--config', self.output, '--allow-untrained', code=0)

    def test_refuses_what_cannot_be_before_anything_runs(self):
        self.assert_refused(self.tune('--memory-limit-mib', 1), 2, 'nothing fits into 1 MiB', '--memory-limit-mib', 'MiB;')
        self.assert_refused(run('tune', self.folder / 'none.png', *QUICK), 2, 'none.png')
        self.assert_refused(run('tune', self.folder, *QUICK), 2, self.folder.name)
        self.assert_refused(run('tune', self.image, *QUICK, '--output', self.image), 2, 'photo')
        self.assert_refused(run('tune', self.image, *QUICK, '--output', self.folder / 'none' / 'a.yaml'), 2, 'none')
        self.assert_refused(self.tune('--max-time', 0), 2, '--max-time')
        self.assert_refused(self.tune('--max-psnr-loss', -1), 2, '--max-psnr-loss')
        weights = self.write('w.safetensors', (program.REPOSITORY / 'models/drunet_small_color.safetensors').read_bytes())
        onto_it = run('tune', self.image, '--weights', weights, '--output', weights)
        self.assert_refused(onto_it, 2, 'w.safetensors', 'input')
        onto_its_weights = run('tune', self.image, '--network', self.write('m.onnx', model_with_weights_in('m.bin')),
                               '--output', self.write('m.bin', bytes(64)))
        self.assert_refused(onto_its_weights, 2, 'm.bin', 'input')
        text = self.write('text.png', 'no image')
        self.assert_refused(run('tune', text, *QUICK), 2, 'text.png')
        two_lines = self.write('two\nlines.png', self.image.read_bytes())
        self.assert_refused(run('tune', two_lines, *QUICK, '--output', self.output), 2, 'two', 'lines.png', 'rename it')
        self.assertFalse(self.output.exists())

    def test_the_least_memory_that_it_names_is_enough_and_no_less_is(self):
        refused = self.tune('--memory-limit-mib', 1)
        self.assert_refused(refused, 2, 'carried')
        least = int(re.search(r'(\d+) MiB;', refused.stderr)[1])
        self.assert_refused(self.tune('--memory-limit-mib', least - 1), 2, f'{least} MiB;')
        result = self.tune('--memory-limit-mib', least, code=0)
        carried = [line for line in result.stdout.splitlines() if re.match('native .* carried ', line)]
        self.assertTrue(carried and all('needs' in line for line in carried), result.stdout)

    @unittest.skipUnless(INSTALLED, 'needs an engine without prediction: launch/engines.sh --only onnxruntime')
    def test_engines_without_prediction_do_not_hide_the_least(self):
        result = run('tune', self.image, *QUICK, '--output', self.output, '--memory-limit-mib', 1, code=2)
        self.assertRegex(result.stderr, 'within 1 MiB: .*--memory-limit-mib')
        for engine in INSTALLED:
            self.assertRegex(result.stdout, f'(?m)^{engine} .* (oom|failed)')

    @unittest.skipUnless(INSTALLED, 'needs an engine without carried rows: launch/engines.sh --only onnxruntime')
    def test_each_installed_engine_is_measured(self):
        image = self.write('photo.png', program.png(320, 320))  # halos exclude the smaller patches
        result = run('tune', image, '--device', 'cpu', '--no-cache', '--output', self.output, '--max-time', 300, code=0,
                     timeout=400)
        for engine in INSTALLED:
            self.assertRegex(result.stdout, f'(?m)^{engine} .* [0-9]+ x [0-9]+ +[0-9]')

    def test_says_so_where_nothing_qualifies(self):
        self.write('tuned.yaml', 'patch: 64\n')
        result = self.tune('--max-time', 1, '--max-psnr-loss', 0)
        if result.returncode == 0:  # some engine loses nothing, and there was time to find it
            return
        self.assert_refused(result, 1, 'no candidate qualifies', '--max-time')
        self.assertEqual(self.output.read_text(), 'patch: 64\n', 'the earlier file stays')

    def test_samples_without_a_range_are_named(self):
        samples = program.npy([500 + i % 97 for i in range(64 * 48)], (48, 64), '<f4')
        result = run('tune', self.write('counts.npy', samples), '--output', self.output, '--device', 'cpu', '--max-time', 5, timeout=300)
        self.assert_refused(result, 2, 'no candidate has a PSNR', '--range')
        self.assertFalse(self.output.exists())

    def test_a_signal_writes_nothing(self):
        process = self.start(program.command('tune', self.image, *QUICK, '--output', self.output, '--verbose'), env=ALONE)
        for line in process.stderr:
            if 'candidates on' in line:
                break
        process.send_signal(signal.SIGINT)
        table, errors = process.communicate(timeout=100)
        self.assertEqual(process.returncode, 5, errors)
        self.assertIn('nothing is written', errors)
        self.assertIn('not reached', table)
        self.assertEqual(list(self.folder.glob('*tuned*')), [])


class Config(program.ProgramTest):
    """denoise --config."""

    def denoise(self, text, *options, code=None):
        photo = self.write('photo.png', program.png(40, 30))
        config = self.write('tuned.yaml', text)
        return run('denoise', photo, self.folder / 'out.png', '--sigma', 0.1, '--device', 'cpu', '--allow-untrained',
                   '--config', config, *options, code=code)

    def test_holds_where_no_option_is_given(self):
        small = 'network: unet\nweights: seed:1\nhalo: 8\n'
        self.denoise(small + 'image.path: none.png\nstop.min_reps: 9\n', code=0)  # its image and protocol are not taken
        self.assert_refused(self.denoise(small + 'patch: 30\n'), 2, 'patch = 30')
        self.denoise(small + 'patch: 30\n', '--patch', 32, code=0)
        weights = f"weights: {program.REPOSITORY / 'models/drunet_small_color.safetensors'}\nhalo: 8\n"
        self.denoise(weights, code=0)
        self.assert_refused(self.denoise(weights + 'network: dncnn\n'), 2, 'dncnn', 'drunet')

    def test_says_what_the_samples_mean_and_the_noise_level(self):
        photo = self.write('photo.png', program.png(40, 30))
        config = self.write('tuned.yaml', 'halo: 8\nsigma: 0.2\nimage.range: "0:200"\n')
        arguments = ('denoise', photo, self.folder / 'out.png', '--device', 'cpu', '--allow-untrained', '--config', config)
        self.assertIn('range 0:200, sigma 40 in its units (0.2 of it)', run(*arguments).stdout)
        result = run(*arguments, '--sigma', 30, '--range', '0:100')
        self.assertIn('range 0:100, sigma 30 in its units (0.3 of it)', result.stdout)
        config.write_text('halo: 8\nsigma: -1\n')  # as older results write auto
        run(*arguments, code=0)
        config.write_text('halo: 8\nimage.nodata: 300\n')
        self.assert_refused(run(*arguments), 2, 'nodata')

    def test_is_one_point_without_mistakes(self):
        self.assert_refused(self.denoise('patch: [32, 64]\n'), 2, 'tuned.yaml', 'several points')
        self.assert_refused(self.denoise('groups: [{patch: 32}]\n'), 2, 'tuned.yaml', 'several points')
        self.assert_refused(self.denoise('patch: 32\npathc: 8\n'), 2, 'tuned.yaml:2:1', "'pathc'")
        self.assert_refused(self.denoise('engine: timed\n'), 2, 'timed')
        missing = run('denoise', 'a.png', 'b.png', '--config', self.folder / 'none.yaml')
        self.assert_refused(missing, 2, 'none.yaml')


if __name__ == '__main__':
    program.main()
