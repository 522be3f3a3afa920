"""patchbench denoise --dry-run: what it says is what a run does, and nothing is written."""
import json
import math
import os
import re
from pathlib import Path

import program
from program import npy, png, run

FAST = ('--network', 'dncnn', '--halo', '8', '--patch', '32', '--batch', '2', '--device', 'cpu', '--sigma', '0.1')


def head(line):
    """What a line says of its image before its figures."""
    return re.split(r'rank[:;] ', line)[0]


class DryRun(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.images = self.folder / 'in'
        self.images.mkdir()
        for name, size in (('a.png', (90, 71)), ('b.png', (64, 50)), ('c.png', (40, 36))):
            (self.images / name).write_bytes(png(*size))

    def dry_run(self, *arguments, code=0, ranks=0):
        before = sorted(self.folder.rglob('*'))
        result = run('denoise', *arguments, '--dry-run', ranks=ranks, code=code)
        self.assertEqual(sorted(self.folder.rglob('*')), before)
        return result.stdout

    def test_it_says_of_each_image_what_a_run_does(self):
        planned = self.dry_run(self.images, self.folder / 'out', *FAST)
        self.assertTrue(planned.endswith('dry run: nothing was written\n'), planned)
        self.assertNotIn('RESULT', planned)
        done = run('denoise', self.images, self.folder / 'out', *FAST).stdout
        self.assertEqual([head(line) for line in planned.splitlines()[:3]], [head(line) for line in done.splitlines()[:3]])
        self.assertRegex(planned, r'3 images: 3 to denoise, 0 failed; in all: predicted: ')
        shared = self.dry_run(self.images, self.folder / 'other', *FAST, ranks=2)
        arithmetic = re.compile(r'(\w)\.png.* ([\d.]+ TFLOP)')
        self.assertEqual(arithmetic.findall(shared), arithmetic.findall(planned))

    def test_it_says_that_a_network_does_not_know_the_noise_level(self):
        untrained = (self.images, self.folder / 'out', *FAST, '--weights', 'seed:1', '--allow-untrained')
        planned = self.dry_run(*untrained)
        self.assertNotIn('sigma 0.1', planned)
        self.assertEqual([head(line) for line in planned.splitlines()[:3]],
                         [head(line) for line in run('denoise', *untrained, code=0).stdout.splitlines()[:3]])

    def test_its_figures_are_those_of_a_plan(self):
        planned = self.dry_run(self.images, self.folder / 'out', *FAST)
        figures = []
        for name in ('a.png', 'b.png', 'c.png'):
            study = self.write('study.yaml', f'name: s\nimage: {{path: {self.images / name}, noise_sigma: 0.1}}\nnetwork: dncnn\n'
                               'engine: native\nhalo: 8\npatch: 32\nbatch: 2\ndevice: cpu\n')
            row = next(line for line in run('plan', study).stdout.splitlines() if line.startswith('0 '))
            figures.append((float(row.split()[-1]), float(row.split()[-2])))
        *each, total = [(float(a), float(b)) for a, b in re.findall(r'predicted: ([\d.e-]+) TFLOP, peak (\d+) MiB', planned)]
        for said, expected in zip(each, figures):
            self.assertAlmostEqual(said[0], expected[0], delta=1e-3 * expected[0])
            self.assertAlmostEqual(said[1], expected[1], delta=1)
        self.assertAlmostEqual(total[0], sum(tflop for tflop, _ in each), delta=1e-3 * total[0])
        self.assertEqual(total[1], max(mib for _, mib in each))

    def test_groups_of_bands_are_named_and_added(self):
        (self.images / 'seven.npy').write_bytes(npy(bytes(64 * 80 * 7), (64, 80, 7), '|u1'))
        text = self.dry_run(self.images / 'seven.npy', self.images / 'b.png', str(self.folder / 'out') + '/', *FAST, '--bands', '3')
        self.assertEqual(re.findall(r'seven\.npy, bands (\S+) ->', text), ['1-3', '4-6', '5-7'])
        *each, total = [float(tflop) for tflop in re.findall(r'predicted: ([\d.e-]+) TFLOP', text)]
        self.assertEqual(len(each), 4)
        self.assertAlmostEqual(total, sum(each), delta=1e-3 * total)

    def test_objects_say_what_the_lines_say(self):
        (self.images / 'cut.png').write_bytes(png(40, 36)[:60])
        result = run('denoise', self.images, self.folder / 'out', *FAST, '--json', '--dry-run', code=1)
        *images, total = map(json.loads, result.stdout.splitlines())
        figures = re.findall(r'predicted: (\S+) TFLOP, peak (\d+) MiB', result.stderr)
        self.assertEqual([(f"{image['planned']['tflop']:.4g}", str(math.ceil(image['planned']['peak_mib'])))
                          for image in images if image['planned']], figures[:-1])
        self.assertEqual([image['pipeline_s'] for image in images], [None] * len(images))
        self.assertEqual((total['result'], total['to_denoise'], total['failed'], total['exit_code']),
                         ('DRY RUN', len(images) - 1, 1, 1))

    def test_what_is_found_by_trying_is_at_least_that_of_the_smallest(self):
        """Halos and batches are not known; but of an image of one patch it is none."""
        smallest = self.dry_run(self.images / 'c.png', self.folder / 'out.png', '--network', 'dncnn', '--device', 'cpu',
                                '--patch', '32', '--halo', '1', '--batch', '1', '--sigma', '0.1')
        figures = re.search(r'predicted: (\S+ TFLOP), peak (\d+ MiB)', smallest)
        (self.images / 'large.png').write_bytes(png(512, 400))
        text = self.dry_run(self.images, self.folder / 'out', '--network', 'dncnn', '--device', 'cpu', '--patch', '32',
                            '--sigma', '0.1')
        self.assertRegex(text, rf'c\.png.*halo auto, batch auto, .*predicted: at least {figures[1]}, peak at least {figures[2]}')
        self.assertRegex(text, r'large\.png.*halo carried, .*predicted: \d')
        self.assertIn('in all: predicted: at least ', text)
        single = self.dry_run(self.images / 'c.png', self.folder / 'out.png', '--network', 'dncnn', '--device', 'cpu',
                              '--sigma', '0.1')
        whole = self.dry_run(self.images / 'c.png', self.folder / 'out.png', '--network', 'dncnn', '--device', 'cpu',
                             '--sigma', '0.1', '--halo', 'none', '--batch', '1')
        self.assertEqual(re.search(r'[\d.]+ TFLOP', single)[0], re.search(r'[\d.]+ TFLOP', whole)[0])

    def test_an_image_in_place_of_a_study_is_answered_with_it(self):
        for command in ('plan', 'run'):
            self.assert_refused(run(command, self.images / 'a.png'), 2, 'a.png: is an image', f'denoise {self.images / "a.png"} OUT --dry-run')

    def test_memory_that_the_host_does_not_have_is_noted(self):
        """A file without blocks, of more bytes than the host has, which is read in windows."""
        host = 1024 * int(re.search(r'MemTotal: +(\d+)', Path('/proc/meminfo').read_text())[1])
        edge = math.isqrt(host // 3) + 1000
        large = self.write('large.npy', npy(b'', (edge, edge, 3), '|u1'))
        try:
            os.truncate(large, 128 + edge * edge * 3)
        except OSError as error:
            self.skipTest(f'no file without blocks: {error}')
        mib = round(2 * edge * edge * 3 / 2**20)
        options = ('--network', 'dncnn', '--device', 'cpu', '--sigma', '0.1')
        for output, kind, noted in (('a.tif', 'memory', True), ('a.tif', 'auto', False), ('a.tif', 'file', False),
                                    ('a.npy', 'auto', False)):
            text = self.dry_run(large, self.folder / output, *options, '--output', kind)
            self.assertEqual(bool(re.search(rf'note: input and output take {mib} MiB of host memory, and \d+ are free', text)),
                             noted, text)
        self.assertNotIn('host memory', self.dry_run(self.images / 'a.png', self.folder / 'a.png', *options))

    def test_what_a_run_would_refuse_is_refused(self):
        (self.images / 'b.png').write_bytes(b'no image')
        (self.folder / 'out').mkdir()
        (self.folder / 'out' / 'a.png').write_bytes(b'mine')
        text = self.dry_run(self.images, self.folder / 'out', *FAST, '--no-clobber', code=1)
        self.assertIn('b.png: failed: cannot read', text)
        self.assertIn('a.png: not denoised', text)
        self.assertIn('3 images: 1 to denoise, 1 failed, 1 there already', text)
        self.dry_run(self.images / 'b.png', self.folder / 'b.png', *FAST, code=2)
        self.dry_run(self.images / 'a.png', self.folder / 'none' / 'a.png', *FAST, code=2)
        self.dry_run(self.images, f'{self.images}/a.png/out/', *FAST, code=1)
        self.assertIn('more than the 1 MiB', self.dry_run(self.images, self.folder / 'new', *FAST, '--memory-limit-mib', '1', code=1))
        for missing in (('--weights', self.folder / 'none.pth'), ('--network', 'unet', '--device', 'cpu')):
            self.dry_run(self.images / 'a.png', self.folder / 'a.png', *missing, code=2)
        (self.images / 'c.npy').write_bytes(npy(bytes(64 * 80), (64, 80), '|u1'))
        whole = ('--output', 'file', '--weights', 'seed:1', '--allow-untrained')
        for name, output, code in (('a.png', 'a.tif', 2), ('c.npy', 'c.png', 2), ('c.npy', 'c.tif', 0)):
            arguments = (self.images / name, self.folder / output, *FAST, *whole)
            self.dry_run(*arguments, code=code)
            run('denoise', *arguments, code=code)
        nowhere = {**os.environ, 'PATCHBENCH_ENGINES': '/nowhere'}
        for more in (('--dry-run',), ()):
            absent = run('denoise', self.images, self.folder / 'new', '--engine', 'onnxruntime', *more, env=nowhere)
            self.assert_refused(absent, 1, 'onnxruntime', 'launch/engines.sh --only onnxruntime')
        damaged = self.folder / 'damaged'
        damaged.mkdir()
        for name in ('x.png', 'y.png'):
            (damaged / name).write_bytes(b'no image')
        self.assertNotIn('in all', self.dry_run(damaged, self.folder / 'out', *FAST, code=1))


if __name__ == '__main__':
    program.main()
