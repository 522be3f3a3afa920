"""patchbench bench and settings, and how much a study prints."""
import json
import os
import re

import program
from denoise_test import small_drunet
from program import run

# 2 points that take a moment: patches of 32 on a scene of 64 x 48.
SMALL = ('--device', 'cpu', '--bounds', 'off', '--patch', 32, '--halo', 8, '--batch', '1,2', '--stop-min-reps', 2,
         '--stop-max-time-s', 0, '--image-height', 64, '--image-width', 48)
# 36 points with intervals, seams and quality, that is with every column of the table.
MANY = """
name: many
network: dncnn
weights: seed:1
engine: native
device: cpu
threads: 1
bounds: off
patch: [8, 16, 32]
halo: [none, 2, 4]
batch: [1, 2, 3, 4]
forward_calls: 1
save_images: false
verify.time_share: 0
stop: {min_reps: 6, max_time_s: 0}
image: {height: 32, width: 24}
"""


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


def points_of(lines):
    return [line for line in lines if line['type'] == 'point']


def flat(settings, prefix=''):
    """Dotted keys of nested settings."""
    return [key for name, value in settings.items()
            for key in (flat(value, f'{prefix}{name}.') if isinstance(value, dict) else [prefix + name])]


class Bench(program.ProgramTest):
    def test_a_file_has_the_size_that_it_has(self):
        photo = self.write('photo.png', program.png(48, 40))
        result = run('bench', '--network', 'dncnn', *SMALL[:-4], '--image', photo, '--out', self.folder / 'out', code=0)
        self.assertNotIn('no effect', result.stdout)

    def test_the_log_names_a_point_that_is_not_valid(self):
        result = run('bench', *SMALL, '--network', 'dncnn', '--verify-mode', 'off', '--out', self.folder / 'out', code=0)
        self.assertEqual(len(re.findall(r'\[\d/2\] \S+: ok, but INVALID; ', result.stderr)), 2, result.stderr)

    def test_a_weights_file_says_its_network(self):
        files = [self.write('a.safetensors', small_drunet()), program.REPOSITORY / 'models/dncnn_color_sigma0.1.safetensors']
        result = run('bench', '--weights', files[0], '--weights', files[1], *SMALL, '--out', self.folder / 'out', code=0)
        self.assertIn('the network of the weights', result.stdout)
        self.assertEqual([point['point']['network'] for point in program.points(self.folder / 'out')],
                         ['drunet', 'drunet', 'dncnn', 'dncnn'])
        wrong = run('bench', '--weights', self.write('text.pth', 'no weights'), *SMALL)
        self.assert_refused(wrong, 2, 'text.pth')
        self.assertNotIn('the network of', run('bench', *SMALL, '--out', self.folder / 'seeded', code=0).stdout)

    def test_measures_the_product_of_its_lists_on_one_and_two_ranks(self):
        for ranks in (0, 2):
            out = self.folder / f'out{ranks}'
            result = run('bench', '--network', 'unet,dncnn', *SMALL, '--out', out, ranks=ranks, code=0)
            self.assert_valid(result.stdout.strip().splitlines()[-1])
            points = program.points(out)
            chosen = [(point['point']['network'], point['point']['batch']) for point in points]
            self.assertEqual(chosen, [('unet', 1), ('unet', 2), ('dncnn', 1), ('dncnn', 2)], 'the last axis is the fastest')
            weights = {'unet': 'seed:1', 'dncnn': 'default'}  # there are none of UNet
            for point in points:
                self.assertEqual(point['verification']['outcome'], 'passed')
                self.assertEqual(point['point']['weights'], weights[point['point']['network']])
                self.assertEqual(point['point']['engine'], 'native', 'that of denoise on a CPU')
                self.assertIn(point['label'], result.stdout)
            self.assertRegex(result.stdout, r'(?m)^chosen: engine auto, unet untrained \(seed:1\), dncnn of dncnn_color')
            self.assertNotIn('scene of', result.stdout, 'its size was given')
            self.assertTrue((out / 'report.html').exists())

    def test_no_halo_by_default_is_beyond_the_exact_one(self):
        size = ('--image-height', 64, '--image-width', 48, '--patch', 32, '--stop-min-reps', 1, '--stop-max-reps', 1)
        for given, halos in (((), ['20', '32']), (('--halo', 24), ['24', '24'])):
            out = self.folder / f'out{len(given)}'
            result = run('bench', '--network', 'dncnn,unet', '--bounds', 'off', *size, *given, '--out', out, code=0)
            labels = [point['label'] for point in program.points(out)]
            self.assertEqual([re.search(r'-h(\d+)-', label)[1] for label in labels], halos)
            self.assertEqual('halo 32 (exact where that is less)' in result.stdout, not given)

    def test_json_is_the_results_file_and_nothing_else(self):
        out = self.folder / 'out'
        result = run('bench', *SMALL, '--json', '--out', out, ranks=2, code=0)
        self.assertEqual(result.stdout, (out / 'results.jsonl').read_text())
        lines = lines_of(result.stdout)
        self.assertEqual((lines[0]['type'], lines[-1]['type']), ('study', 'end'))
        for point in points_of(lines):
            self.assertGreater(point['summary']['patches_per_s'], 0)
        self.assertRegex(result.stderr, r'(?m)^point .*patches/s')
        verdict, = [line for line in result.stderr.splitlines() if line.startswith('RESULT: ')]
        self.assert_valid(verdict)

    def test_without_a_folder_the_results_are_in_a_temporary_one_that_is_named(self):
        environment = {**os.environ, 'TMPDIR': str(self.folder)}
        result = run('bench', *SMALL, cwd=self.folder, env=environment, code=0)
        file, = self.folder.glob('patchbench-bench-*/results.jsonl')
        self.assertIn(f'results: {file}\n', result.stdout)
        self.assertEqual(list(file.parent.glob('*.png')), [], 'images only with --save-images')
        self.assertFalse((self.folder / 'results').exists())

    def test_takes_files_with_commas_in_their_names(self):
        image = self.write('a,b.png', program.png(48, 40))
        other = self.write('c.png', program.png(40, 48))
        result = run('bench', *SMALL[:-4], '--image', image, '--image', other, '--json', code=0)
        points = points_of(lines_of(result.stdout))
        self.assertEqual([point['point']['image']['path'] for point in points], [str(image), str(other)] * 2)
        self.assertNotIn('no effect', result.stderr)
        engine = self.folder / 'my,engine.py'
        absent = run('bench', *SMALL[:-4], '--engine', f'python:{engine}', code=1)
        self.assertIn(f'there is no file {engine}', absent.stdout)

    def test_says_how_long_a_point_takes_that_was_given_too_little_time(self):
        """16 windows of 0.3 s a pass; 4 passes, one of them to warm up."""
        result = run('bench', '--engine', 'timed', '--timed-per-window-s', 0.3, '--bounds', 'off', '--batch', 1,
                     '--max-time', 4, '--out', self.folder / 'out', code=5)
        self.assertRegex(result.stderr, r'\[1/1\] .*: interrupted, .*; this point would take about 0:\d\d \(4 passes of about \d')

    def test_ends_as_run_does(self):
        out = ('--out', self.folder / 'out')
        run('bench', *SMALL, *out, '--memory-limit-mib', 1, code=5)  # out of memory
        unverified = run('bench', *SMALL, *out, '--verify-mode', 'off', '--strict', code=4)
        self.assertRegex(unverified.stdout, r'(?m)^RESULT: INVALID')

    def test_refusals_name_the_option_and_leave_nothing(self):
        environment = {**os.environ, 'TMPDIR': str(self.folder)}
        for words, expected in ((('--batch', '1,x'), ('--batch 1,x', "'x'")),
                                (('--patch', '64,'), ('--patch 64,', "''")),
                                (('--stop-min-reps', 0), ('--stop-min-reps 0', '1048576')),
                                (('--bounds', 'on,off'), ('--bounds on,off', 'bounds')),
                                (('--network', 'drunett'), ('--network drunett', 'drunet')),
                                (('--ptach', 64), ('--ptach', '--patch')),
                                (('--preset', 'quick'), ('--preset',)),
                                (('--image', self.folder / 'none.png'), ('none.png',)),
                                (('--engine', 'timed', '--timed-table', '1:1', '--timed-results', 'a'), ('timed.table',))):
            for ranks in (0, 2):
                self.assert_refused(run('bench', *words, ranks=ranks, env=environment), 2, *map(str, expected))
        self.assertEqual(list(self.folder.glob('patchbench-bench-*')), [])

    def test_its_help_shows_its_own_defaults(self):
        text = ' '.join(run('bench', '--help').stdout.split())
        for words in ('(default: default where there are some, else seed:1)', '(default: 1024)', '(default: 0.5/255)', '(default: bench)', '--image,--image-path'):
            self.assertIn(words, text)
        self.assertNotIn('--preset', text)


