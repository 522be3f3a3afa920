"""PSNR against an image without noise (denoise --clean), beside NumPy's of the files."""
import re

from readers import denoise  # first: it makes the packages below known

import cv2
import numpy
import program
import tifffile

GRAY = ('--network', 'dncnn', '--weights', 'seed:1', '--allow-untrained')
FULL = 65535


def scene(*shape):
    """Values in [0.2, 0.8]."""
    places = numpy.meshgrid(*(numpy.arange(extent) for extent in shape), indexing='ij')
    return 0.5 + 0.3 * numpy.sin(sum((7 + i) * axis for i, axis in enumerate(places)) / 40)


def with_noise(clean, seed=1):
    return numpy.clip(clean + numpy.random.default_rng(seed).normal(0, 0.05, clean.shape), 0, 1)


def psnr(image, clean):
    return -10 * numpy.log10(numpy.mean(numpy.square(numpy.clip(image, 0, 1) - numpy.clip(clean, 0, 1))))


def ssim(image, clean):
    """Of gray images in [0, 1]: the mean over all windows inside, Gaussian with sigma 1.5 (Wang et al. 2004)."""
    def mean(values):
        return cv2.GaussianBlur(values, (11, 11), 1.5)[5:-5, 5:-5]

    a, b = image.astype(numpy.float64), clean.astype(numpy.float64)
    mean_a, mean_b = mean(a), mean(b)
    variances = mean(a * a) - mean_a ** 2 + mean(b * b) - mean_b ** 2
    covariance = mean(a * b) - mean_a * mean_b
    return numpy.mean((2 * mean_a * mean_b + 1e-4) * (2 * covariance + 9e-4) /
                      ((mean_a ** 2 + mean_b ** 2 + 1e-4) * (variances + 9e-4)))


