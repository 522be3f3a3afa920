"""Networks that the user brings (tests/support/make_networks.py) as ONNX, TorchScript, packages of AOTInductor and
Python: their cards are found, tiles equal the whole image or are refused, and files that are no such networks get one
sentence. Needs the engines pytorch, which makes the files, and onnxruntime."""
import array
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import program

ENGINES = Path(os.environ.get('PATCHBENCH_ENGINES', program.REPOSITORY / '.engines'))
MAKER = program.REPOSITORY / 'tests' / 'support' / 'make_networks.py'
STUDY = """
name: custom
image: {height: 90, width: 104}
device: cpu
threads: 1
patch: 24
batch: 3
warmup.reps: 0
forward_calls: 1
bounds: false
save_images: false
previews: 0
stop: {min_reps: 1, max_time_s: 0}
"""
CARDS = {  # channels, sigma, alignment, radius, halo
    'dilated': ('3', 'none', '1', '6', '6'),
    'one_at_a_time': ('3', 'none', '1', '6', '6'),
    'attention': ('3', 'none', '8', '9', '16'),
    'shifted': ('3', 'none', '1', '3', '3'),
    'even': ('3', 'none', '2', '1', '0'),
    'level_channel': ('3', 'channel', '1', '2', '2'),
    'level_input': ('1', 'input', '1', '2', '2'),
    'level_of_one': ('1', 'input', '1', '2', '2'),  # of any number of windows, but its level is that of one
    'pooling': ('3', 'none', '1', 'unbounded', 'unbounded'),
    'gated': ('3', 'none', '1', 'unbounded', 'unbounded'),
    'ours': ('3', 'none', '4', '14', '16'),
    'ours_level': ('3', 'channel', '4', '14', '16'),
}
BOUNDED = ('dilated', 'attention', 'shifted', 'even')  # all but pooling that are made in each format
BROKEN = {'fixed': 'fixed size', 'five_channels': '5 channels', 'three_axes': '3 axes', 'smaller': 'shape',
          'not_finite': 'not finite', 'two_outputs': '2 outputs', 'empty': 'no ONNX model', 'cut': 'damaged or cut off',
          'text': 'no ONNX model', 'none': 'no such file'}


def has(engine):
    return (ENGINES / engine / 'bin' / 'python').exists()