class Settings(program.ProgramTest):
    def test_lists_every_key_that_a_study_takes_with_its_default(self):
        listed = json.loads(run('settings', '--json').stdout)
        keys = [setting['key'] for setting in listed]
        self.assertEqual(len(keys), len(set(keys)))
        study = self.write('all.yaml', ''.join(f"{each['key']}: {json.dumps(each['default'])}\n" for each in listed
                                               if each['default'] != ''))
        run('plan', study, code=0)  # each default is taken under its key
        lines = lines_of(run('bench', *SMALL, '--json').stdout)
        point = {key: value for key, value in points_of(lines)[0]['point'].items() if key != 'settled'}
        in_results = {*flat(lines[0]['config']), *flat(point)}
        self.assertEqual(set(keys), in_results, 'what results echo')
        for setting in listed:
            self.assertTrue(setting['meaning'] and setting['values'], setting)
            self.assertIn(setting['group'], ('work', 'protocol', 'study'))

    def test_a_word_is_found_anywhere_in_a_name(self):
        keys = [setting['key'] for setting in json.loads(run('settings', '--json', 'sigma', 'path').stdout)]
        self.assertEqual(keys, ['sigma', 'trained_sigma', 'image.path', 'image.noise_sigma'])

    def test_table_and_markdown_have_a_row_for_each(self):
        keys = [setting['key'] for setting in json.loads(run('settings', '--json').stdout)]
        for arguments, row in (((), r'(?m)^{}  '), (('--markdown',), r'(?m)^\| {} \| ')):
            text = run('settings', *arguments).stdout
            for key in keys:
                self.assertRegex(text, row.format(key.replace('.', r'\.')))
        self.assert_refused(run('settings', '--json', '--markdown'), 2, '--json', '--markdown')


