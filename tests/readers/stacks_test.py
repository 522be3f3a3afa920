"""TIFF stacks that tifffile writes, through denoise and read back by tifffile: pixels, axes and metadata."""
import json
import re

from readers import denoise  # first: it makes the packages below known

import numpy
import program
import tifffile

GRAY = ('--network', 'dncnn', '--weights', 'seed:1', '--allow-untrained')
LABELS = [f'plane {i}' for i in range(12)]


def scene(*shape, dtype=numpy.uint16):
    """Planes that differ from each other, in the middle of the range."""
    noise = numpy.random.default_rng(2).normal(0, 0.02, shape)
    y, x = numpy.mgrid[:shape[-2], :shape[-1]] if shape[-1] > 4 else numpy.mgrid[:shape[-3], :shape[-2]]
    smooth = 0.5 + 0.2 * numpy.sin(x / 9) * numpy.cos(y / 7)
    smooth = smooth if shape[-1] > 4 else smooth[..., None]
    brightness = numpy.linspace(-0.1, 0.1, int(numpy.prod(shape[:-2 if shape[-1] > 4 else -3])))
    brightness = brightness.reshape(shape[:-2 if shape[-1] > 4 else -3] + (1,) * (smooth.ndim))
    return ((smooth + brightness + noise) * numpy.iinfo(dtype).max).astype(dtype)


