"""patchbench denoise: bytes, types, folders, refusals."""
import json
import math
import os
import random
import re

import program
from program import npy, png, run

FAST = ('--halo', '8', '--patch', '32', '--batch', '2', '--sigma', '0.1', '--device', 'cpu', '--verify', '1')


def noise(x, y, c):
    """Something rough, the same on every machine."""
    return (x * 7 + y * 13 + (x * y * 31 + c * 57) % 97) % 256


def small_drunet(*prefixes):
    """A safetensors file with a DRUNet for colour images: widths 8 and 8, one block a scale; one under each of the prefixes."""
    blocks = {f'{module}.res.{i}': (8, 8, 3, 3) for module in ('m_down1.0', 'm_body.0', 'm_up1.1') for i in (0, 2)}
    shapes = {'m_head': (8, 4, 3, 3), 'm_down1.1': (8, 8, 2, 2), 'm_up1.0': (8, 8, 2, 2), 'm_tail': (3, 8, 3, 3), **blocks}
    tensors = {}
    for name, shape in [(prefix + name, shape) for prefix in prefixes or ('',) for name, shape in shapes.items()]:
        tensors[f'{name}.weight'] = (shape, [math.sin(i) / 9 for i in range(math.prod(shape))])
    return program.safetensors(tensors)