class Quality(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.noisy, self.clean, self.out = (self.folder / name for name in ('noisy.tif', 'clean.tif', 'out.tif'))

    def told(self, *arguments, ranks=2):
        """The PSNR of noisy and denoised image in each line."""
        self.said = said = denoise(self.noisy, self.out, *GRAY, '--clean', self.clean, *arguments, ranks=ranks)
        return [tuple(map(float, pair)) for pair in re.findall(r'PSNR (\S+) -> (\S+) dB', said)]

    def assert_near(self, told, *expected):
        numpy.testing.assert_allclose(told, expected, atol=0.006)

    def test_of_an_image(self):
        clean = scene(70, 61, 3)
        noisy = numpy.round(FULL * with_noise(clean)).astype(numpy.uint16)
        tifffile.imwrite(self.noisy, noisy, photometric='rgb')
        tifffile.imwrite(self.clean, clean.astype(numpy.float32), photometric='rgb')
        for output in ('memory', 'file'):
            told = self.told('--output', output)
            self.assert_near(told, (psnr(noisy / FULL, clean), psnr(tifffile.imread(self.out) / FULL, clean)))

    def test_of_samples_with_a_range_and_gaps_of_either_file(self):
        clean = (1000 * scene(64, 80)).astype(numpy.float32)
        noisy = (1000 * with_noise(clean / 1000)).astype(numpy.float32)
        noisy[3:9, 5] = clean[40, 11:17] = -1
        tifffile.imwrite(self.noisy, noisy)
        tifffile.imwrite(self.clean, clean)
        known = (noisy >= 0) & (clean >= 0)
        for output in ('memory', 'file'):
            told = self.told('--range', '0:1000', '--nodata=-1', '--output', output)
            self.assert_near(told, tuple(psnr(image[known] / 1000, clean[known] / 1000) for image in (noisy, tifffile.imread(self.out))))
        told = self.told('--range', 'auto', '--nodata=-1')
        low, high = map(float, re.search(r'range (\S+):(\S+),', self.said).groups())
        self.assertTrue(0 < low < 200 and 800 < high < 1000, self.said)
        self.assert_near(told, tuple(psnr((image[known] - low) / (high - low), (clean[known] - low) / (high - low))
                                     for image in (noisy, tifffile.imread(self.out))))

    def test_of_an_image_of_many_rows(self):
        clean = numpy.round(FULL * scene(530, 40)).astype(numpy.uint16)
        noisy = numpy.round(FULL * with_noise(clean / FULL)).astype(numpy.uint16)
        tifffile.imwrite(self.noisy, noisy)
        tifffile.imwrite(self.clean, clean)
        held = self.qualities_of_study()[0]
        out = tifffile.imread(next((self.folder / 'out').glob('000-*.tif'))) / FULL
        self.assert_near((held['psnr_noisy_db'], held['psnr_denoised_db']), psnr(noisy / FULL, clean / FULL), psnr(out, clean / FULL))
        numpy.testing.assert_allclose((held['ssim_noisy'], held['ssim_denoised']),
                                      (ssim(noisy / FULL, clean / FULL), ssim(out, clean / FULL)), rtol=1e-6)
        noisy, clean = (noisy / FULL).astype(numpy.float32), (clean / FULL).astype(numpy.float32)
        noisy[250:266, 3:30] = clean[512:520] = -1
        tifffile.imwrite(self.noisy, noisy)
        tifffile.imwrite(self.clean, clean)
        known = (noisy >= 0) & (clean >= 0)
        told = self.told('--range', '0:1', '--nodata=-1', '--output', 'memory')
        self.assert_near(told, tuple(psnr(image[known], clean[known]) for image in (noisy, tifffile.imread(self.out))))

    def test_is_of_the_samples_in_the_file(self):
        """Of 8 bits, whose rounding shows beside so little noise."""
        clean = 255 * scene(60, 64)
        noisy = numpy.round(clean + numpy.random.default_rng(1).normal(0, 0.3, clean.shape)).astype(numpy.uint8)
        tifffile.imwrite(self.noisy, noisy)
        tifffile.imwrite(self.clean, clean.astype(numpy.float32) / 255)
        for output in ('memory', 'file'):
            told = self.told('--output', output)
            self.assert_near(told, (psnr(noisy / 255, clean / 255), psnr(tifffile.imread(self.out) / 255, clean / 255)))
        tifffile.imwrite(self.clean, clean.astype(numpy.float32))
        for output in ('memory', 'file'):
            told = self.told('--output', output, '--range', '0:255')
            self.assert_near(told, (psnr(noisy / 255, clean / 255), psnr(tifffile.imread(self.out) / 255, clean / 255)))

    def test_of_raw_samples_beside_raw_ones_and_a_tiff(self):
        clean = numpy.round(FULL * scene(50, 60)).astype(numpy.uint16)
        noisy = numpy.round(FULL * with_noise(clean / FULL)).astype(numpy.uint16)
        self.noisy = self.folder / 'noisy.raw'
        noisy.tofile(self.noisy)
        tifffile.imwrite(self.folder / 'clean.tif', clean)
        clean.tofile(self.folder / 'clean.raw')
        for name in ('clean.tif', 'clean.raw'):
            self.clean = self.folder / name
            told = self.told('--raw', '50x60x1:u16')
            self.assert_near(told, (psnr(noisy / FULL, clean / FULL), psnr(tifffile.imread(self.out) / FULL, clean / FULL)))

    def test_what_speaks_against_the_clean_image_is_said(self):
        clean = scene(40, 40)
        noisy = numpy.round(FULL * with_noise(clean)).astype(numpy.uint16)
        tifffile.imwrite(self.noisy, noisy)
        for values, is_doubtful in ((clean, False), (255 * clean, True), (clean[::-1], True)):
            tifffile.imwrite(self.clean, values.astype(numpy.float32))
            (_, after), = self.told('--output', 'memory')
            self.assertEqual(after < 15, is_doubtful)
            self.assertEqual('a PSNR below 15 dB' in self.said, is_doubtful, self.said)
        tifffile.imwrite(self.clean, clean.astype(numpy.float32), extratags=[(274, 'H', 1, 3, True)])
        refused = program.run('denoise', self.noisy, self.out, '--clean', self.clean, *GRAY, code=2)
        self.assertRegex(refused.stderr, r'orientation 3 \(EXIF\), but \S*noisy.tif has')

    def test_of_images_without_common_data_there_is_none(self):
        clean, noisy = scene(40, 40).astype(numpy.float32), with_noise(scene(40, 40)).astype(numpy.float32)
        noisy[:20] = clean[20:] = -1
        for output in ('memory', 'file'):
            tifffile.imwrite(self.noisy, noisy)
            tifffile.imwrite(self.clean, clean)
            self.assertEqual(self.told('--range', '0:1', '--nodata=-1', '--output', output), [])
            self.assertIn('no PSNR: no sample has data in the image and in the clean one', self.said)
        tifffile.imwrite(self.noisy, numpy.stack([noisy, noisy]), photometric='minisblack')
        tifffile.imwrite(self.clean, numpy.stack([clean, scene(40, 40).astype(numpy.float32)]), photometric='minisblack')
        (before, after), = self.told('--range', '0:1', '--nodata=-1')
        self.assertTrue(20 < before < 40 and 5 < after < 60, self.said)

    def qualities_of_study(self):
        study = self.write('study.yaml', f'image: {{path: {self.noisy}, clean: {self.clean}, noise_sigma: 0}}\nnetwork: dncnn\n'
                           'weights: seed:1\nsigma: 0.05\noutput: [memory, file]\nwarmup: {reps: 0}\n'
                           'stop: {min_reps: 1, max_reps: 1}\n')
        program.run('run', study, '--out', self.folder / 'out', code=0)
        return [point['quality'] for point in program.points(self.folder / 'out')]

    def test_of_samples_that_most_would_be_clipped_there_is_none_in_a_study(self):
        clean, noisy = scene(40, 40).astype(numpy.float32), with_noise(scene(40, 40)).astype(numpy.float32)
        for height, has_quality in ((40, False), (19, True)):
            noisy[:height] += 100
            clean[:height] += 100
            tifffile.imwrite(self.noisy, noisy)
            tifffile.imwrite(self.clean, clean)
            self.assertEqual([quality is not None for quality in self.qualities_of_study()], 2 * [has_quality])
            study = self.folder / 'study.yaml'
            study.write_text(study.read_text().replace(f'clean: {self.clean}, noise_sigma: 0', 'noise_sigma: 0.1'))
            said = program.run('run', study, '--out', self.folder / 'added').stdout
            self.assertEqual('no PSNR: no sample has data, or most are far outside' in said, not has_quality, said)
            noisy[:height] -= 100
            clean[:height] -= 100

    def test_that_it_fell_is_said(self):
        clean = scene(60, 70)
        noisy = numpy.round(4095 * with_noise(clean)).astype(numpy.uint16)
        tifffile.imwrite(self.noisy, noisy)
        tifffile.imwrite(self.clean, numpy.round(4095 * clean).astype(numpy.uint16))
        for network in ((), ('--trained-sigma', '0.1')):
            (before, after), = self.told(*network)
            self.assertLess(after, before)
            self.assertIn(f'denoising made the image worse: PSNR fell from {before:.2f} to {after:.2f} dB; check --', self.said)
            self.assertEqual('check --sigma' in self.said, bool(network))
        tifffile.imwrite(self.noisy, numpy.round(FULL * with_noise(clean)).astype(numpy.uint16))
        tifffile.imwrite(self.clean, numpy.round(FULL * clean).astype(numpy.uint16))
        said = denoise(self.noisy, self.out, '--clean', self.clean, ranks=1)  # by a trained network
        before, after = map(float, re.search(r'PSNR (\S+) -> (\S+) dB', said).groups())
        self.assertGreater(after, before)
        self.assertNotIn('worse', said)

    def test_of_floats_far_outside_0_to_1_there_is_none(self):
        """Clipped, nearly all would be 1 in both files."""
        clean = (1000 * scene(60, 70)).astype(numpy.float32)
        noisy = (1000 * with_noise(scene(60, 70))).astype(numpy.float32)
        for output in ('memory', 'file'):
            tifffile.imwrite(self.noisy, noisy)
            tifffile.imwrite(self.clean, clean)
            self.assertEqual(self.told('--output', output), [])
            self.assertRegex(self.said, r'note: no PSNR: .*--range')
            told = self.told('--output', output, '--range', '0:1000')
            self.assert_near(told, tuple(psnr(image / 1000, clean / 1000) for image in (noisy, tifffile.imread(self.out))))
            self.assertNotIn('no PSNR', self.said)
        tifffile.imwrite(self.noisy, numpy.stack([noisy / 1000, noisy]), photometric='minisblack')
        tifffile.imwrite(self.clean, numpy.stack([clean / 1000, clean]), photometric='minisblack')
        self.assertEqual(self.told(), [])
        self.assertRegex(self.said, r'note: no PSNR: .*--range')

    def test_of_floats_that_noise_takes_outside_0_to_1(self):
        clean = 1.7 * (scene(60, 70) - 0.5) + 0.5
        noisy = (clean + numpy.random.default_rng(1).normal(0, 0.05, clean.shape)).astype(numpy.float32)
        self.assertTrue(noisy.min() < 0 and noisy.max() > 1)
        tifffile.imwrite(self.noisy, noisy)
        tifffile.imwrite(self.clean, clean.astype(numpy.float32))
        self.assert_near(self.told(), (psnr(noisy, clean), psnr(tifffile.imread(self.out), clean)))

    def test_of_a_stack(self):
        clean = scene(4, 60, 70)
        shares = numpy.array([1, 0.1, 0.4, 0]).reshape(4, 1, 1)  # of the noise: the mean of the pages' dB would be infinite
        noisy = numpy.round(FULL * (clean + shares * (with_noise(clean) - clean))).astype(numpy.uint16)
        clean = numpy.round(FULL * clean) / FULL
        tifffile.imwrite(self.noisy, noisy, photometric='minisblack')
        tifffile.imwrite(self.clean, numpy.round(FULL * clean).astype(numpy.uint16), photometric='minisblack')
        told = self.told()
        out = tifffile.imread(self.out) / FULL
        self.assert_near(told, tuple(psnr(images, clean) for images in (noisy / FULL, out)))
        told = self.told('--pages', '0-1')
        out = tifffile.imread(self.out) / FULL
        self.assert_near(told, tuple(psnr(images, clean[:2]) for images in (noisy[:2] / FULL, out)))

    def test_of_a_stack_with_gaps_is_that_of_its_data(self):
        clean = scene(3, 60, 70).astype(numpy.float32)
        shares = numpy.array([1, 0.1, 0.4]).reshape(3, 1, 1)
        noisy = (clean + shares * (with_noise(clean) - clean)).astype(numpy.float32)
        noisy[0, :50] = clean[1, 20:] = -1
        tifffile.imwrite(self.noisy, noisy, photometric='minisblack')
        tifffile.imwrite(self.clean, clean, photometric='minisblack')
        told = self.told('--range', '0:1', '--nodata=-1')
        known = (noisy >= 0) & (clean >= 0)
        self.assert_near(told, tuple(psnr(images[known], clean[known]) for images in (noisy, tifffile.imread(self.out))))

    def test_of_bands(self):
        clean = scene(50, 60, 6)
        noisy = with_noise(clean).astype(numpy.float32)
        self.noisy, self.clean, self.out = (file.with_suffix('.npy') for file in (self.noisy, self.clean, self.out))
        numpy.save(self.noisy, noisy)
        numpy.save(self.clean, clean.astype(numpy.float32))
        told = self.told('--bands', '3')
        out = numpy.load(self.out)
        groups = (slice(0, 3), slice(3, 6))
        self.assert_near(told, *((psnr(noisy[..., group], clean[..., group]), psnr(out[..., group], clean[..., group])) for group in groups))

    def test_of_an_image_without_noise(self):
        for file in (self.noisy, self.clean):
            tifffile.imwrite(file, numpy.full((40, 40), 99, numpy.uint8))
        self.assertEqual(self.told()[0][0], float('inf'))


if __name__ == '__main__':
    program.main()