class CustomNetworkTest(program.ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls._networks = tempfile.TemporaryDirectory(prefix='patchbench-networks-')
        cls.networks = Path(cls._networks.name)
        subprocess.run([ENGINES / 'pytorch' / 'bin' / 'python', '-W', 'ignore', MAKER, cls.networks], check=True,
                       stdout=subprocess.DEVNULL, timeout=200)
        whole = (cls.networks / 'dilated.onnx').read_bytes()
        (cls.networks / 'cut.onnx').write_bytes(whole[:len(whole) // 2])
        (cls.networks / 'empty.onnx').write_bytes(b'')
        (cls.networks / 'text.onnx').write_text('no network\n')

    @classmethod
    def tearDownClass(cls):
        cls._networks.cleanup()

    def file(self, name):
        return self.networks / f'{name}.onnx'

    def card_of(self, name, *options):
        result = program.run('networks', self.file(name), *options, code=0)
        lines = [line.split() for line in result.stdout.splitlines() if line.startswith('  ')]
        return dict(line for line in lines if len(line) == 2), result.stdout

    def run_study(self, more, *options, ranks=0, code=None, env=None):
        """The program's result, and the points in results.jsonl, if it was begun."""
        study = self.write('study.yaml', STUDY + more)
        out = self.folder / 'out'
        (out / 'results.jsonl').unlink(missing_ok=True)
        result = program.run('run', study, '--out', out, *options, ranks=ranks, code=code, env=env, timeout=600)
        return result, program.points(out)

    def files(self, names, ending):
        return [f'{self.networks / name}.{ending}' for name in names]

    def study_of(self, engine, *groups):
        """Each group is files, and a setting of theirs or nothing."""
        lines = (f'  - {{network: [{", ".join(files)}]{", " if setting else ""}{setting}}}\n' for files, setting in groups)
        return f'engine: {engine}\nhalo: exact\ngroups:\n{"".join(lines)}'

    def assert_found(self, file, text):
        """The card of a file in the words of a run."""
        channels, sigma, alignment, radius, halo = CARDS[Path(file).stem]
        line = next((line for line in text.splitlines() if line.startswith(f'{file}: found by trying')), '')
        self.assertIn(f'channels {channels}, sigma {sigma}, ', line, text)
        self.assertIn(f'alignment {alignment}, radius {radius}, halo {halo}', line)

    def assert_seamless(self, point):
        """Tiles equal the whole image."""
        check = point['verification']
        self.assertEqual(check['outcome'], 'passed', check)
        self.assertTrue(check['seam_decides'] and check['seam_against_whole_image'], check)
        self.assertLessEqual(check['seam_error'], 1e-4)

    def notes_of(self, point):
        return ' '.join(point['summary']['notes'])

    def test_a_card_is_printed(self):
        for name in ('dilated', 'shifted', 'pooling'):
            card, text = self.card_of(name)
            self.assertEqual(tuple(card[key] for key in ('channels', 'sigma', 'alignment', 'radius', 'halo')), CARDS[name])
            self.assertEqual('shifted' in text.split(':', 1)[1], name == 'shifted', text)
            self.assertEqual('unbounded: any pixel' in text, name == 'pooling', text)

    def test_a_gate_that_no_trial_opens_is_seen_in_the_operations(self):
        card, text = self.card_of('gated')
        self.assertEqual((card['radius'], card['halo']), ('unbounded', 'unbounded'))
        self.assertRegex(text, r'unbounded: \S+ \(ReduceMean\) takes all pixels of a window')

    def test_cards_are_found_and_tiles_equal_the_whole_image(self):
        colour = self.files((*BOUNDED, 'one_at_a_time', 'level_channel'), 'onnx')
        gray = self.files(['level_input', 'level_of_one'], 'onnx')
        groups = (colour, ''), (gray, 'image.channels: 1')
        result, points = self.run_study(self.study_of('onnxruntime', *groups), ranks=2, code=0)
        self.assertEqual([point['point']['network'] for point in points], colour + gray)
        other = 'openvino' if has('openvino') else 'onnxruntime itself'
        for file, point in zip(colour + gray, points):
            with self.subTest(file=file):
                self.assert_found(file, result.stderr)
                self.assert_seamless(point)
                self.assertEqual(point['summary']['tflops'], None, 'nothing is known of its layers')
                self.assertIn(f'verified against {other}', self.notes_of(point))

    def test_the_layers_of_our_operations_tell_the_card(self):
        for name in ('ours', 'ours_level'):
            card, text = self.card_of(name)
            self.assertIn('graph of our operations: engines torch, native, onnxruntime, openvino', text)
            self.assertEqual(tuple(card[key] for key in ('channels', 'sigma', 'alignment', 'radius', 'halo')), CARDS[name])

    def test_a_network_of_our_operations_runs_in_our_engines(self):
        """As one of the list: predicted, in bands, counted, profiled, held to fp64."""
        engines = ['torch', 'auto', 'onnxruntime']
        study = (f'network: {self.file("ours")}\nverify.fp64: true\nprofile: 1\nranks: all\ngroups:\n'
                 f'  - {{engine: [{", ".join(engines)}], halo: exact}}\n'
                 '  - {engine: native, halo: [carried, exchanged]}\n'
                 f'  - {{engine: onnxruntime, halo: exact, network: {self.file("ours_level")}}}\n')
        result, points = self.run_study(study, ranks=3, code=0)
        self.assertIn('graph of our operations', result.stderr)
        self.assertEqual([point['point']['engine'] for point in points],
                         [{'auto': 'native'}.get(engine, engine) for engine in engines + ['native'] * 2] +
                         ['onnxruntime'])
        for point in points:
            with self.subTest(label=point['label']):
                check = point['verification']
                self.assert_seamless(point)
                self.assertLessEqual(max(check['window_error'], check['fp64_error'], check['seam_error']), 2e-5)
                self.assertNotIn('verified against', self.notes_of(point))
                tells_layers = point['point']['engine'] != 'onnxruntime' and point['point']['halo'] == 'exact'
                self.assertEqual(len((point['profile'] or {}).get('layers', ())) > 15, tells_layers)
        self.assertTrue(all(point['summary']['tflops'] > 0 for point in points))
        self.assertTrue(all(point['point']['network'].endswith('ours_level.onnx') for point in points[-1:]))
        program.run('report', self.folder / 'out' / 'results.jsonl', code=0)
        self.assertIn('ours', (self.folder / 'out' / 'report.html').read_text())

    def test_a_network_of_our_operations_is_planned_and_denoises_without_another_engine(self):
        alone = {**os.environ, 'PATCHBENCH_ENGINES': str(self.folder)}
        study = self.write('study.yaml', STUDY + f'network: {self.file("ours")}\nengine: auto\nhalo: carried\n')
        planned = program.run('plan', study, env=alone, code=0)
        row = next(line for line in planned.stdout.splitlines() if ' ours' in line)
        self.assertNotIn('-', row.split()[-2:], 'memory and arithmetic are predicted')
        image, files = self.write('in.png', program.png(70, 50)), []
        for engine, ranks in (('native', 0), ('native', 3), ('torch', 0)):
            files.append(self.folder / f'{engine}{ranks}.png')
            program.run('denoise', image, files[-1], '--network', self.file('ours'), '--engine', engine,
                        '--halo', 'carried' if engine == 'native' else 'exact', ranks=ranks, env=alone, code=0)
        self.assertEqual(files[0].read_bytes(), files[1].read_bytes())

    def test_strips_of_a_network_that_looks_farther_to_one_side_are_right(self):
        study = f'network: {self.file("stages")}\nengine: torch\nhalo: carried\nmemory_limit_mib: 1\nverify.fp64: true\n'
        _, (point,) = self.run_study(study, '--set', 'image.width=450', '--set', 'patch=16', code=0)
        self.assertRegex(self.notes_of(point), r'\d strips of \d+ columns')
        self.assert_seamless(point)

    def test_a_card_beside_layers_states_the_range_alone(self):
        model = self.folder / 'model.onnx'
        model.write_bytes(self.file('ours').read_bytes())
        self.write('model.onnx.card.yaml', 'channels: 3\nrange: 255\nradius: 1\nhalo: 1\n')
        result = program.run('networks', model, code=0)
        for line in ('range      255', 'halo       16', 'model.onnx.card.yaml says otherwise'):
            self.assertIn(line, result.stdout)

    def test_openvino_runs_them_too(self):
        if not has('openvino'):
            self.skipTest('openvino is not installed')
        groups = ((self.files(('attention', 'one_at_a_time'), 'onnx'), ''),
                  (self.files(('level_input', 'level_of_one'), 'onnx'), 'image.channels: 1'))
        result, points = self.run_study(self.study_of('openvino', *groups))
        self.assertEqual([point['verification']['outcome'] for point in points], ['passed'] * 4, result.stderr)

    def test_each_engine_is_verified_against_the_other(self):
        """A network whose layers are not known: the reference of one engine must not serve for the other."""
        if not has('openvino'):
            self.skipTest('openvino is not installed')
        groups = ((self.files(['attention'], 'onnx'), ''),)
        _, (_, second) = self.run_study(self.study_of('[onnxruntime, openvino]', *groups))
        _, (alone,) = self.run_study(self.study_of('openvino', *groups))
        self.assertEqual(second['verification']['seam_error'], alone['verification']['seam_error'])

    def test_bf16_is_verified_against_fp32_of_another_engine(self):
        if not has('openvino'):
            self.skipTest('openvino is not installed')
        _, (point,) = self.run_study(self.study_of('openvino', (self.files(['dilated'], 'onnx'), 'dtype: bf16')), code=0)
        self.assertIn('verified against onnxruntime', self.notes_of(point))
        self.assertIn('OpenVINO computes in', self.notes_of(point))
        self.assertGreater(point['verification']['window_error'], 1e-5, 'bf16 is not fp32')

    def test_an_unbounded_network_has_no_exact_halo(self):
        for engine, ending in (('onnxruntime', 'onnx'), ('torch', 'pt'), ('torch', 'pt2'), ('pytorch', 'py')):
            with self.subTest(ending=ending):
                groups = self.study_of(engine, (self.files(['pooling'], ending), ''))
                result, points = self.run_study(groups, '--trust-model')
                self.assert_refused(result, 2, 'halo = exact', 'unbounded', f'pooling.{ending}', 'halo: auto')
                self.assertEqual(points, [])
        _, (point,) = self.run_study(f'network: {self.file("pooling")}\nengine: onnxruntime\nhalo: auto\n'
                                     'halo_tolerance: 0.05\n', code=0)
        self.assertFalse(point['verification']['seam_decides'])
        self.assertGreater(point['verification']['seam_error'], 0)

    def test_a_halo_that_is_too_small_fails_against_the_whole_image(self):
        """A card that states less than the network sees: the check has context of its own."""
        card = self.folder / 'model.onnx'
        card.write_bytes(self.file('dilated').read_bytes())
        self.write('model.onnx.card.yaml', 'channels: 3\nradius: 1\nhalo: 1\n')
        study = self.write('study.yaml', STUDY + f'network: {card}\nengine: onnxruntime\nhalo: exact\n'
                           'verify.whole_max_mpx: 0\n')
        program.run('run', study, '--out', self.folder / 'out', code=3)

    def test_images_after_a_wrong_one_are_verified(self):
        model = self.write('dilated.onnx', self.file('dilated').read_bytes())
        self.write('dilated.onnx.card.yaml', 'channels: 3\nradius: 1\nhalo: 1\n')
        (self.folder / 'in').mkdir()
        for i in range(3):
            self.write(f'in/{i}.png', program.png(90, 80, value=lambda x, y, c, i=i: (x * (7 + y * 31) + y * 13 + c * 57 + i) % 256))
        result = program.run('denoise', self.folder / 'in', f'{self.folder}/out/', '--network', model, '--engine', 'onnxruntime',
                             '--device', 'cpu', '--patch', 24, '--halo', 'exact', '--sigma', 0.1, timeout=300, code=3)
        self.assertEqual(list(self.folder.glob('out/*')), [], result.stdout)

    def test_denoise_writes_an_image_and_a_saved_card_is_read(self):
        model = self.folder / 'model.onnx'
        model.write_bytes(self.file('attention').read_bytes())
        image = self.write('in.png', program.png(70, 50))
        arguments = ('denoise', image, self.folder / 'out.png', '--network', model, '--patch', 24)
        first = program.run(*arguments, ranks=2, code=0)
        self.assertIn('engine onnxruntime', first.stdout)
        self.assertIn('found by trying', first.stderr)
        self.assertTrue((self.folder / 'out.png').read_bytes())
        self.assertIn('model.onnx.card.yaml', program.run('networks', model, '--save').stdout)
        second = program.run(*arguments)
        self.assertIn('the card', second.stderr)
        self.assertNotIn('found by trying', second.stderr)
        model.write_bytes(self.file('dilated').read_bytes())
        third = program.run(*arguments)
        self.assertIn('the card of another file', third.stderr)
        self.assertIn('alignment 1', third.stderr)

    def test_a_wrong_card_is_named_with_its_place(self):
        model = self.folder / 'model.onnx'
        model.write_bytes(self.file('dilated').read_bytes())
        self.write('model.onnx.card.yaml', 'channels: 3\nalignement: 8\n')
        self.assert_refused(program.run('networks', model), 2, 'model.onnx.card.yaml:2:', "'alignement'")

    def test_files_that_are_no_such_network_are_refused(self):
        image = self.write('in.png', program.png(40, 40))
        for name, words in BROKEN.items():
            with self.subTest(name=name):
                self.assert_refused(program.run('networks', self.file(name), timeout=100), 2, f'{name}.onnx', words)
        for name in ('cut', 'two_outputs'):
            result = program.run('denoise', image, self.folder / 'out.png', '--network', self.file(name), '--engine',
                                 'onnxruntime')
            self.assert_refused(result, 2, f'{name}.onnx')
            self.assertFalse((self.folder / 'out.png').exists())

    def test_code_runs_only_where_it_is_trusted(self):
        names = ('dilated.pt', 'exported.pt2', 'dilated.pt2', 'dilated.py')
        for name in names:
            with self.subTest(name=name):
                file = self.networks / name
                study = self.write('study.yaml', STUDY + f'network: {file}\nengine: pytorch\nhalo: exact\n')
                for command in (('networks', file), ('plan', study), ('run', study, '--out', self.folder / 'out')):
                    self.assert_refused(program.run(*command), 2, name, '--trust-model')
        whole = self.folder / 'whole.pt'  # torch.save(model, ..)
        with zipfile.ZipFile(whole, 'w') as archive:
            archive.writestr('whole/data.pkl', b'\x80\x02cmodels\nNet\nq\x00.')
            archive.writestr('whole/version', b'3\n')
        for more in ((), ('--trust-model',)):
            refused = program.run('networks', whole, *more)
            self.assert_refused(refused, 2, 'whole.pt', 'a whole object of the class', 'model.state_dict()')
        raises = program.run('networks', self.networks / 'raises.py', '--trust-model')
        self.assert_refused(raises, 2, 'raises.py', 'no network today')

    def test_packages_for_one_shape_are_refused_with_what_to_do(self):
        for name, words in (('fixed_size', '(32 x 48): export it with dynamic height and width'),
                            ('batch_of_two', 'fixed batch of 2: export it with a dynamic batch')):
            found = program.run('networks', self.networks / f'{name}.pt2', '--trust-model', timeout=100)
            self.assert_refused(found, 2, f'{name}.pt2', words)

    def test_a_network_that_is_replaced_while_a_point_runs_fails_it(self):
        model = self.write('model.py', (self.networks / 'dilated.py').read_text() + '\nimport os\nos.utime(__file__)\n')
        self.write('model.py.card.yaml', 'channels: 3\nradius: 6\nhalo: 6\n')
        result, (point,) = self.run_study(f'network: {model}\nengine: pytorch\nhalo: exact\n', '--trust-model', ranks=2)
        self.assertEqual(point['status'], 'failed', result.stdout)
        self.assertIn('model.py: was replaced while this point ran', point['reason'])

    def test_the_default_patch_is_one_that_the_network_takes(self):
        model = self.write('blocks.py', 'import torch\n\n\nclass Blocks(torch.nn.Module):\n    def forward(self, x):\n'
                           '        mean = torch.nn.functional.avg_pool2d(x, 6)\n'
                           '        return 0.5 * x + 0.5 * mean.repeat_interleave(6, 2).repeat_interleave(6, 3)\n\n\n'
                           'def make_network():\n    return Blocks()\n')
        self.write('blocks.py.card.yaml', 'channels: 3\nalignment: 6\nradius: 5\nhalo: 0\n')
        image = self.write('in.png', program.png(300, 40))
        ours, without = self.write('ours.yaml', 'patch: 256\n'), self.write('without.yaml', 'batch: 2\n')
        for options, code in (((), 0), (('--patch', '256'), 2), (('--config', ours), 2), (('--config', without), 0)):
            program.run('denoise', image, self.folder / 'out.png', '--network', model, '--trust-model', '--device', 'cpu',
                        '--sigma', '0.1', *options, timeout=300, code=code)

    def test_an_image_that_is_written_to_while_it_is_read_is_not_saved(self):
        image, out = Path(self.write('in.png', program.png(64, 64))), self.folder / 'out.png'
        model = self.write('model.py', (self.networks / 'dilated.py').read_text() + f'\nimport os\nos.utime({str(image)!r})\n')
        self.write('model.py.card.yaml', 'channels: 3\nradius: 6\nhalo: 6\n')
        result = program.run('denoise', image, out, '--network', model, '--trust-model', '--device', 'cpu', '--sigma', '0.1',
                             timeout=300)
        self.assertNotEqual(result.returncode, 0, result.stdout)
        self.assertIn('in.png: failed: changed while it was read; run again', result.stdout + result.stderr)
        self.assertFalse(out.exists())

    def test_an_image_that_is_written_to_while_the_output_is_verified_is_not_saved(self):
        image, out = Path(self.write('in.png', program.png(64, 64, 4))), self.folder / 'out.png'
        changed = ('\nimport os\nplain = make_network\n\n\ndef make_network():\n    network = plain()\n    forward = network.forward\n\n'
                   '    def watched(x):\n        if x.shape[-1] > 50:  # verified with more context\n'
                   f'            os.utime({str(image)!r})\n        return forward(x)\n\n    network.forward = watched\n    return network\n')
        self.write('model.py.card.yaml', 'channels: 3\nradius: 6\nhalo: 6\n')
        for more, code in (('', 0), (changed, 1)):
            model = self.write('model.py', (self.networks / 'dilated.py').read_text() + more)
            result = program.run('denoise', image, out, '--network', model, '--trust-model', '--device', 'cpu', '--sigma', '0.1',
                                 '--patch', '32', '--halo', '6', '--verify', '1', timeout=300, code=code)
            self.assertEqual('in.png: failed: changed while it was read; run again' in result.stdout + result.stderr, code == 1,
                             result.stdout + result.stderr)
            self.assertEqual(out.exists(), code == 0)
            out.unlink(missing_ok=True)

    def test_all_ranks_draw_the_same_weights(self):
        model = self.write('drawn.py', 'import random, numpy, torch\n\n\ndef make_network():\n'
                           '    network = torch.nn.Conv2d(3, 3, 3, padding=1)\n'
                           '    network.bias.data += random.random() + numpy.random.rand()\n    return network\n')
        _, (point,) = self.run_study(self.study_of('pytorch', ([str(model)], '')), '--trust-model', ranks=2, code=0)
        self.assert_seamless(point)

    def test_ranks_with_other_weights_are_found(self):
        model = self.write('own.py', 'import os, torch\n\n\ndef make_network():\n'
                           '    network = torch.nn.Conv2d(3, 3, 3, padding=1)\n'
                           "    network.bias.data += float(os.environ['OMPI_COMM_WORLD_RANK'])\n    return network\n")
        self.write('own.py.card.yaml', 'channels: 3\nradius: 1\nhalo: 1\n')
        _, (point,) = self.run_study(self.study_of('pytorch', ([str(model)], '')), '--trust-model', ranks=2, code=3)
        self.assertIn('weights differ from those of rank 0', ' '.join(point['verification']['reasons']))
        self.assertRegex(point['network_sha256'], '^[0-9a-f]{64}$')
        (self.folder / 'in').mkdir()
        for i in range(6):
            self.write(f'in/{i}.png', program.png(48, 40))
        result = program.run('denoise', self.folder / 'in', f'{self.folder}/out/', '--network', model, '--trust-model',
                             '--device', 'cpu', '--patch', 24, ranks=2, timeout=300, code=3)
        self.assertIn('other weights than for the first image', result.stdout)

    def test_code_runs_in_the_engine_pytorch(self):
        files = self.files(['attention'], 'py') + self.files(('dilated', 'exported'), 'pt2')
        unpacked = set(Path('/tmp').glob('*/dilated'))  # LibTorch unpacks packages nowhere else
        result, points = self.run_study(self.study_of('pytorch', (files, '')), '--trust-model', code=0)
        self.assertEqual([point['point']['network'] for point in points], files)
        for file, point in zip(files, points):
            with self.subTest(file=file):
                self.assert_found(file.replace('exported', 'dilated'), result.stderr.replace('exported', 'dilated'))
                self.assert_seamless(point)
                other = 'torch' if file.endswith('dilated.pt2') else 'pytorch itself'
                self.assertIn(f'against {other}, ', self.notes_of(point))
        self.assertLessEqual(set(Path('/tmp').glob('*/dilated')), unpacked)

    def test_a_network_that_pads_by_itself_gives_what_it_gives_for_the_whole_image(self):
        """The reference is the network's own call; 90 and 107 are no multiples of its windows of 8 pixels."""
        whole = ('import sys, numpy, torch; sys.path[:0] = sys.argv[1:2]; import make_networks\n'
                 'image = numpy.random.default_rng(1).random((90, 107, 3), numpy.float32); numpy.save(sys.argv[2], image)\n'
                 'tensor = torch.from_numpy(image).permute(2, 0, 1)[None]\n'
                 'with torch.no_grad(): denoised = make_networks.custom("padded")(tensor)[0].permute(1, 2, 0)\n'
                 'numpy.save(sys.argv[3], denoised.numpy())')
        compare = ('import sys, numpy; made, expected = map(numpy.load, sys.argv[1:]); assert made.shape == expected.shape\n'
                   'print(numpy.abs(made - expected).max())')
        python = [ENGINES / 'pytorch' / 'bin' / 'python', '-c']
        image, expected, made = (self.folder / f'{name}.npy' for name in ('image', 'expected', 'made'))
        subprocess.run([*python, whole, MAKER.parent, image, expected], check=True, timeout=100)
        result = program.run('denoise', image, made, '--network', self.networks / 'padded.py', '--trust-model', '--patch', 24,
                             '--halo', 'exact', '--device', 'cpu', timeout=300, code=0)
        self.assertIn('alignment 8, radius 9, halo 16, step 1', result.stderr)
        self.assertNotIn('is extended', result.stderr + result.stdout)
        largest = subprocess.run([*python, compare, made, expected], check=True, timeout=100, stdout=subprocess.PIPE).stdout
        self.assertLess(float(largest), 1e-5)

    def test_a_network_that_pads_at_both_ends_is_verified_with_parts_of_the_image(self):
        more = 'image.height: 250, image.width: 261, patch: 120, verify.whole_max_mpx: 0.01'
        _, (point,) = self.run_study(self.study_of('pytorch', (self.files(['padded'], 'py'), more)), '--trust-model', code=0)
        check = point['verification']
        self.assertEqual(check['outcome'], 'passed', check)
        self.assertTrue(check['seam_decides'] and not check['seam_against_whole_image'], check)

    def test_windows_that_change_each_other_get_a_call_each(self):
        files = self.files(['mixed'], 'py')
        result, (point,) = self.run_study(self.study_of('pytorch', (files, 'batch: 4')), '--trust-model')
        self.assertIn('two windows in one call change each other', result.stderr)
        self.assertIn('halo 6, batch 1', result.stderr)
        self.assert_seamless(point)
        self.assertEqual(point['point']['settled']['batch'], 1)
        self.assertIn('takes no more windows in one call', self.notes_of(point))

    def run_in_torch(self, name, *options, code):
        more = f'network: {self.networks / name}\nengine: torch\nhalo: exact\n'
        return self.run_study(more, '--trust-model', *options, code=code)

    def run_code_in_torch(self, other, groups, env=None):
        """Runs files in the process of the rank, and checks them. `other` is the engine that verifies them."""
        files = [file for group, _ in groups for file in group]
        result, points = self.run_study(self.study_of('torch', *groups), '--trust-model', ranks=2, env=env, code=0)
        self.assertEqual([point['point']['network'] for point in points], files)
        for file, point in zip(files, points):
            with self.subTest(file=file):
                self.assert_found(file, result.stderr)
                self.assert_seamless(point)
                self.assertIn(f'verified against {other}, one window at a time', self.notes_of(point))
                self.assertNotIn('in a process of its own', self.notes_of(point))
        self.assertNotIn('windows in pytorch', result.stderr)

    def test_torchscript_runs_in_the_process_of_the_rank(self):
        """Packages of all networks run in the same process, in the next test."""
        gray = self.files(['level_input'], 'pt')
        self.run_code_in_torch('pytorch', [(self.files(('dilated', 'attention'), 'pt'), ''), (gray, 'image.channels: 1')])

    def test_packages_of_aotinductor_run_in_the_process_of_the_rank(self):
        alone = {**os.environ, 'PATCHBENCH_ENGINES': str(self.folder)}
        self.run_code_in_torch('torch itself', [(self.files(BOUNDED, 'pt2'), '')], alone)

    def test_what_a_script_raises_is_the_status_of_its_point(self):
        script = self.networks / 'raises.pt'
        refused = program.run('networks', script, '--trust-model', '--engine', 'torch')
        self.assert_refused(refused, 2, 'raises.pt', 'no network today')
        card = self.networks / 'raises.pt.card.yaml'
        card.write_text('channels: 3\nradius: 1\nhalo: 1\n')
        self.addCleanup(card.unlink)
        result, (point,) = self.run_in_torch('raises.pt', code=1)
        self.assertEqual(point['status'], 'failed')
        self.assertIn('no network today', point['reason'])
        self.assertNotIn('Traceback', result.stderr + point['reason'])

    def test_a_package_of_aotinductor_needs_no_other_engine(self):
        env = {**os.environ, 'PATCHBENCH_ENGINES': str(self.folder)}
        image = self.write('in.png', program.png(70, 50))
        result = program.run('denoise', image, self.folder / 'out.png', '--network', self.networks / 'attention.pt2',
                             '--patch', 24, '--trust-model', env=env, code=0)
        self.assertIn('engine torch', result.stdout)
        self.assertIn('windows in torch', result.stderr)
        self.assertIn('alignment 8, radius 9, halo 16', result.stderr)

    def test_compiled_code_is_not_given_windows_that_it_was_not_compiled_for(self):
        """It would read and write as many pixels as it expects."""
        card = self.networks / 'dilated.pt2.card.yaml'
        card.write_text('channels: 3\nradius: 6\nhalo: 6\n')
        self.addCleanup(card.unlink)
        for engine in ('torch', 'pytorch'):
            _, (point,) = self.run_in_torch('dilated.pt2', '--set', 'patch=8', '--set', f'engine={engine}', code=1)
            self.assertEqual(point['status'], 'failed')
            self.assertIn(f'engine {engine}:', point['reason'], 'not the engine that verifies it')
            self.assertIn('20', point['reason'], 'the extent of a window')
        _, (point,) = self.run_in_torch('dilated.pt2', '--set', 'memory_limit_mib=1', '--set', 'patch=90', code=5)
        self.assertEqual(point['status'], 'oom', 'its maps are larger than that')

    def test_a_package_that_torch_cannot_run_is_refused(self):
        refused = program.run('networks', self.networks / 'exported.pt2', '--trust-model', '--engine', 'torch',
                              code=0)  # the card is found in the engine that runs it
        self.assertIn('windows in pytorch', refused.stdout)
        result, _ = self.run_in_torch('exported.pt2', code=2)
        self.assert_refused(result, 2, 'exported.pt2', 'torch.export', 'engine: pytorch')

    def test_a_crash_of_code_in_the_rank_ends_the_job_with_a_sentence_and_keeps_earlier_points(self):
        card = self.networks / 'crashes.pt.card.yaml'
        card.write_text('channels: 3\nradius: 0\nhalo: 0\n')
        self.addCleanup(card.unlink)
        more = f'halo: exact\nnetwork: [{self.networks / "dilated.pt"}, {self.networks / "crashes.pt"}]\n'
        study = self.write('study.yaml', STUDY + more)
        for engine in ('torch', 'pytorch'):
            out = self.folder / engine
            result = program.run('run', study, '--out', out, '--trust-model', '--set', f'engine={engine}', ranks=2)
            points = program.points(out)
            self.assertTrue(points[0]['point']['network'].endswith('dilated.pt'), points[0]['point']['network'])
            self.assertEqual(points[0]['status'], 'ok', result.stderr)
            if engine == 'torch':
                self.assertEqual(result.returncode, 139, 'that of SIGSEGV')
                self.assertIn('crashes.pt crashed this process', result.stderr)
                self.assertIn('engine: pytorch', result.stderr)
                self.assertEqual(len(points), 1)
            else:
                self.assertEqual((result.returncode, points[1]['status']), (1, 'failed'), result.stderr)
                self.assertIn('signal 11', points[1]['reason'])

    def test_damaged_code_is_refused(self):
        for whole in ('dilated.pt', 'exported.pt2', 'dilated.pt2'):
            damaged = self.folder / f'cut_{whole}'
            content = (self.networks / whole).read_bytes()
            damaged.write_bytes(content[:len(content) // 2])
            for engine in ('torch', 'pytorch'):
                refused = program.run('networks', damaged, '--trust-model', '--engine', engine)
                self.assert_refused(refused, 2, damaged.name)

    def test_denoise_takes_a_script_without_another_engine(self):
        image = self.write('in.png', program.png(70, 50))
        env = {**os.environ, 'PATCHBENCH_ENGINES': str(self.folder)}
        arguments = ('denoise', image, self.folder / 'out.png', '--network', self.networks / 'dilated.pt', '--patch', 24)
        self.assert_refused(program.run(*arguments, env=env), 2, 'dilated.pt', '--trust-model')
        result = program.run(*arguments, '--trust-model', env=env, code=0)
        self.assertIn('engine torch', result.stdout)
        self.assertIn('windows in torch', result.stderr)
        self.assertTrue((self.folder / 'out.png').read_bytes())

    def test_a_network_that_no_installed_engine_runs_is_refused_with_the_reason(self):
        alone = {**os.environ, 'PATCHBENCH_ENGINES': str(self.folder)}
        refused = program.run('networks', self.file('dilated'), env=alone)
        self.assert_refused(refused, 2, 'dilated.onnx', 'engines torch and native', 'LeakyRelu', '--only onnxruntime')

    def test_a_known_network_goes_the_short_way(self):
        model = self.folder / 'ours.onnx'
        program.run('networks', '--export', model, '--network', 'dncnn', '--weights', 'seed:1', code=0)
        self.assertIn('dncnn', program.run('networks', model).stdout)
        study = self.write('study.yaml', STUDY + f'network: {model}\nhalo: 4\n')
        program.run('run', study, '--out', self.folder / 'out', code=0)
        point, = program.points(self.folder / 'out')
        self.assertEqual((point['point']['network'], point['point']['engine']), ('dncnn', 'torch'))

    def model_to_255(self, key):
        """Weights of a DnCNN for samples of 0 to 255, and its ONNX file, with the level of the training under `key`."""
        content = (program.REPOSITORY / 'models' / 'dncnn_color_sigma0.1.safetensors').read_bytes()
        length = int.from_bytes(content[:8], 'little')
        header, values = content[:8 + length].replace(b'"sigma"', key), bytearray(content[8 + length:])
        for name, tensor in json.loads(content[8:8 + length]).items():
            if name.endswith('.bias'):
                begin, end = tensor['data_offsets']
                floats = array.array('f', bytes(values[begin:end]))
                values[begin:end] = array.array('f', [255 * value for value in floats]).tobytes()
        weights, model = self.folder / 'to255.safetensors', self.folder / 'to255.onnx'
        weights.write_bytes(header + values)
        program.run('networks', '--export', model, '--network', 'dncnn', '--weights', weights, code=0)
        return weights, model

    def looked_at(self, model):
        return program.run('networks', model, code=0).stdout

    def test_a_network_for_samples_to_255_is_found_by_trying(self):
        """As weights of the network it would get samples of 0 to 1."""
        weights, model = self.model_to_255(b'"level"')
        self.assertRegex(self.looked_at(model), r'its range was found by trying [^!]* range +255\n')
        image = self.write('in.png', program.png(48, 40))
        denoise = ('denoise', image, self.folder / 'out.png', '--add-noise', '0.1')
        line = program.run(*denoise, '--network', model, code=0).stdout
        self.assertIn(', to255, ', line)
        before, after = map(float, re.search(r'PSNR ([0-9.]+) -> ([0-9.]+) dB', line).groups())
        self.assertGreater(after, before + 1)
        said = program.run(*denoise, '--weights', weights, code=0).stdout
        self.assertIn('more than noise does: the weights may be of another network', said)

    def test_the_card_of_a_known_network_states_its_range(self):
        _, model = self.model_to_255(b'"sigma"')
        self.assertIn('weights of dncnn', self.looked_at(model), 'a level of its training is in [0,1] units')
        card = self.write('to255.onnx.card.yaml', 'range: 255\n')
        self.assertRegex(self.looked_at(model), r'its range is that of the card [^!]* range +255\n')
        card.write_text('range: 1\nalignment: 2\n')
        said = self.looked_at(model)
        self.assertIn('weights of dncnn', said)
        self.assertRegex(said, r'says otherwise .*alignment 2')

    def engines_of_another_version(self):
        """A folder of engines that says that ONNX Runtime was updated."""
        python = self.folder / 'engines' / 'onnxruntime' / 'bin' / 'python'
        python.parent.mkdir(parents=True)
        python.write_text('#!/bin/sh\ncase "$*" in *--versions) echo onnxruntime 99.0; exit;; esac\n'
                          f'exec {ENGINES / "onnxruntime" / "bin" / "python"} "$@"\n')
        python.chmod(0o755)
        return python.parents[2]

    def test_what_was_found_by_trying_is_kept(self):
        image = self.write('in.png', program.png(70, 50))
        cache = self.folder / 'cache'
        environment = {**os.environ, 'PATCHBENCH_CACHE': str(cache)}

        def denoise(name, output, *options):
            result = program.run('denoise', image, self.folder / output, '--network', self.file(name), *options, code=0,
                                 env=environment)
            self.assert_found(str(self.file(name)), result.stderr)
            return 'in an earlier run' in result.stderr

        self.assertFalse(denoise('dilated', 'first.png'))
        self.assertTrue(denoise('dilated', 'second.png'))
        self.assertEqual((self.folder / 'first.png').read_bytes(), (self.folder / 'second.png').read_bytes())
        self.assertFalse(denoise('dilated', 'third.png', '--no-cache'))
        self.assertFalse(denoise('shifted', 'other.png'), 'of another file')
        environment['PATCHBENCH_ENGINES'] = str(self.engines_of_another_version())
        self.assertFalse(denoise('dilated', 'updated.png'), 'of another version')
        self.assertTrue(denoise('dilated', 'again.png'))
        for kept in (cache / 'networks').iterdir():
            kept.write_text('47\tchannels 3, alignment 5, halo 7\n')
        self.assertFalse(denoise('dilated', 'fourth.png'), 'no card')

    def test_weights_alone_name_their_network(self):
        weights = Path(__file__).resolve().parents[2] / 'models' / 'dncnn_color_sigma0.1.safetensors'
        self.assertIn(f'--network dncnn --weights {weights}', program.run('networks', weights).stdout)
        image = self.write('in.png', program.png(70, 50))
        for option in ('--network', '--weights'):
            program.run('denoise', image, self.folder / f'out{option}.png', option, weights, code=0)
        self.assertEqual(*((self.folder / f'out{option}.png').read_bytes() for option in ('--network', '--weights')))
        layers = {f'net.{i}.weight': ((3, 3, 3, 3), [0.0] * 81) for i in (0, 2, 4)}
        said = program.run('networks', self.write('part.safetensors', program.safetensors({**layers, 'loss.w': ((1,), [0.0])})), code=0).stdout
        for note in ("not read beside the network: 'loss.w'", 'read as a DnCNN, which names do not say'):
            self.assertIn(note, said)
        odd = self.write('odd.safetensors', program.safetensors({'odd.weight': ((1,), [0.0])}))
        self.assert_refused(program.run('networks', odd), 2, 'odd.safetensors', 'odd.weight')

    def test_engines_that_do_not_run_files_are_refused(self):
        study = self.write('study.yaml', STUDY + f'network: {self.file("dilated")}\nhalo: exact\n')
        self.assert_refused(program.run('run', study, '--out', self.folder / 'out'), 2, 'engine torch', 'dilated.onnx',
                            "('LeakyRelu')", 'onnxruntime')
        native = program.run('run', study, '--out', self.folder / 'out', '--set', 'engine=native')
        self.assert_refused(native, 2, 'engine native', "LeakyRelu'", 'onnxruntime')

    def test_plan_says_what_is_not_known(self):
        study = self.write('study.yaml', STUDY + f'network: {self.file("dilated")}\nengine: onnxruntime\nhalo: exact\n')
        result = program.run('plan', study, code=0)
        row = next(line for line in result.stdout.splitlines() if 'dilated' in line)
        self.assertEqual(row.split()[-2:], ['-', '-'])
        images = [self.write(f'{name}.png', program.png(70, 50)) for name in 'ab']
        said = program.run('denoise', *images, f'{self.folder}/out/', '--network', self.file('dilated'), '--dry-run', code=0).stdout
        self.assertRegex(said, r'2 images: 2 to denoise, 0 failed; in all: memory and arithmetic are not known')

    def test_a_network_in_a_file_has_its_weights(self):
        image = self.write('in.png', program.png(70, 50))
        refused = program.run('denoise', image, self.folder / 'out.png', '--network', self.file('dilated'), '--weights', 'a.pth')
        self.assert_refused(refused, 2, '--weights a.pth', 'dilated.onnx holds its weights')
        study = self.write('study.yaml', STUDY + f'network: {self.file("dilated")}\nengine: onnxruntime\nhalo: exact\n')
        planned = program.run('plan', study, '--set', 'weights=seed:1', code=0)
        self.assertIn('weights = seed:1 has no effect', planned.stdout)


if __name__ == '__main__':
    if not (has('pytorch') and has('onnxruntime')):
        print('skipped: needs the engines pytorch and onnxruntime: launch/engines.sh --only onnxruntime,pytorch')
        sys.exit(77)
    program.main()