class Denoise(program.ProgramTest):
    def test_same_bytes_for_any_rank_count(self):
        photo = self.write('photo.png', png(90, 71, value=noise))
        before = photo.read_bytes()
        outputs = []
        for ranks in (1, 2, 3):
            out = self.folder / f'out{ranks}.png'
            result = run('denoise', photo, out, '--network', 'dncnn', '--halo', 'exact', '--patch', '32', '--sigma', '0.1',
                         '--device', 'cpu', ranks=ranks, code=0)
            self.assertIn('RESULT: VALID', result.stdout)
            outputs.append(out.read_bytes())
        self.assertEqual(outputs[0], outputs[1])
        self.assertEqual(outputs[0], outputs[2])
        self.assertEqual(photo.read_bytes(), before, 'inputs are never modified')
        self.assertEqual(outputs[0][16:26], before[16:26], 'width, height, depth and colour type')

    def test_carried_and_exchanged_rows_give_the_same_bytes_for_any_bands_and_ranks(self):
        photo = self.write('photo.png', png(90, 71, value=noise))
        outputs = []
        for halo, ranks, band in (('carried', 1, 32), ('carried', 2, 24), ('carried', 3, 16), ('carried', 1, 256),
                                  ('exchanged', 3, 256)):
            out = self.folder / f'out{ranks}-{band}.png'
            result = run('denoise', photo, out, '--halo', halo, '--patch', str(band), '--sigma', '0.1', '--device', 'cpu',
                         ranks=ranks, code=0)
            self.assertIn('RESULT: VALID', result.stdout)
            self.assertIn(f'halo {halo}', result.stdout)
            outputs.append(out.read_bytes())
        self.assertEqual(len(set(outputs)), 1)

    def test_halo_auto_carries_rows_of_an_image_that_fills_calls(self):
        photo = self.write('photo.png', png(150, 130, value=noise))
        outputs = []
        for halo in ('auto', 'carried'):
            result = run('denoise', photo, self.folder / 'out.png', '--network', 'dncnn', '--halo', halo, '--patch', '64',
                         '--sigma', '0.1', '--device', 'cpu', code=0)
            self.assertIn('RESULT: VALID', result.stdout)
            self.assertIn('halo carried', result.stdout)
            self.assertNotIn('note: halo = auto', result.stdout, 'there is nothing to choose')
            outputs.append((self.folder / 'out.png').read_bytes())
        self.assertEqual(*outputs)
        os.environ['PATCHBENCH_FAULT'] = 'output:shift:1+'  # of each band a part is verified, which must show it
        self.addCleanup(os.environ.pop, 'PATCHBENCH_FAULT', None)
        result = run('denoise', photo, self.folder / 'out.png', '--network', 'dncnn', '--patch', '64', '--sigma', '0.1',
                     '--device', 'cpu', code=3)
        self.assertRegex(result.stderr + result.stdout, r'in window \d, rows \d+ to \d+')

    def test_a_halo_that_was_taken_before_is_not_explained_again(self):
        photos = [self.write(f'{name}.png', png(150, 300, value=noise)) for name in 'abc']
        result = run('denoise', *photos, f'{self.folder}/out/', '--network', 'dncnn', '--patch', '64', '--sigma', '0.1',
                     '--device', 'cpu', '--memory-limit-mib', 6, code=0)
        self.assertEqual(result.stdout.count('halo carried'), 3)
        self.assertEqual(len(re.findall(r'note: halo = auto: carried rows .* strips .*, exact, 1\.\d+ x', result.stdout)), 1)

    def test_verify_all_looks_at_every_crossing_of_seams(self):
        """As many places as any number of windows would: seams that show at one place need not at another."""
        photo = self.write('photo.png', png(150, 130, value=noise))
        places = {}
        for windows in ('1', '40', 'all'):
            said = run('denoise', photo, self.folder / 'out.png', '--network', 'dncnn', '--halo', '1', '--patch', '32',
                       '--sigma', '0.1', '--device', 'cpu', '--verify', windows, code=0).stdout
            places[windows] = int(re.search(r'seams show: up to \S+ of the range at (\d+) places? looked at', said)[1])
        self.assertEqual(places['1'], 1)
        self.assertGreater(places['40'], 8)
        self.assertGreaterEqual(places['all'], places['40'])

    def test_a_larger_limit_is_never_worse(self):
        """Engine native, which is taken where it fits, must not be where only its windows do, and engine torch without seams."""
        photo = self.write('photo.png', png(150, 300, value=noise))
        for limit in range(5, 14):
            result = run('denoise', photo, self.folder / 'out.png', '--network', 'dncnn', '--patch', '64', '--sigma', '0.1',
                         '--device', 'cpu', '--memory-limit-mib', limit, '--verify', '0', '--no-cache', code=0)
            self.assertIn('out.png: 300x150 px', result.stdout, limit)

    def test_a_limit_that_is_too_small_is_answered_with_what_is_needed(self):
        photo = self.write('photo.png', png(150, 130, value=noise))
        arguments = ('denoise', photo, self.folder / 'out.png', '--network', 'dncnn', '--patch', '64', '--sigma', '0.1',
                     '--device', 'cpu', '--engine', 'torch', '--halo', 'exact', '--memory-limit-mib')
        result = run(*arguments, '4', code=5)
        needed = re.search(r'predicted to take about (\d+) MiB: allow more, or leave out --halo or take a smaller --patch', result.stdout)
        self.assertIsNotNone(needed, result.stdout)
        run(*arguments, str(round(1.1 * int(needed[1]))), code=0)
        small = self.write('small.safetensors', small_drunet())  # what fits is decided by this network, not by a published one
        run('denoise', photo, self.folder / 'out.png', '--weights', small, '--halo', 'carried', '--memory-limit-mib', '4',
            '--sigma', '0.1', '--device', 'cpu', code=0)

    def test_seams_that_show_are_named_and_the_rounding_of_the_output_is_none(self):
        photo = self.write('photo.png', png(90, 71, value=noise))
        common = ('--patch', '32', '--sigma', '0.1', '--device', 'cpu')
        said = {halo: run('denoise', photo, self.folder / 'out.png', '--halo', halo, *common, code=0).stdout
                for halo in ('none', 'exact')}
        self.assertRegex(said['none'], r'note: seams .*0\.\d+.* 0 px.*--halo exact')
        self.assertNotIn('far more', said['none'], 'the reach of this network is known')
        self.assertNotIn('seams', said['exact'])

    def test_alpha_is_kept(self):
        photo = self.write('rgba.png', png(40, 33, channels=4))
        run('denoise', photo, self.folder / 'out.png', *FAST, code=0)
        self.assertEqual((self.folder / 'out.png').read_bytes()[25], 6)

    def test_weights_for_colour_images_are_refused_for_a_gray_one(self):
        photo = self.write('gray.png', png(40, 36, channels=1))
        colour = program.REPOSITORY / 'models/dncnn_color_sigma0.1.safetensors'
        self.assert_refused(run('denoise', photo, self.folder / 'out.png', '--weights', colour), 2, colour.name,
                            '3 image channel', 'has 1')

    def test_a_weights_file_says_which_network_it_is_for(self):
        photo, out = self.write('photo.png', png(40, 36, value=noise)), self.folder / 'out.png'
        dncnn = program.REPOSITORY / 'models/dncnn_color_sigma0.1.safetensors'
        weights = self.write('drunet.safetensors', small_drunet())
        for network, file in (('drunet', weights), ('dncnn', dncnn)):  # one is the default, the other is not
            outputs = []
            for more, ranks in ((('--network', network), 0), ((), 0), ((), 2)):
                result = run('denoise', photo, out, '--weights', file, *more, *FAST, ranks=ranks, code=0)
                self.assertIn(f'36x40 px (height x width), 3 channels, {network},', result.stdout)
                outputs.append(out.read_bytes())
            self.assertEqual(outputs[1:], outputs[:1] * 2)
        wrong = run('denoise', photo, out, '--weights', weights, '--network', 'dncnn', *FAST)
        self.assert_refused(wrong, 2, 'weights of drunet, not of dncnn')

    def test_weights_beside_others_are_found_and_the_others_named(self):
        photo, out = self.write('photo.png', png(40, 36, value=noise)), self.folder / 'out.png'
        weights = self.write('lightning.safetensors', small_drunet('model._orig_mod.', 'ema_model.module.'))
        result = run('denoise', photo, out, '--weights', weights, *FAST, code=0)
        self.assertRegex(result.stdout, r"36x40 px .height x width., 3 channels, drunet,.*note: \S+lightning\.safetensors: .*'ema_model\.' is read, .*'model\.'")
        weights = self.write('two.safetensors', small_drunet('a.', 'b.'))
        self.assert_refused(run('denoise', photo, self.folder / 'no.png', '--weights', weights, *FAST), 2, 'two.safetensors', "'a.', 'b.'")

    def test_webp_and_bmp_hold_the_same_pixels(self):
        for channels, kind in ((3, 'rgb'), (4, 'rgba')):
            photo = self.write('photo.png', png(43, 35, channels=channels, value=noise))
            outputs = []
            for name in ('webp', 'bmp', 'png'):
                between, out = self.folder / f'{kind}.{name}', self.folder / f'from-{kind}-{name}.bmp'
                for source, to in ((photo, between), (between, out)):
                    run('denoise', source, to, *FAST, code=0)
                outputs.append(out.read_bytes())
            self.assertEqual(outputs[1:], outputs[:1] * 2)
        run('denoise', self.folder, self.folder / 'all/', *FAST, ranks=2, code=0)
        self.assertIn('rgba.webp', sorted(file.name for file in (self.folder / 'all').iterdir()))
        study = self.write('study.yaml', 'image: {path: rgb.webp, noise_sigma: 0.1}\nnetwork: dncnn\npatch: 32\nhalo: 8\nbatch: 1\n')
        run('plan', study, cwd=self.folder, code=0)

    def test_folder_is_shared_out_over_ranks(self):
        images = self.folder / 'in'
        images.mkdir()
        for i in range(5):
            (images / f'{i}.png').write_bytes(png(40 + i, 36, value=noise))
        (images / '.half.png').write_bytes(b'of another program')
        result = run('denoise', images, self.folder / 'out', *FAST, ranks=2, code=0)
        self.assertEqual(sorted(file.name for file in (self.folder / 'out').iterdir()), [f'{i}.png' for i in range(5)])
        self.assertEqual(result.stdout.count('RESULT:'), 1, 'of all ranks')
        (images / '4.png').write_bytes(b'not a picture')  # the other rank's
        bad = run('denoise', images, self.folder / 'more', *FAST, ranks=2, code=1)
        self.assertRegex(bad.stdout.strip().splitlines()[-1], '^RESULT: FAILED  1 of 5 images')
        for i in range(5):
            self.assertEqual(result.stdout.count(f'{i}.png -> '), 1, 'by one rank')
        run('denoise', images / '3.png', self.folder / 'three.png', *FAST, code=0)
        self.assertEqual((self.folder / 'three.png').read_bytes(), (self.folder / 'out/3.png').read_bytes())

    def test_outputs_are_understood_as_by_cp(self):
        for name in ('a.png', 'b.png'):
            self.write(name, png(40, 36, value=noise))
        photos = (self.folder / 'a.png', self.folder / 'b.png')
        for ranks in (0, 2):
            result = run('denoise', *photos, self.folder / 'out.png', *FAST, ranks=ranks)
            self.assert_refused(result, 2, "out.png'", "'/'")
            self.assertFalse((self.folder / 'out.png').exists())
            result = run('denoise', self.folder / '*.png', self.folder / 'none', *FAST, ranks=ranks)
            self.assert_refused(result, 2, "none'", '2 images')
        for inputs, out, expected in ((photos, 'new/', ['a.png', 'b.png']), (photos[:1], 'deep/new/', ['a.png']),
                                      (photos[:1], 'new', ['a.png', 'b.png']), ([self.folder / 'new'], 'copy', ['a.png', 'b.png'])):
            run('denoise', *inputs, f'{self.folder}/{out}', *FAST, code=0)
            self.assertEqual(sorted(file.name for file in (self.folder / out).iterdir()), expected)
        self.assert_refused(run('denoise', self.folder / 'new', self.folder / 'new.png', *FAST), 2, "new.png'")
        self.assertFalse((self.folder / 'new.png').exists())

    def test_outputs_that_are_there_are_left_alone(self):
        images = self.folder / 'in'
        images.mkdir()
        for i in range(3):
            (images / f'{i}.png').write_bytes(png(40, 36, value=noise))
        out = self.folder / 'out'
        out.mkdir()
        (out / '1.png').write_bytes(b'mine')
        for ranks in (0, 2):
            for other in ('0.png', '2.png'):
                (out / other).unlink(missing_ok=True)
            result = run('denoise', images, out, *FAST, '--no-clobber', ranks=ranks, code=0)
            self.assertRegex(result.stdout, r'in/1\.png: .*out/1\.png')
            self.assertEqual((out / '1.png').read_bytes(), b'mine')
            self.assertEqual(sorted(file.name for file in out.iterdir()), ['0.png', '1.png', '2.png'])
        run('denoise', images / '1.png', out / '1.png', *FAST, '--no-clobber', code=0)
        self.assertEqual((out / '1.png').read_bytes(), b'mine')
        run('denoise', images / '1.png', out / '1.png', *FAST, code=0)
        self.assertNotEqual((out / '1.png').read_bytes(), b'mine')

    def test_a_bad_file_among_many_is_named_and_the_others_are_done(self):
        images = self.folder / 'in'
        images.mkdir()
        for i in range(4):
            (images / f'{i}.png').write_bytes(png(40, 36, value=noise) if i != 1 else b'no image')
        for ranks in (1, 2):
            out = self.folder / f'out{ranks}'
            result = run('denoise', images, out, *FAST, ranks=ranks, code=1)
            self.assertIn('1.png: failed', result.stdout)
            self.assertIn('RESULT: FAILED', result.stdout)
            self.assertEqual(sorted(file.name for file in out.iterdir()), ['0.png', '2.png', '3.png'])

    def test_a_link_to_nothing_in_a_folder_fails_like_a_damaged_image(self):
        images = self.folder / 'in'
        images.mkdir()
        (images / '0.png').write_bytes(png(40, 36, value=noise))
        (images / '1.png').symlink_to('1.png')
        (images / '2.png').symlink_to('nothing.png')
        result = run('denoise', images, self.folder / 'out', *FAST, code=1)
        for name in ('1.png', '2.png'):
            self.assertIn(f'{name}: failed', result.stdout)
        self.assertTrue((self.folder / 'out' / '0.png').exists())

    def test_windows_that_come_out_as_they_went_in_are_wrong(self):
        """All of a rank's from the second on: one probe alone would hardly meet one."""
        photo = self.write('photo.png', png(160, 160, value=noise))
        for fault in ('output:identity:2+', 'output:identity:4'):
            os.environ['PATCHBENCH_FAULT'] = fault
            self.addCleanup(os.environ.pop, 'PATCHBENCH_FAULT', None)
            result = run('denoise', photo, self.folder / 'out.png', '--network', 'dncnn', '--halo', '8', '--patch', '48',
                         '--batch', '1', '--sigma', '0.1', '--device', 'cpu', code=3)
            self.assertRegex(result.stderr + result.stdout, r'in window \d', fault)

    def test_without_verification(self):
        photo = self.write('photo.png', png(40, 36, value=noise))
        result = run('denoise', photo, self.folder / 'out.png', *FAST[:-1], '0', code=0)
        self.assertEqual(result.stdout.splitlines()[-1], 'RESULT: UNVERIFIED  1 of 1 image not verified (--verify none)')

    def test_words_after_two_dashes_are_files(self):
        self.write('a.png', png(40, 36, value=noise))
        self.write('-b.png', png(40, 36, value=noise))
        (self.folder / 'out').mkdir()
        for words in (['a.png', *FAST, '--', '-b.png', 'out'], [*FAST, '--', 'a.png', '-b.png', 'out']):
            result = run('denoise', *words, cwd=self.folder, code=0)
            self.assertIn('2 images: 2 denoised', result.stdout)
            for name in ('a.png', '-b.png'):
                (self.folder / 'out' / name).unlink()
        self.assert_refused(run('denoise', 'a.png', 'out/', '--sigma='), 2, "'--sigma='")

    def test_an_error_of_a_setting_names_the_image_and_no_point(self):
        photo = self.write('photo.png', png(40, 36, value=noise))
        for more, *said in ((('--threads', '4000'), 'threads = 4000'), (('--dtype', 'fp16'), 'dtype = fp16'),
                            (('--network', 'drunet', '--patch', '250'), 'patch = 250', '248')):
            for inputs in ([photo], [photo, self.write('other.png', photo.read_bytes())]):
                result = run('denoise', *inputs, f'{self.folder}/out/', *FAST[:2], *FAST[4:], *more)
                self.assert_refused(result, 2, *said)
                self.assertNotIn('point 0', result.stderr)

    def test_sigma_and_halo_auto_are_found_and_used(self):
        sigma, edge = 0.07, 96
        random_values = random.Random(1)
        samples = bytes(min(255, max(0, round(100 + x / 2 + random_values.gauss(0, sigma * 255))))
                        for _ in range(edge) for x in range(edge) for _ in range(3))
        photo = self.write('photo.npy', npy(samples, (edge, edge, 3), '|u1'))

        def denoised(name, *options):
            """What was said, and the samples."""
            out = self.folder / name
            result = run('denoise', photo, out, '--network', 'dncnn', '--patch', '48', '--batch', '1', '--device', 'cpu',
                         *options, code=0)
            return result.stdout, out.read_bytes()[-len(samples):]

        def largest_difference(one, other):
            return max(abs(a - b) for a, b in zip(one, other))

        said, automatic = denoised('auto.npy')
        estimate, halo = re.search(r'sigma (0\.\d+), halo (\d+)', said).groups()
        self.assertAlmostEqual(float(estimate), sigma, delta=0.1 * sigma)
        self.assertIn(int(halo), range(1, 20), 'DnCNN: neither bare patches nor all that can reach a pixel')
        near, named = denoised('named.npy', '--sigma', estimate, '--halo', halo)
        self.assertLessEqual(largest_difference(automatic, named), 1, 'sigma is printed with four digits')
        far, other = denoised('other.npy', '--sigma', '0.3', '--halo', halo)
        self.assertGreater(largest_difference(automatic, other), 5)
        self.assertRegex(far, r'the noise seems to be about 0\.0\d+, not 0\.3: details may be smoothed away')
        weak, _ = denoised('weak.npy', '--sigma', '0.02', '--halo', halo)
        self.assertIn('not 0.02: noise may stay', weak)
        for line in (said, near):
            self.assertNotIn('the noise seems', line)
        self.assertIn('dncnn, engine native, ', said, 'the faster one')
        said, by_torch = denoised('torch.npy', '--sigma', estimate, '--halo', halo, '--engine', 'torch')
        self.assertIn('dncnn, engine torch, ', said)
        self.assertIn('RESULT: VALID', said)
        self.assertLessEqual(largest_difference(by_torch, named), 1)


