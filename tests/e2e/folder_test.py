"""patchbench denoise on folders of images: shared out over ranks, with folders in them, failures and signals."""
import json
import os
import re
import signal
from pathlib import Path

import program
from denoise_test import FAST, noise, small_drunet
from program import command, npy, png, run, wait_until

SLOW = (*FAST, '--network', 'drunet', '--weights', 'seed:1', '--allow-untrained')  # a signal comes before the last image


def array(height, width):
    """Colour samples of 8 bits in a .npy: a file as large as its pixels."""
    count = height * width * 3
    return npy((bytes(range(251)) * (count // 251 + 1))[:count], (height, width, 3), '|u1')


class Folders(program.ProgramTest):
    def make(self, **files):
        """A folder `in` with these files; `__` in a name stands for '/', the last '_' for '.'."""
        for name, content in files.items():
            file = self.folder / 'in' / '.'.join(name.replace('__', '/').rsplit('_', 1))
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        return self.folder / 'in'

    def names(self, folder):
        return sorted(str(file.relative_to(self.folder / folder)) for file in (self.folder / folder).rglob('*')
                      if file.is_file())

    def denoise(self, out, *options, ranks=0, code=0, env=None):
        result = run('denoise', self.folder / 'in', self.folder / out, *options, ranks=ranks, env=env, code=code)
        return result.stdout

    def test_the_bytes_are_those_of_one_by_one(self):
        """Gray and colour in turn, of unequal sizes, with everything found automatically: engines are kept between images."""
        weights = ('--network', 'dncnn', '--weights', 'seed:1', '--allow-untrained', '--device', 'cpu', '--patch', '32')
        images = self.make(**{f'{i}_png': png(30 + 7 * i, 41, 1 + 2 * (i % 2), noise) for i in range(7)})
        for engine in ('torch', 'native'):
            for i in range(7):
                run('denoise', images / f'{i}.png', self.folder / f'{i}.png', *weights, '--engine', engine, code=0)
            for ranks in (1, 2, 3):
                said = self.denoise('out', *weights, '--engine', engine, ranks=ranks)
                for i in range(7):
                    self.assertEqual((self.folder / f'out/{i}.png').read_bytes(), (self.folder / f'{i}.png').read_bytes(),
                                     (engine, ranks, i))
                self.assertEqual(re.findall(r'in/(\d)\.png -> .* 1 rank', said), list('0123456'), 'in order, each by one rank')
                self.assertEqual('7 images on' in said, ranks > 1)
                self.assertIn('7 images: 7 denoised, 0 failed', said)

    def test_small_images_share_batches(self):
        """Of two sizes, each at its own noise level, a damaged one among them: bytes as one by one, files of their own."""
        weights = ('--weights', self.write('drunet.safetensors', small_drunet()), '--halo', '8', '--batch', '4', '--device', 'cpu')
        rough = [lambda x, y, c, i=i: 64 + noise(x, y, c) // (2 + i) for i in range(9)]
        images = self.make(**{f'{i}_png': png(40 if i != 6 else 61, 36, value=rough[i]) for i in range(9)}, **{
            '2cut_png': png(40, 36, value=noise)[:700]})
        for i in range(9):
            alone = run('denoise', images / f'{i}.png', self.folder / f'{i}.png', *weights, code=0)
            self.assertNotIn('verified:', alone.stdout, 'the only image is')
        for ranks in (0, 1, 2):
            said = self.denoise('out', *weights, ranks=ranks, code=1)
            for i in range(9):
                self.assertEqual((self.folder / f'out/{i}.png').read_bytes(), (self.folder / f'{i}.png').read_bytes(), (ranks, i))
            self.assertEqual(len(re.findall(r'2cut\.png: failed: ', said)), 1, said)
            self.assertRegex(said, r'10 images: 9 denoised, 1 failed; windows of up to \d images in one batch \(\d images\)')
            self.assertRegex(said, rf'verified: {max(ranks, 1)} of 9 images or pages')
        self.assertIn('up to 4 images in one batch (8 images)', self.denoise('out', *weights, '--verify', '1', code=1))

    def test_objects_say_what_the_lines_say(self):
        self.make(a_png=png(40, 36, value=noise), cut_png=png(40, 36, value=noise)[:700], notes_txt=b'',
                  seven_npy=npy(bytes(range(256)) * 63, (48, 48, 7), '|u1'))
        options = (*FAST, '--add-noise', '0.1', '--range', '0:200', '--json')
        for ranks in (0, 2):
            result = run('denoise', self.folder / 'in', self.folder / 'out', *options, ranks=ranks, code=1)
            *images, total = map(json.loads, result.stdout.splitlines())
            self.assertEqual([Path(image['input']).name for image in images], ['a.png', 'cut.png', *['seven.npy'] * 3])
            self.assertEqual([image['bands'] for image in images], [None, None, '1-3', '4-6', '5-7'])
            said = result.stderr
            for image in images:
                if image['status'] != 'ok':
                    self.assertIn(f"{image['input']}: failed: {image['reason']}\n", said)
                    self.assertEqual((image['height'], image['pipeline_s'], image['dtype']), (None, None, None))
                    self.assertEqual('(rank ' in image['reason'], ranks > 1)
                    continue
                bands = f", bands {image['bands']}" if image['bands'] else ''
                line = re.search(re.escape(f"{image['input']}{bands} -> {image['output']}: {image['height']}x{image['width']} px")
                                 + r'.*, (\d) channels, drunet, engine (\w+), range 0:200, sigma 0.1 in its units \(0.0005 of it\), halo 8, batch (\d+), (\d) rank.*: '
                                 r'([\d.]+) s, (\S+) Mpx/s, PSNR ([\d.]+) -> ([\d.]+) dB(.*)', said)
                self.assertIsNotNone(line, (image, said))
                self.assertEqual(list(map(int, line.group(1, 3, 4))), [image['channels'], image['batch'], image['ranks']])
                self.assertEqual((line[2], 'drunet', 'fp32', '8'), (image['engine'], image['network'], image['dtype'], image['halo']))
                self.assertEqual((image['range_low'], image['range_high'], image['sigma']), (0, 200, 0.0005))
                self.assertEqual(line[5], f"{image['pipeline_s']:.2f}")
                self.assertAlmostEqual(float(line[6]), image['useful_mpx_per_s'], delta=1e-2 * image['useful_mpx_per_s'])
                self.assertEqual(line.group(7, 8), tuple(f'{image[key]:.2f}' for key in ('psnr_noisy_db', 'psnr_denoised_db')))
                self.assertEqual(line[9], ''.join(f'; note: {note}' for note in image['notes']))
            self.assertEqual({image['verification'] for image in images}, {'passed', 'off'})
            self.assertEqual(total, {'type': 'result', 'result': 'FAILED', 'reasons': ['1 of 3 images: failed (see above)'],
                                     'denoised': 2, 'failed': 1, 'interrupted': 0, 'not_begun': 0, 'there_already': 0,
                                     'passed_over': 1, 'exit_code': 1})
        done = run('denoise', self.folder / 'in/a.png', self.folder / 'out', *options, '--no-clobber', code=0)
        self.assertEqual(json.loads(done.stdout)['there_already'], 1)
        self.assertIn('1 image: 0 denoised, 0 failed, 1 there already\nRESULT: VALID', done.stderr)
        dry = run('denoise', self.folder / 'in/a.png', self.folder / 'out', *options, '--no-clobber', '--dry-run', code=0)
        self.assertEqual([json.loads(dry.stdout)[key] for key in ('result', 'to_denoise', 'there_already')], ['DRY RUN', 0, 1])

    def test_all_ranks_work_on_the_large_one(self):
        weights = self.write('drunet.safetensors', small_drunet())
        self.make(a_png=png(40, 36, value=noise), b_npy=array(1500, 1500), c_png=png(44, 36, value=noise))
        options = ('--weights', weights, '--halo', '8', '--sigma', '0.1', '--device', 'cpu')
        said = self.denoise('out', *options, ranks=2)
        self.assertRegex(said, r'^3 images on 2 ranks: all ranks .* 1 large')
        self.assertEqual(re.findall(r'in/(.)\.\w+ -> .* (\d) rank', said), [('a', '1'), ('b', '2'), ('c', '1')])
        self.denoise('alone', *options)
        for name in self.names('out'):
            self.assertEqual((self.folder / 'out' / name).read_bytes(), (self.folder / 'alone' / name).read_bytes(), name)

    def test_folders_in_the_folder(self):
        picture = png(40, 36, value=noise)
        self.make(a_png=picture, sub__a_png=picture, sub__deep__b_png=picture, sub__notes_txt=b'', out__old_png=picture)
        self.denoise('flat', *FAST, '--format', 'tif')
        self.assertEqual(self.names('flat'), ['a.tif'])
        for ranks in (0, 2):
            said = self.denoise('in/out', *FAST, '--recursive', ranks=ranks)
            self.assertEqual(self.names('in/out'), ['a.png', 'old.png', 'sub/a.png', 'sub/deep/b.png'])
            self.assertRegex(said, '3 images: 3 denoised, 0 failed; 1 other')
        self.assertEqual((self.folder / 'in/out/old.png').read_bytes(), picture, 'what is in the output folder is no input')

    def test_outputs_of_another_format(self):
        self.make(a_png=png(40, 36, value=noise), b_npy=array(36, 40))
        self.denoise('out', *FAST, '--format', 'tif', ranks=2)
        self.assertEqual(self.names('out'), ['a.tif', 'b.tif'])
        self.assertEqual((self.folder / 'out/a.tif').read_bytes()[:2], b'II')
        self.make(a_npy=array(36, 40))
        for ranks in (0, 2):
            result = run('denoise', self.folder / 'in', self.folder / 'more', *FAST, '--format', 'png', ranks=ranks)
            self.assert_refused(result, 2, "in/a.png'", "in/a.npy'", "more/a.png'")
        self.assertFalse((self.folder / 'more/a.png').exists())

    def test_what_cannot_be_denoised_is_a_line_and_a_count(self):
        cut = png(40, 36, value=noise)[:700]  # its header is fine
        self.make(**{f'{i}_png': png(40, 36, value=noise) for i in range(4)}, cut_png=cut, text_png=b'no image', notes_txt=b'')
        for ranks in (0, 1, 2, 3):
            out = f'out{ranks}'
            said = self.denoise(out, *FAST, ranks=ranks, code=1)
            self.assertEqual(self.names(out), [f'{i}.png' for i in range(4)])
            lines = said.splitlines()
            for name in ('cut.png', 'text.png'):
                failed = [line for line in lines if f'{name}: failed: ' in line]
                self.assertEqual(len(failed), 1, said)
                self.assertEqual('(rank ' in failed[0], ranks > 1, said)
            self.assertIn('6 images: 4 denoised, 2 failed; 1 other', said)
            self.assertRegex(lines[-1], r'^RESULT: FAILED  2 of 6 images: failed \(see above\)$')
        said = self.denoise('out2', *FAST, '--no-clobber', ranks=2, code=1)
        self.assertIn('6 images: 0 denoised, 2 failed, 4 there already', said)
        (self.folder / 'in/text.png').unlink()  # the one that is left is still one of several
        said = self.denoise('out2', *FAST, '--no-clobber', code=1)
        self.assertRegex(said, r'cut\.png: failed: [^!]*5 images: 0 denoised, 1 failed, 4 there already')

    def test_a_name_with_a_line_end_takes_one_line(self):
        self.make(**{'a\nb_png': png(40, 36, value=noise)})
        said = self.denoise('out', *FAST)
        self.assertEqual(self.names('out'), ['a\nb.png'])
        self.assertEqual(len([line for line in said.splitlines() if 'a?b.png' in line and ' -> ' in line]), 1, said)
        self.assertIn('a?b.png: not denoised: ', self.denoise('out', *FAST, '--no-clobber'))

    def test_what_a_killed_rank_left_is_done_later(self):
        self.make(**{f'{i}_png': png(40, 36 + i, value=noise) for i in range(6)})
        self.denoise('all', *FAST)
        result = run('denoise', self.folder / 'in', self.folder / 'out', *FAST, ranks=2,
                     env=dict(os.environ, PATCHBENCH_FAULT='write:kill:2'))
        self.assertNotEqual(result.returncode, 0)
        done = [name for name in self.names('out') if name.endswith('.png')]
        self.assertIn(len(done), (1, 2), 'one of each rank, if the other was not ended before')
        said = self.denoise('out', *FAST, '--no-clobber', ranks=2)
        self.assertIn(f'6 images: {6 - len(done)} denoised, 0 failed, {len(done)} there already', said)
        for i in range(6):
            self.assertEqual((self.folder / f'out/{i}.png').read_bytes(), (self.folder / f'all/{i}.png').read_bytes(), i)

    def begin(self, ranks=0):
        """One image is done."""
        process = self.start(command('denoise', self.folder / 'in', self.folder / 'out', *SLOW, ranks=ranks))
        wait_until(lambda: process.poll() is not None or any((self.folder / 'out').glob('[0-9]*.png')), 'first image')
        return process

    def test_a_signal_ends_it_and_the_rest_is_counted(self):
        self.make(**{f'{i:02}_png': png(160, 160, value=noise) for i in range(40)})
        process = self.begin()
        process.send_signal(signal.SIGTERM)
        said, errors = process.communicate(timeout=100)
        self.assertEqual(process.returncode, 5, said + errors)
        self.assertRegex(said, r'40 images: \d+ denoised, \d failed,( \d+ interrupted,)? \d+ not begun')
        self.assertRegex(said, r'RESULT: UNFINISHED  .*of 40 images skipped')

    def ended_by_signal(self, process):
        """The object about all images, and the text."""
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        objects, said = process.communicate(timeout=100)
        self.assertEqual(process.returncode, 5, said)
        total = json.loads(objects.splitlines()[-1])
        self.assertEqual(total['exit_code'], 5)
        return total, said

    def ended_in_call(self, number, *options):
        """The same where the signal comes in a call of the network."""
        process = self.start(command('denoise', self.folder / 'in', self.folder / 'out', *FAST, '--json', *options),
                             env={**os.environ, 'PATCHBENCH_FAULT': f'forward:stop:{number}'})
        wait_until(lambda: process.poll() is not None or ') T ' in Path(f'/proc/{process.pid}/stat').read_text(), 'stop')
        return self.ended_by_signal(process)

    def test_what_was_done_before_a_signal_is_counted(self):
        """Images of 1, 3, 1 and 3 windows, of which a call takes 2."""
        images = self.make(a_png=png(30, 28, value=noise), b_png=png(90, 28, value=noise), c_png=png(28, 30, value=noise),
                           d_png=png(90, 30, value=noise))
        keys = ('result', 'denoised', 'failed', 'interrupted', 'not_begun', 'there_already')
        total, said = self.ended_in_call(2)
        self.assertEqual([total[key] for key in keys], ['UNFINISHED', 1, 0, 1, 2, 0])
        self.assertIn('4 images: 1 denoised, 0 failed, 1 interrupted, 2 not begun', said)
        total, said = self.ended_in_call(1, '--no-clobber')
        self.assertEqual([total[key] for key in keys], ['UNFINISHED', 0, 0, 1, 2, 1])
        self.assertIn('4 images: 0 denoised, 0 failed, 1 interrupted, 2 not begun', said)
        for name in ('b.png', 'c.png'):
            (images / name).unlink()
        total, said = self.ended_in_call(1, '--no-clobber')  # in the only one that is left
        self.assertEqual([total[key] for key in keys], ['UNFINISHED', 0, 0, 1, 0, 1])
        self.assertIn('2 images: 0 denoised, 0 failed, 1 interrupted, 1 there already', said)

    def test_a_dry_run_that_a_signal_ends_is_unfinished(self):
        picture = png(28, 28, value=noise)
        self.make(**{f'{i:04}_png': picture for i in range(4000)})  # seconds
        process = self.start(command('denoise', self.folder / 'in', self.folder / 'out', *FAST, '--json', '--dry-run'))
        caught = re.compile(r'SigCgt:\s+(\w+)')
        wait_until(lambda: int(caught.search(Path(f'/proc/{process.pid}/status').read_text())[1], 16) >> signal.SIGTERM - 1 & 1,
                   'handler of the signal')
        total, said = self.ended_by_signal(process)
        self.assertEqual((total['to_denoise'] + total['not_begun'], total['failed'], total['interrupted']), (4000, 0, 0))
        self.assertGreater(total['not_begun'], 0)
        self.assertRegex(said, rf"4000 images: {total['to_denoise']} to denoise, 0 failed, {total['not_begun']} not begun[;\n]")

    def test_a_signal_to_one_rank_ends_all(self):
        picture = png(160, 160, value=noise)
        self.make(**{f'{i:03}_png': picture for i in range(100)})
        process = self.begin(ranks=2)
        ranks = [int(pid) for each in Path(f'/proc/{process.pid}/task').glob('*/children') for pid in each.read_text().split()]
        os.kill(ranks[-1], signal.SIGTERM)
        said, errors = process.communicate(timeout=100)
        self.assertEqual(process.returncode, 5, said + errors)
        left = int(re.search(r'100 images: \d+ denoised, 0 failed(?:, \d+ interrupted)?, (\d+) not begun', said)[1])
        self.assertGreater(left, 20, 'the other rank does not work on the rest')


if __name__ == '__main__':
    program.main()