class Stacks(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.file = self.folder / 'in.ome.tif'
        self.out = self.folder / 'out.ome.tif'

    def refusal(self, *arguments, ranks=2):
        result = program.run('denoise', *arguments, '--device', 'cpu', *GRAY, ranks=ranks, code=2)
        self.assertEqual([file.name for file in self.folder.iterdir() if file.name.startswith(('out', '.out'))], [])
        return result.stderr

    def assert_pages_are_denoised_as_images(self, images, denoised, numbers, *more):
        """Each as a file of its own, byte for byte."""
        for number in numbers:
            tifffile.imwrite(self.folder / 'page.tif', images[number], metadata=None)
            denoise(self.folder / 'page.tif', self.folder / 'single.tif', *GRAY, *more, ranks=1)
            numpy.testing.assert_array_equal(tifffile.imread(self.folder / 'single.tif'), denoised[number], err_msg=f'page {number}')

    def test_forty_planes_of_ome(self):
        planes = scene(5, 4, 2, 70, 60)
        metadata = {'axes': 'TZCYX', 'PhysicalSizeX': 0.325, 'PhysicalSizeXUnit': 'µm', 'TimeIncrement': 0.5,
                    'Channel': {'Name': ['DAPI', 'GFP']}}
        tifffile.imwrite(self.file, planes, metadata=metadata, compression='zlib', resolution=(30769.2, 30769.2), resolutionunit='CENTIMETER')
        said = denoise(self.file, self.out, *GRAY, ranks=2)
        self.assertIn('40 pages', said)
        self.assertEqual(said.count(' -> '), 1, said)
        with tifffile.TiffFile(self.file) as before, tifffile.TiffFile(self.out) as after:
            self.assertTrue(after.is_ome)
            self.assertEqual(after.ome_metadata, before.ome_metadata)
            self.assertEqual((after.series[0].axes, after.series[0].shape), ('TZCYX', planes.shape))
            self.assertEqual(len(after.series), 1)
            self.assertEqual(after.pages[0].compression.name, 'ADOBE_DEFLATE')
            for name in ('XResolution', 'YResolution'):
                ours, theirs = (file.pages[0].tags[name].value for file in (after, before))
                self.assertAlmostEqual(ours[0] / ours[1], theirs[0] / theirs[1], places=1)
            self.assertEqual(after.pages[0].tags['ResolutionUnit'].value, 3)
            self.assertEqual({page.dtype.name for page in after.pages}, {'uint16'})
            denoised = after.asarray().reshape(40, 70, 60)
        self.assert_pages_are_denoised_as_images(planes.reshape(40, 70, 60), denoised, (0, 1, 17, 39))
        alone = self.folder / 'alone.ome.tif'
        denoise(self.file, alone, *GRAY, ranks=1)
        self.assertEqual(alone.read_bytes(), self.out.read_bytes())

    def test_a_hyperstack_of_imagej(self):
        planes = scene(3, 4, 70, 60)
        lookup = numpy.tile(numpy.arange(256, dtype=numpy.uint8), (3, 1))
        tifffile.imwrite(self.file, planes, imagej=True, byteorder='>', resolution=(3.0769, 3.0769),
                         metadata={'axes': 'TZYX', 'unit': 'um', 'spacing': 2.5, 'finterval': 0.1, 'Labels': LABELS, 'LUTs': [lookup]})
        for order in ('big', 'little'):
            with self.subTest(order=order):
                if order == 'little':
                    tifffile.imwrite(self.file, planes, imagej=True, byteorder='<', metadata={'axes': 'TZYX', 'Labels': LABELS})
                denoise(self.file, self.out, *GRAY, ranks=2)
                with tifffile.TiffFile(self.file) as before, tifffile.TiffFile(self.out) as after:
                    self.assertTrue(after.is_imagej)
                    ours, theirs = after.imagej_metadata, before.imagej_metadata
                    self.assertEqual(ours.keys(), theirs.keys())
                    self.assertEqual(ours['Labels'], LABELS)
                    numpy.testing.assert_equal(ours, theirs)
                    self.assertEqual((after.series[0].axes, after.series[0].shape), ('TZYX', planes.shape))
                    for name in ('XResolution', 'ResolutionUnit'):
                        numpy.testing.assert_allclose(after.pages[0].tags[name].value if name != 'XResolution' else
                                                      numpy.divide(*after.pages[0].tags[name].value),
                                                      before.pages[0].tags[name].value if name != 'XResolution' else
                                                      numpy.divide(*before.pages[0].tags[name].value), rtol=1e-6)
                    denoised = after.asarray().reshape(12, 70, 60)
                self.assert_pages_are_denoised_as_images(planes.reshape(12, 70, 60), denoised, (0, 11))

    def test_two_small_images_of_imagej(self):
        planes = scene(2, 70, 60)
        tifffile.imwrite(self.file, planes, imagej=True, metadata={'axes': 'ZYX', 'Labels': ['a' * 3000, 'b' * 3000]})
        denoise(self.file, self.out, *GRAY, ranks=2)
        with tifffile.TiffFile(self.out) as after:
            self.assertEqual((after.series[0].axes, after.series[0].shape), ('ZYX', planes.shape))
            self.assert_pages_are_denoised_as_images(planes, after.asarray(), (0, 1))

    def test_its_quality_is_one_figure(self):
        planes = scene(4, 70, 60)
        tifffile.imwrite(self.file, planes, photometric='minisblack')
        noise = ('--add-noise', '0.1')
        db = [float(number) for number in re.search(r'PSNR (\S+) -> (\S+)', denoise(self.file, self.out, *GRAY, *noise, ranks=1)).groups()]
        self.assertTrue(all(10 < number < 60 for number in db), db)
        said = program.run('denoise', self.file, self.out, '--json', *GRAY, *noise, code=0).stdout
        stack, total = map(json.loads, said.splitlines())
        self.assertEqual((stack['pages'], stack['page'], stack['input']), (4, None, str(self.file)))
        numpy.testing.assert_allclose([stack['psnr_noisy_db'], stack['psnr_denoised_db']], db, atol=0.006)
        self.assertEqual(total['denoised'], 1)

    def test_a_stack_of_tifffile_with_one_directory(self):
        planes = scene(5, 70, 60)
        shaped, out = self.folder / 'shaped.tif', self.folder / 'out.tif'
        tifffile.imwrite(shaped, planes, photometric='minisblack', truncate=True)
        denoise(shaped, out, *GRAY, ranks=2)
        with tifffile.TiffFile(shaped) as before, tifffile.TiffFile(out) as after:
            self.assertEqual((len(before.pages), len(after.pages)), (1, 5))
            self.assertEqual((after.series[0].axes, after.series[0].shape), (before.series[0].axes, planes.shape))
            self.assert_pages_are_denoised_as_images(planes, after.asarray(), (0, 4))

    def test_a_stack_of_ome_with_one_directory(self):
        planes = scene(6, 70, 60)
        tifffile.imwrite(self.file, planes, photometric='minisblack', truncate=True, metadata={'axes': 'ZYX'})
        denoise(self.file, self.out, *GRAY, ranks=2)
        with tifffile.TiffFile(self.file) as before, tifffile.TiffFile(self.out) as after:
            self.assertEqual((len(before.pages), len(after.pages)), (1, 6))
            self.assertEqual((after.is_ome, after.series[0].axes, after.series[0].shape), (True, 'ZYX', planes.shape))
            self.assert_pages_are_denoised_as_images(planes, after.asarray(), (0, 5))

    def test_what_is_not_kept_is_that_of_any_page(self):
        with tifffile.TiffWriter(self.file) as tiff:
            for number, plane in enumerate(scene(3, 70, 60)):
                tags = [(65001 + number, 's', 0, 'x', True)] if number > 0 else []
                tiff.write(plane, photometric='minisblack', metadata=None, contiguous=False, extratags=tags)
        said = denoise(self.file, self.out, *GRAY, ranks=1)
        self.assertRegex(said, r'not kept: .*tag 65002, tag 65003\n')

    def test_the_positions_of_pages_below_zero_are_named_whole(self):
        with tifffile.TiffWriter(self.file) as tiff:
            for plane, y in zip(scene(2, 70, 60), (-2, -3)):
                tags = [(number, '2i', 1, (value, 1), True) for number, value in ((286, -1), (287, y))]
                tiff.write(plane, photometric='minisblack', metadata=None, contiguous=False, extratags=tags)
        said = denoise(self.file, self.out, *GRAY, ranks=1)
        self.assertRegex(said, r'not kept: .*position \(-1; -2\), position \(-1; -3\)\n')

    def test_an_imagej_stack_with_one_directory(self):
        planes = scene(3, 70, 60)
        tifffile.imwrite(self.folder / 'first.tif', planes[0], byteorder='>', metadata=None,
                         description='ImageJ=1.54f\nimages=3\nslices=3\nloop=false\n')
        self.file.write_bytes((self.folder / 'first.tif').read_bytes() + planes[1:].astype('>u2').tobytes())
        numpy.testing.assert_array_equal(tifffile.imread(self.file), planes)
        denoise(self.file, self.out, *GRAY, ranks=2)
        with tifffile.TiffFile(self.out) as after:
            self.assertEqual((after.series[0].axes, after.series[0].shape), ('ZYX', planes.shape))
            self.assert_pages_are_denoised_as_images(planes, after.asarray(), (0, 2))

    def test_colour_pages_and_a_described_shape(self):
        pages = scene(4, 70, 60, 3, dtype=numpy.uint8)
        tifffile.imwrite(self.file, pages, photometric='rgb')
        said = denoise(self.file, self.out, '--compress', 'lzw', ranks=2)
        with tifffile.TiffFile(self.out) as after:
            self.assertEqual(after.series[0].shape, pages.shape)
            self.assertEqual(after.pages[3].compression.name, 'LZW')
        self.assertNotIn('ImageDescription', said)

    def test_by_bands_it_has_one_line(self):
        tifffile.imwrite(self.file, scene(6, 40, 36).reshape(2, 40, 36, 3), photometric='rgb', metadata=None)
        said = program.run('denoise', self.file, self.out, '--bands', '1', '--sigma', '0.1', '--halo', '8', '--device', 'cpu', *GRAY, code=0).stdout
        self.assertRegex(said, r'in\.ome\.tif, 2 pages -> ')
        self.assertEqual(said.count('height x width'), 1, said)

    def test_chosen_pages(self):
        planes = scene(5, 70, 60)
        tifffile.imwrite(self.file, planes, photometric='minisblack', metadata={'axes': 'ZYX'})
        denoise(self.file, self.out, *GRAY, ranks=2)
        whole = tifffile.imread(self.out)
        said = denoise(self.file, self.folder / 'some.tif', '--pages', '0-1,4', *GRAY, ranks=2)
        self.assertIn('3 pages', said)
        self.assertRegex(said, 'not kept: .*ImageDescription')
        numpy.testing.assert_array_equal(tifffile.imread(self.folder / 'some.tif'), whole[[0, 1, 4]])
        said = denoise(self.file, self.folder / 'others.tif', '--pages', '1,4', *GRAY, ranks=2)
        self.assertEqual(said.count('ImageDescription (only some pages are taken)'), 1, said)
        for how in ('memory', 'file'):
            denoise(self.file, self.folder / 'one.tif', '--pages', '3', '--output', how, *GRAY, ranks=2)
            with tifffile.TiffFile(self.folder / 'one.tif') as one:
                self.assertFalse(one.is_ome)
                numpy.testing.assert_array_equal(one.asarray(), whole[3])
        self.out.unlink()
        for pages in ('5', '0-5'):
            self.assertIn('page 5', self.refusal(self.file, self.out, '--pages', pages))
        for pages in ('2,1', '2,2', '1-', '', '-1', '3-2', '1,,2'):
            self.assertIn('--pages', self.refusal(self.file, self.out, f'--pages={pages}'))

    def test_a_dry_run_counts_its_pages(self):
        tifffile.imwrite(self.file, scene(5, 70, 60), photometric='minisblack', metadata={'axes': 'ZYX'})
        tflop = []
        for pages in ('all', '3', '0,4'):
            said = denoise(self.file, self.out, '--pages', pages, '--dry-run', *GRAY)
            self.assertEqual('of 5 pages, each as the first one' in said, pages == 'all', said)
            tflop.append(float(re.search(r'predicted: ([\d.e-]+) TFLOP', said)[1]))
        numpy.testing.assert_allclose(tflop, [5 * tflop[1], tflop[1], 2 * tflop[1]], rtol=1e-3)
        said = [program.run('denoise', self.file, self.out, '--range', 'auto', '--halo', '8', *GRAY, *more, code=0).stdout
                for more in ((), ('--dry-run',))]
        self.assertEqual(*(re.search(r'range (\S+),', text)[1] for text in said))
        self.out.unlink()
        self.assertFalse(self.out.exists())
        self.assertIn('a stack has several pages', self.refusal(self.file, self.folder / 'out.png', '--dry-run'))

    def test_chosen_pages_of_imagej_keep_their_unit(self):
        planes = scene(5, 70, 60)
        tifffile.imwrite(self.file, planes, imagej=True, resolution=(5, 5), metadata={'axes': 'ZYX', 'unit': 'um', 'spacing': 0.5})
        for pages, spacing in (('1-3', 0.5), ('0,2,4', None)):
            said = denoise(self.file, self.out, '--pages', pages, *GRAY, ranks=2)
            self.assertEqual('spacing (only some pages are taken)' in said, spacing is None, said)
            with tifffile.TiffFile(self.out) as some:
                self.assertEqual((some.series[0].axes, some.series[0].shape), ('ZYX', (3, 70, 60)))
                self.assertEqual((some.imagej_metadata['unit'], some.imagej_metadata.get('spacing')), ('um', spacing))
                self.assertEqual(some.pages[0].resolution, (5, 5))
            self.out.unlink()

    def test_one_plane_of_ome(self):
        plane = scene(1, 70, 60)
        tifffile.imwrite(self.file, plane, metadata={'axes': 'ZYX', 'PhysicalSizeX': 0.3})
        denoise(self.file, self.out, *GRAY, ranks=2)
        with tifffile.TiffFile(self.file) as before, tifffile.TiffFile(self.out) as after:
            self.assertEqual(after.ome_metadata, before.ome_metadata)

    def test_pyramids_below_the_pages(self):
        planes = scene(3, 70, 60)
        with tifffile.TiffWriter(self.file, ome=True) as tiff:
            tiff.write(planes, photometric='minisblack', subifds=2, metadata={'axes': 'ZYX'})
            for level in (1, 2):
                tiff.write(planes[:, ::2**level, ::2**level], photometric='minisblack', subfiletype=1)
        said = denoise(self.file, self.out, *GRAY, ranks=2)
        self.assertIn('not kept: pyramid of 2 levels', said)
        with tifffile.TiffFile(self.out) as after:
            self.assertEqual((after.series[0].axes, after.series[0].shape), ('ZYX', planes.shape))

    def test_noise_is_found_for_each_page_and_the_range_for_all(self):
        planes = scene(3, 70, 60).astype(numpy.int32)
        planes = numpy.stack([planes[0] // 64, planes[1] // 8, planes[2] // 4]).astype(numpy.int16)
        tifffile.imwrite(self.file, planes, photometric='minisblack')
        result = program.run('denoise', self.file, self.out, '--range', 'auto', '--halo', '8', '--patch', '48', '--device', 'cpu',
                             *GRAY[2:], '--network', 'drunet', ranks=2, code=0)
        self.assertRegex(result.stdout, r'of all pages \S+ to \S+ \(0\.0\d* to 0\.0\d* of the range\)')
        low, high = numpy.percentile(planes, (0.1, 99.9))
        ours = [float(value) for value in result.stdout.split('range ')[1].split(',')[0].split(':')]
        numpy.testing.assert_allclose(ours, (low, high), rtol=0.05)

    def test_its_noise_is_told_from_the_least_to_the_most(self):
        planes = scene(4, 70, 60)
        planes = numpy.stack([plane // divisor for plane, divisor in zip(planes, (16, 64, 4, 8))])
        tifffile.imwrite(self.file, planes, photometric='minisblack', metadata=None)
        arguments = ('--range', '0:20000', '--halo', '8', '--patch', '48', '--device', 'cpu', '--network', 'drunet', *GRAY[2:])

        def said(*more):
            return program.run('denoise', self.file, self.out, *arguments, *more, code=0).stdout
        levels = [re.search(r'\((\S+) of it\)', said('--pages', str(page)))[1] for page in range(4)]
        least, most = min(levels, key=float), max(levels, key=float)
        self.assertEqual((least, most), (levels[1], levels[2]))
        found = re.search(rf'of all pages (\S+) to (\S+) \({least} to {most} of the range\)', said())
        self.assertIsNotNone(found)
        numpy.testing.assert_allclose(list(map(float, found.groups())), (20000 * float(least), 20000 * float(most)), rtol=1e-3)

    def test_its_rate_is_that_of_all_pages(self):
        tifffile.imwrite(self.file, scene(8, 140, 120), photometric='minisblack', metadata=None)
        said = denoise(self.file, self.out, *GRAY, ranks=1)
        seconds, rate = (float(number) for number in re.search(r': (\S+) s, (\S+) Mpx/s', said).groups())
        pixels = 8 * 140 * 120 / 1e6  # the seconds are rounded to hundredths
        self.assertGreaterEqual((seconds + 0.005) * rate, 0.99 * pixels)
        self.assertLessEqual((seconds - 0.005) * rate, 1.01 * pixels)
        in_network = float(re.search(r', network (\S+) s', said)[1])  # by another clock; a page has an eighth of it
        self.assertGreater(seconds + 0.005, 0.5 * in_network)

    def test_the_largest_of_its_seams_is_told(self):
        planes = scene(3, 70, 60)
        planes = numpy.stack([planes[0] // 4, planes[1], planes[2] // 2])
        tifffile.imwrite(self.file, planes, photometric='minisblack', metadata=None)
        said = program.run('denoise', self.file, self.out, '--halo', 'none', '--patch', '32', '--batch', '1', '--sigma', '0.1',
                           '--verify', '1', '--device', 'cpu', *GRAY).stdout
        self.assertIn('note: page 1: seams show', said)
        self.assertEqual(said.count('seams show'), 1, 'not that of the first page beside it')

    def test_the_page_whose_brightness_changes_most_is_told(self):
        """By the weights of a network that gives the image, read as one that gives the noise: black pages."""
        weights = self.write('direct.safetensors', program.identity_network())
        noise = numpy.random.default_rng(3).normal(0, 0.05, (3, 70, 60, 3))
        pages = (65535 * (numpy.array([0.3, 0.8, 0.5]).reshape(3, 1, 1, 1) + noise)).astype(numpy.uint16)
        tifffile.imwrite(self.file, pages, photometric='rgb', metadata=None)
        said = program.run('denoise', self.file, self.out, '--device', 'cpu', '--weights', weights, code=0).stdout
        self.assertRegex(said, r'note: page 1: the output is 0\.[78]\d* of the range darker than the input.*\(3 pages have such a note\)')
        self.assertEqual(said.count('the weights may be of another network'), 1, 'not that of the first page beside it')

    def noise_told(self, *arguments):
        """The line of a stack whose pages have noise of 0.02, 0.04 and 0.06, by a network that is told the level."""
        noise = numpy.random.default_rng(3).normal(0, 1, (3, 70, 60)) * numpy.array([0.02, 0.04, 0.06]).reshape(3, 1, 1)
        tifffile.imwrite(self.file, (4000 * (0.5 + noise)).astype(numpy.uint16), photometric='minisblack', metadata=None)
        return program.run('denoise', self.file, self.out, '--halo', '8', '--patch', '48', '--batch', '2', '--device', 'cpu',
                           *arguments).stdout

    def test_its_levels_have_the_units_of_its_line(self):
        level = r'(\d+\.?\d*)'
        first, share, low, high, least, most = map(float, re.search(
            rf'sigma {level} in its units \({level} of it\), .*; note: each page has its own sigma, here that of the first one; of all pages {level} to {level} '
            rf'\({level} to {level} of the range\)', self.noise_told('--range', '0:4000')).groups())
        self.assertEqual((first, share), (low, least))
        numpy.testing.assert_allclose((low, high, least, most), (80, 240, 0.02, 0.06), rtol=0.1)
        said = self.noise_told()
        self.assertRegex(said, rf'sigma {level}, .*; note: each page has its own sigma, here that of the first one; of all pages {level} to {level}')
        self.assertNotIn('of the range', said)

    def test_groups_of_bands_that_differ_in_range_are_one_line_of_all_bands(self):
        bands = numpy.random.default_rng(5).integers(0, 200, (2, 6, 24, 24), dtype=numpy.uint16)
        divisor = numpy.array([1, 1, 1, 100, 100, 100], numpy.uint16).reshape(6, 1, 1)
        bands[:, 3:] *= 100
        said = {}
        for in_one_unit in (True, False):
            tifffile.imwrite(self.file, bands // divisor if in_one_unit else bands,
                             photometric='minisblack', planarconfig='separate', metadata=None)
            stdout = program.run('denoise', self.file, self.out, '--bands', '3', '--range', 'auto', '--halo', '8', '--device', 'cpu', '--json', code=0).stdout
            said[in_one_unit] = json.loads(stdout.splitlines()[0])
            self.assertEqual((said[in_one_unit]['pages'], said[in_one_unit]['channels'], said[in_one_unit]['bands']), (2, 6, None))
            self.assertAlmostEqual(said[in_one_unit]['useful_mpx_per_s'] * said[in_one_unit]['pipeline_s'], 2 * 24 * 24 / 1e6)
        self.assertEqual((said[True]['range_low'], said[True]['range_high']), (0, 199))
        self.assertEqual((said[False]['range_low'], said[False]['range_high']), (None, None))
        self.assertIn('each group of bands has its own range, from 0:199 (1-3) to 0:19900 (4-6)', said[False]['notes'])
        self.assertIn('each page and group of bands has its own sigma', ' '.join(said[False]['notes']))
        self.assertNotIn('own range', ' '.join(said[True]['notes']))

    def test_a_level_that_is_not_that_of_the_noise_is_noted_in_its_units(self):
        said = self.noise_told('--range', '0:4000', '--sigma', '2', '--pages', '2')
        found, = re.search(r'the noise seems to be about (\d+\.?\d*), not 2, in the samples. units: noise may stay', said).groups()
        self.assertAlmostEqual(float(found), 240, delta=24)

    def test_a_level_that_is_not_that_of_the_noise_of_a_page_names_the_page(self):
        said = self.noise_told('--range', '0:4000', '--sigma', '60')
        self.assertRegex(said, r'note: page 2: the noise seems to be about 2\d\d\.?\d*, not 60, in the samples. units: noise may stay')
        self.assertNotIn('pages have such a note', said)
        said = self.noise_told('--range', '0:4000', '--sigma', '48')
        self.assertRegex(said, r'note: page 1: the noise seems to be about 1\d\d\.?\d*, not 48, .*\(2 pages have such a note\)')
        said = self.noise_told('--range', '0:4000', '--sigma', '2')
        self.assertRegex(said, r'note: page 0: the noise seems to be about .*\(3 pages have such a note\)')
        self.assertEqual(said.count('the noise seems'), 1)

    def test_what_is_said_of_a_level_that_has_no_effect_names_no_page(self):
        tifffile.imwrite(self.file, scene(3, 70, 60), photometric='minisblack', metadata=None)
        said = program.run('denoise', self.file, self.out, '--sigma', '0.1', '--device', 'cpu', *GRAY).stdout
        self.assertRegex(said, 'note: sigma has no effect')

    def test_pages_that_cannot_be_one_stack(self):
        with tifffile.TiffWriter(self.file) as tiff:
            for extent in ((70, 60), (70, 60), (60, 70)):
                tiff.write(scene(1, *extent)[0], metadata=None)
        said = self.refusal(self.file, self.out)
        self.assertRegex(said, 'page 0 is 70x60 px.*page 2 is 60x70 px.*--pages')
        denoise(self.file, self.folder / 'two.tif', '--pages', '0-1', *GRAY, ranks=2)
        self.assertEqual(tifffile.imread(self.folder / 'two.tif').shape, (2, 70, 60))
        self.assertIn('--pages', self.refusal(self.file, self.folder / 'out.png', '--pages', '0-1'))
        self.assertIn('pages', self.refusal(self.file, self.out, '--pages', '0-1', '--output', 'file'))

    def test_notes_and_errors_name_a_page_that_is_not_the_first(self):
        planes = (scene(3, 70, 60) / 65535).astype(numpy.float32)
        planes[1] *= 5000
        tifffile.imwrite(self.file, planes, metadata=None)
        said = denoise(self.file, self.out, *GRAY, ranks=2)
        self.assertRegex(said, r'note: page 1: samples from')
        seams = program.run('denoise', self.file, self.out, '--halo', 'none', '--patch', '32', '--batch', '1', '--sigma', '0.1',
                            '--device', 'cpu', *GRAY).stdout
        self.assertRegex(seams, r'note: page \d: seams show')
        self.out.unlink()
        refusal = self.refusal(self.file, self.out)
        self.assertRegex(refusal, r'page 1 of \S*in\.ome\.tif: samples from')
        self.assertEqual(refusal.count('in.ome.tif'), 1)

    def test_of_16_bits_that_are_little_used_is_noted_where_no_page_is_brighter(self):
        """A dark frame among others is usual, and so is an empty one."""
        planes = scene(3, 70, 60)
        for divisors, is_noted in (((64, 1, 1), False), ((64, 16, 16), True), ((65535, 16, 64), True)):
            dim = numpy.stack([plane // divisor for plane, divisor in zip(planes, divisors)])
            tifffile.imwrite(self.file, dim, photometric='minisblack', metadata=None)
            said = denoise(self.file, self.out, *GRAY, ranks=1)
            self.assertEqual(f'note: samples up to {dim.max()} of 65535: --range 0:4095' in said, is_noted, said)
            self.assertEqual(said.count('samples up to'), is_noted, said)

    def test_a_range_that_hardly_anything_of_a_page_is_in_is_noted(self):
        tifffile.imwrite(self.file, scene(3, 70, 60), photometric='minisblack', metadata=None)
        said = program.run('denoise', self.file, self.out, '--range', '0:100000000', '--sigma', '0.1/1', *GRAY).stdout
        self.assertRegex(said, r'note: page 0: samples from .* use less than a thousandth of the range.*3 pages have')

    def test_says_how_its_halo_was_chosen_as_an_image_does(self):
        tifffile.imwrite(self.file, scene(2, 200, 300), metadata=None)
        said = program.run('denoise', self.file, self.out, '--sigma', '0.1', '--device', 'cpu', '--memory-limit-mib', 6, *GRAY).stdout
        self.assertRegex(said, '; note: halo = auto: carried rows .* strips ')

    def test_a_damaged_page_leaves_no_file(self):
        tifffile.imwrite(self.file, scene(4, 70, 60), compression='zlib', metadata=None)
        with tifffile.TiffFile(self.file) as tiff:
            offset = tiff.pages[2].dataoffsets[0]
        content = bytearray(self.file.read_bytes())
        content[offset:offset + 60] = b'\xff' * 60
        self.file.write_bytes(content)
        self.assertRegex(self.refusal(self.file, self.out, '--sigma', '0.1'), 'page 2 of .*damaged')
        self.file.write_bytes(content[:len(content) * 2 // 3])
        self.refusal(self.file, self.out, '--sigma', '0.1')


if __name__ == '__main__':
    program.main()