class Clean(program.ProgramTest):
    """PSNR against images without noise; tests/readers/quality_test.py has the figures."""

    def setUp(self):
        super().setUp()
        for name in ('noisy', 'clean'):
            for i, rows in enumerate((40, 36, 44)):
                folder = self.folder / name / ('deep' if i == 2 else '')
                folder.mkdir(parents=True, exist_ok=True)
                value = noise if name == 'noisy' else lambda x, y, c: (noise(x, y, c) + i) // 2  # another PSNR for each
                (folder / f'{i}.png').write_bytes(png(rows, 38, value=value))
        self.noisy, self.clean = self.folder / 'noisy', self.folder / 'clean'

    def told(self, *arguments, ranks=0):
        result = run('denoise', *arguments, *FAST, ranks=ranks, code=0)
        return re.findall(r'(\d).png -> .* PSNR (\S+) -> (\S+) dB', result.stdout)

    def test_a_folder_has_the_figures_of_each_image_by_itself(self):
        each = [self.told(self.noisy / name, self.folder / 'out.png', '--clean', self.clean / name)[0]
                for name in ('0.png', '1.png', 'deep/2.png')]
        self.assertEqual(len(set(each)), 3, each)
        self.assertEqual(self.told(self.noisy, f'{self.folder}/out/', '--recursive', '--clean', self.clean, ranks=2), each)
        self.assertEqual(self.told(self.noisy / '1.png', self.folder / 'out.png', '--clean', self.clean), each[1:2])

    def test_images_that_are_not_the_same_are_refused(self):
        out = self.folder / 'out.png'
        for clean, words in ((self.clean / '1.png', ('1.png: has 38 x 36 px', '0.png has 38 x 40 px')),
                             (self.write('gray.png', png(40, 38, channels=1)), ('gray.png: has', '1 channel,', '3 channels')),
                             (self.folder / 'none.png', ('none.png',)), (self.write('text.png', b'text'), ('text.png',))):
            self.assert_refused(run('denoise', self.noisy / '0.png', out, '--clean', clean, *FAST, ranks=2), 2, *words)
        self.assert_refused(run('denoise', self.noisy, out.with_suffix(''), '--clean', self.clean / '0.png'), 2, '--clean', 'folder')
        self.assert_refused(run('denoise', self.noisy / '0.png', out, '--clean', self.noisy), 2, '--clean', 'itself')
        (self.clean / '1.png').unlink()
        self.assert_refused(run('denoise', self.noisy, out.with_suffix(''), '--clean', self.clean), 2, '--clean', '1.png')
        self.assertEqual(list(self.folder.glob('out*')), [])

    def test_a_clean_image_is_not_replaced(self):
        clean = self.clean / '0.png'
        before = clean.read_bytes()
        self.assert_refused(run('denoise', self.noisy / '0.png', clean, '--clean', clean, *FAST), 2, '0.png')
        self.assert_refused(run('denoise', self.noisy, self.clean, '--clean', self.clean, *FAST), 2, '0.png')
        self.assertEqual(clean.read_bytes(), before)

    def test_a_study_has_the_same_figures(self):
        (_, before, after), = self.told(self.noisy / '0.png', self.folder / 'out.png', '--clean', self.clean / '0.png')
        study = ('name: clean\nimage: {path: noisy/0.png, clean: clean/0.png, noise_sigma: 0}\nnetwork: drunet\nsigma: 0.1\n'
                 'halo: 8\npatch: 32\nbatch: 2\ndevice: cpu\nwarmup.reps: 0\nforward_calls: 1\nbounds: false\n'
                 'stop: {min_reps: 1, max_reps: 1}\n')
        run('run', self.write('study.yaml', study), '--out', self.folder / 'results', ranks=2, code=0)  # from another folder
        quality = program.points(self.folder / 'results')[0]['quality']
        self.assertEqual([f'{quality[key]:.2f}' for key in ('psnr_noisy_db', 'psnr_denoised_db')], [before, after])
        self.write('study.yaml', study.replace('clean/0.png', 'clean/1.png'))
        self.assert_refused(run('run', self.folder / 'study.yaml', '--out', self.folder / 'other'), 2, '1.png', '0.png')