class Networks(program.ProgramTest):
    def test_weights_without_a_file_are_not_here(self):
        for card in (program.REPOSITORY / 'models').glob('*.yaml'):
            self.write(card.name, card.read_bytes())
        dncnn = self.folder / 'dncnn.yaml'
        dncnn.write_text(dncnn.read_text() + '  - {name: elsewhere, channels: 1}\n')
        text = run('networks', env={**os.environ, 'PATCHBENCH_MODELS': str(self.folder)}).stdout
        self.assertRegex(text, r'(?m)^  dncnn +elsewhere +gray .* not here$')

    def test_an_empty_variable_is_none(self):
        text = run('networks', env={**os.environ, 'PATCHBENCH_MODELS': ''}, cwd=self.folder, code=0).stdout
        self.assertIn(str(program.REPOSITORY / 'models'), text)


class Length(program.ProgramTest):
    def test_36_points_print_fewer_than_120_lines_and_keep_the_rest_in_a_file(self):
        study = self.write('many.yaml', MANY)
        out = self.folder / 'out'
        result = run('run', study, '--out', out, ranks=2)
        self.assertIn(result.returncode, (0, 4), result.stderr + result.stdout)
        self.assertIn('Plan of many: 36 points', result.stdout)
        self.assertLess(len((result.stdout + result.stderr).splitlines()), 120, result.stdout + result.stderr)
        told = [line for line in result.stderr.splitlines() if re.search(r'\[\d+/36\] ', line)]
        self.assertEqual(len(told), 10, 'one line for each tenth of the points, however long they take')
        self.assertIn('[36/36] ', told[-1])
        self.assertIn(f"figures: {out / 'figures.txt'}", result.stdout)
        self.assertNotIn('\nFOM ', result.stdout)
        figures = (out / 'figures.txt').read_text()
        self.assertEqual(sum('.patches_per_s ' in line for line in figures.splitlines()), 36)
        self.assertEqual(figures.count('Ranks of '), 36)
        verbose = run('run', study, '--out', out, '--verbose', ranks=2).stdout
        self.assertEqual(verbose.count('Ranks of '), 36)
        self.assertEqual(sum(line.startswith('FOM ') and '.patches_per_s ' in line for line in verbose.splitlines()), 36)
        self.assertGreater(len(verbose.split('\n\n')[0].splitlines()), 36, 'the whole plan')

    def test_images_of_a_long_study_are_counted(self):
        """Those that are written: simulated points write what the devices pass on, and only where that is the output."""
        study = self.write('images.yaml', """
engine: timed
timed.per_window_s: 0
device: cpu
patch: 32
halo: 8
batch: [1, 2, 3, 4, 5]
output: [memory, file]
warmup.reps: 0
stop: {min_reps: 1, max_time_s: 0}
image: {height: 64, width: 64}
""")
        result = run('run', study, '--out', self.folder / 'out', code=0)
        self.assertEqual(len(list((self.folder / 'out').glob('*.tif'))), 5)
        self.assertIn(f'images:  5 in {self.folder}/out\n', result.stdout)

    def test_an_estimate_says_which_ranks_it_is_of(self):
        settings = 'device: cpu\nweights: seed:1\nbounds: off\npatch: 32\nhalo: 8\nimage: {height: 64, width: 64}\n'
        study = self.write('timed.yaml', settings + 'stop: {min_reps: 1, max_reps: 1}\n')
        for ranks, out in ((0, 'one'), (2, 'two')):
            run('run', study, '--out', self.folder / out, ranks=ranks, code=0)
        text = run('plan', study, '--from', 'one', '--from', 'two', cwd=self.folder).stdout
        self.assertRegex(text, r'(?m)^Time: .* of 2 points of one/results\.jsonl and 1 more: .* ran on 1 to 2 rank')
        self.assertNotIn(' ran on ', run('plan', study, '--from', 'one', cwd=self.folder).stdout)
        doubt = r'1 point has a network, precision, engine, device or number of ranks of which none was measured'
        self.assertNotRegex(run('plan', study, '--from', 'one', cwd=self.folder).stdout, doubt)
        unlike = run('plan', study, '--from', 'one', '--set', 'dtype=bf16', '--set', 'engine=torch', cwd=self.folder).stdout
        self.assertRegex(unlike, doubt)

    def test_plan_estimates_the_time_from_earlier_results(self):
        settings = 'device: cpu\nweights: seed:1\nbounds: off\npatch: 32\nhalo: 8\nimage: {height: 64, width: 64}\n'
        study = self.write('timed.yaml', settings + 'stop: {min_reps: 2, max_time_s: 100, max_reps: 2}\n')
        self.assertIn('--from', run('plan', study, cwd=self.folder).stdout)
        run('run', study, cwd=self.folder, code=0)
        for arguments in ((), ('--from', 'results/timed')):
            text = run('plan', study, *arguments, cwd=self.folder).stdout
            self.assertRegex(text, r'(?m)^Time: about 0:\d\d for 1 point.* results/timed/results\.jsonl: 0:\d\d for the passes, .* 0:\d\d for reading, .*verification')
        run('run', study, '--set', 'memory_limit_mib=1', '--out', 'none', cwd=self.folder, code=5)
        self.assertRegex(run('plan', study, '--from', 'none', cwd=self.folder).stdout, '(?m)^No time: .* none/results.jsonl')
        self.assert_refused(run('plan', study, '--from', study, cwd=self.folder), 2, 'timed.yaml')


if __name__ == '__main__':
    program.main()