class Help(program.ProgramTest):
    def test_options_have_the_shape_and_the_default_of_their_values(self):
        """Those of `denoise`, which are not those of a study."""
        text = re.sub(r'\s+', ' ', run('denoise', '--help').stdout)
        for option, shape, default in (('patch', 'N', '256'), ('halo', 'N | none | exact | carried | exchanged | auto', 'auto'),
                                       ('batch', 'N | auto | largest', 'auto'), ('verify', 'N | auto | all | none', 'auto'),
                                       ('dtype', 'fp32 | tf32 | bf16 | fp16', 'fp32'), ('threads', 'N | auto', 'auto'),
                                       ('network', 'drunet | unet | dncnn', 'drunet'), ('sigma', 'X | X/Y | auto', 'auto'),
                                       ('engine', 'torch | native | reference | timed', 'auto'),
                                       ('trained-sigma', 'X | X/Y | auto', 'auto'), ('add-noise', 'X | X/Y', '0'),
                                       ('memory-limit-mib', 'N', '0'), ('output', 'auto | memory | file | checksum', 'auto')):
            self.assertRegex(text, rf'--{option} {re.escape(shape)}[ :](?:(?! --).)*\(default: {default}\)', option)


class SigmaWithoutEffect(program.ProgramTest):
    def test_is_noted_once_where_none_was_given(self):
        (self.folder / 'in').mkdir()
        for name in 'abc':
            self.write(f'in/{name}.png', png(40, 40, value=noise))
        words = ('--network', 'dncnn', '--weights', 'seed:1', '--allow-untrained', '--device', 'cpu', '--halo', '8', '--patch', '32')
        for sigma, count in (((), 1), (('--sigma', '0.1'), 3)):
            for ranks in (0, 2):
                result = run('denoise', self.folder / 'in', self.folder / 'out', *words, *sigma, ranks=ranks, code=0)
                self.assertEqual(result.stdout.count('sigma has no effect'), count, result.stdout)
            objects = run('denoise', self.folder / 'in', self.folder / 'out', *words, *sigma, '--json', code=0).stdout
            self.assertEqual(objects.count('sigma has no effect'), 3, 'each image for itself')
        self.assert_single_images_have_it(words)

    def assert_single_images_have_it(self, words):
        said = run('denoise', self.folder / 'in/a.png', self.folder / 'out.png', *words).stdout
        self.assertRegex(said, r'sigma has no effect.* \(the image.s noise is about 0\.\d+\)')


    def test_an_image_of_one_row_or_column_needs_none(self):
        """It is too small to find the noise in."""
        dncnn = ('--network', 'dncnn', '--weights', 'seed:1', '--allow-untrained', '--device', 'cpu')
        for width, height in ((40, 1), (1, 40)):
            photo, out = self.write('line.png', png(width, height, 1, value=noise)), self.folder / 'out.png'
            said = run('denoise', photo, out, *dncnn, code=0).stdout
            self.assertRegex(said, r'sigma has no effect')
            self.assertNotIn('noise is about', said)
            self.assertTrue(out.exists())
            self.assertIn('sigma has no effect', run('denoise', photo, out, *dncnn, '--dry-run', code=0).stdout)
            self.assert_refused(run('denoise', photo, out, *dncnn, '--trained-sigma', '0.1'), 2, 'line.png', 'too small', '--sigma')


class Samples(program.ProgramTest):
    GRAY = ('--network', 'dncnn', '--weights', 'seed:1', '--allow-untrained', *FAST[:6], *FAST[8:])

    def write_samples(self, name, scale, descr='<f4'):
        """The file, and its highest sample."""
        samples = [scale * noise(i % 40, i // 40, 0) for i in range(1600)]
        return self.write(name, npy(samples, (40, 40), descr)), max(samples)

    def test_those_far_outside_0_to_1_are_named(self):
        photo, highest = self.write_samples('range.npy', 1)
        out, words = self.folder / 'out.npy', (f'0 to {highest:.0f}', '[0, 1]', '--range')
        refused = run('denoise', photo, out, *self.GRAY)
        self.assert_refused(refused, 2, 'range.npy', *words)
        self.assertNotIn('--sigma', refused.stderr, 'a level in [0, 1] would be none of such samples')
        result = run('denoise', photo, out, *self.GRAY, '--sigma', '0.1')
        for word in ('note: ', *words):
            self.assertIn(word, result.stdout, result.stderr)

    def test_of_16_bits_that_use_a_quarter_of_them_at_most_are_named(self):
        """A dark photograph is brighter than that somewhere."""
        for scale, advice in ((1, '--range 0:255'), (16, '--range 0:4095'), (64, '--range 0:16383'), (70, ''), (257, '')):
            photo, highest = self.write_samples('in.npy', scale, '<u2')
            said = run('denoise', photo, self.folder / 'out.npy', *self.GRAY, '--sigma', '0.1').stdout
            self.assertEqual(f'samples up to {highest} of 65535: {advice} ' in said, bool(advice), said)
            self.assertEqual('samples up to' in said, bool(advice), said)
        photo, _ = self.write_samples('in.npy', 16, '<u2')
        said = run('denoise', photo, self.folder / 'out.npy', *self.GRAY, '--range', '0:4095', '--sigma', '100').stdout
        self.assertNotIn('samples up to', said)

    def test_noise_below_the_least_that_a_network_is_told_is_named(self):
        """In 16 bits 0.0001 is 6.55 steps."""
        source = random.Random(5)
        for steps, highest, named in ((3, 250, True), (9, 250, False), (3, 60000, False)):
            samples = [round(highest / 2 + highest / 3 * math.sin(i % 96 / 20) + source.gauss(0, steps)) for i in range(96 * 96)]
            dim = self.write('dim.npy', npy(samples, (96, 96), '<u2'))
            said = run('denoise', dim, self.folder / 'out.npy', '--device', 'cpu', code=0).stdout
            self.assertEqual(bool(re.search(r'the noise is about \S+e-05 of the range, and networks are told 0.0001 at least', said)),
                             named, said)

    def test_an_output_that_is_darker_than_its_input_is_named(self):
        """Weights of a network that gives the image, read as one that gives the noise: black, and verified."""
        weights = self.write('direct.safetensors', program.identity_network())
        photo = self.write('photo.png', png(64, 48, value=noise))
        words = (photo, self.folder / 'out.png', '--device', 'cpu', '--sigma', '0.1')
        for ranks in (0, 2):
            said = run('denoise', *words, '--weights', weights, ranks=ranks, code=0).stdout
            self.assertRegex(said, r'note: the output is 0\.[45]\d* of the range darker than the input')
        for more in (('--network', 'dncnn'), ('--weights', 'seed:1', '--allow-untrained', '--network', 'unet')):
            self.assertNotIn('than the input', run('denoise', *words, *more, code=0).stdout)
        samples = [1e6 if i % 64 == 0 else noise(i % 48, i // 48, 0) / 255 for i in range(48 * 48)]
        hot = self.write('hot.npy', npy(samples, (48, 48), '<f4'))
        said = run('denoise', hot, self.folder / 'out.npy', '--device', 'cpu', '--sigma', '0.1', '--range=0:1').stdout
        self.assertNotIn('than the input', said, 'a few samples far outside do not decide')
        out = self.folder / 'bench'
        run('bench', '--weights', weights, '--image', photo, '--device', 'cpu', '--stop-max-reps', 1, '--out', out, code=0)
        self.assertIn('darker than the input', json.dumps(program.points(out)[0]['summary']['notes']))

    def test_in_a_folder_their_file_is_named_once(self):
        (self.folder / 'in').mkdir()
        photo, _ = self.write_samples('in/range.npy', 1)
        self.write_samples('in/unit.npy', 1 / 255)
        result = run('denoise', photo.parent, self.folder / 'out', *self.GRAY, code=1)
        line, = (line for line in result.stdout.splitlines() if 'range.npy' in line)
        self.assertEqual(line.count('range.npy'), 1, line)
        self.assertIn('[0, 1]', line)
        self.assertTrue((self.folder / 'out/unit.npy').exists(), result.stdout)


class Refusals(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.photo = self.write('photo.png', png(40, 40))

    def refused(self, *arguments, words, code=2, ranks=0):
        self.assert_refused(run('denoise', *arguments, ranks=ranks), code, *words)
        self.assertFalse((self.folder / 'out.png').exists())

    def test_inputs(self):
        out = self.folder / 'out.png'
        self.assertNotIn('\x1b', run('denoise', self.folder / 'a\x1b[2Jb.png', out).stderr, 'a name does not steer the terminal')
        self.refused(self.folder / 'none.png', out, words=['none.png'])
        self.refused(self.write('empty.png', b''), out, words=['empty.png'])
        self.refused(self.write('text.png', b'hello, world'), out, words=['text.png'])
        self.refused(self.write('cut.png', self.photo.read_bytes()[:300]), out, words=['cut.png'])

    def test_outputs(self):
        self.refused(self.photo, self.photo, words=['input'])
        self.refused(self.photo, self.folder / 'no/such/out.png', words=['no/such'])
        self.refused(self.photo, self.folder / 'out.xyz', words=['.xyz'])
        self.refused(self.photo, '/dev/full', words=['/dev/full'])

    def test_no_output_replaces_an_input_of_the_same_call(self):
        for name in ('a', 'b'):
            (self.folder / name).mkdir()
        second = self.write('b/2.png', png(40, 40))
        (self.folder / 'a/1.png').symlink_to('../b/1.png')
        first = self.write('b/1.png', self.photo.read_bytes())
        self.refused(self.folder / 'a/1.png', second, self.folder / 'b', words=['1.png'])
        self.refused(self.photo, first, self.folder / 'b', words=['1.png'])
        weights = self.write('w.png', (program.REPOSITORY / 'models/dncnn_color_sigma0.1.safetensors').read_bytes())
        before = weights.read_bytes()
        self.refused(self.photo, weights, '--weights', weights, words=['w.png'])
        self.assertEqual(weights.read_bytes(), before)

    def test_samples_that_are_no_numbers(self):
        image = self.write('inf.npy', npy([0.5] * 100 + [math.inf] + [0.5] * 91, (8, 8, 3), '<f4'))
        self.refused(image, self.folder / 'out.npy', '--sigma', '0.1', words=['inf.npy', 'row 4, column 1, channel 1'])

    def test_options(self):
        out = self.folder / 'out.png'
        self.refused(self.photo, out, '--weights', 'seed:1', words=['untrained'])
        self.refused(self.photo, out, '--network', 'drunet', '--weights', program.REPOSITORY / 'models/dncnn_color_sigma0.1.safetensors',
                     words=['dncnn'], ranks=2)
        for sigma in ('7', '1e-300', 'nan', '25/', ''):
            self.refused(self.photo, out, '--sigma', sigma, words=['--sigma', '--range'])
        self.refused(self.photo, out, '--threads', '4096', '--device', 'cpu', '--sigma', '0.1', words=['threads'])
        self.refused(self.photo, out, '--dtype', 'fp16', '--device', 'cpu', '--sigma', '0.1', words=['fp16'])
        self.refused(self.photo, out, '--halo', 'wide', words=['--halo', "'wide'", 'none, exact, carried, exchanged or auto'])
        for option, wrong in (('patch', '0'), ('patch', '1.5'), ('batch', '0'), ('dtype', 'fp8'), ('network', 'none'),
                              ('add-noise', '1.5'), ('raw', '8x9'), ('memory-limit-mib', '-1'), ('verify', '-1'),
                              ('verify', '1/2'), ('compress', 'zip'), ('output', 'checksum'), ('engine', 'timed')):
            self.refused(self.photo, out, f'--{option}', wrong, words=[f'--{option}', wrong])

    def test_weights(self):
        out = self.folder / 'out.png'
        good = (program.REPOSITORY / 'models/dncnn_color_sigma0.1.safetensors').read_bytes()
        self.refused(self.photo, out, '--weights', self.write('cut.safetensors', good[:100000]), words=['cut.safetensors'])
        hostile = b'\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R.'
        self.refused(self.photo, out, '--weights', self.write('hostile.pth', hostile), words=['hostile.pth'])


if __name__ == '__main__':
    program.main()
