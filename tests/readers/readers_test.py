"""Other programs' readers and writers: what all ranks wrote together is read by tifffile and OpenCV, BigTIFFs that tifffile
wrote are read by windows, WebP and BMP by both sides.
"""
import re

from readers import denoise  # first: it makes the packages below known

import cv2
import numpy
import program
import tifffile


class Readers(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.photo = numpy.random.default_rng(1).integers(0, 65536, (270, 60, 3), dtype=numpy.uint16)

    def expected(self, pixels):
        numpy.save(self.folder / 'in.npy', pixels)
        denoise(self.folder / 'in.npy', self.folder / 'expected.npy', '--output', 'memory', ranks=1)
        return numpy.load(self.folder / 'expected.npy')

    def test_what_all_ranks_wrote_is_read_by_others(self):
        for pixels in (self.photo, (self.photo >> 8).astype(numpy.uint8), (self.photo / 65535).astype(numpy.float32)):
            expected = self.expected(pixels)
            out = self.folder / 'out.tif'
            denoise(self.folder / 'in.npy', out, '--output', 'file')
            with tifffile.TiffFile(out) as tiff:
                self.assertTrue(tiff.is_bigtiff)
                self.assertEqual(len(tiff.pages), 1)
                self.assertTrue(tiff.pages[0].is_tiled)
            numpy.testing.assert_array_equal(tifffile.imread(out), expected)
            numpy.testing.assert_array_equal(cv2.imread(str(out), cv2.IMREAD_UNCHANGED)[:, :, ::-1], expected)
            denoise(self.folder / 'in.npy', self.folder / 'out.npy', '--output', 'file')
            self.assertEqual((self.folder / 'out.npy').read_bytes(), (self.folder / 'expected.npy').read_bytes())

    def test_compressed_tiles_are_read_by_others(self):
        for pixels in (self.photo, (self.photo >> 8).astype(numpy.uint8), (self.photo / 65535).astype(numpy.float32)):
            expected = self.expected(pixels)
            out = self.folder / 'out.tif'
            for compression, name in (('deflate', 'ADOBE_DEFLATE'), ('lzw', 'LZW')):
                with self.subTest(compression=compression, dtype=pixels.dtype):
                    denoise(self.folder / 'in.npy', out, '--output', 'file', '--compress', compression)
                    with tifffile.TiffFile(out) as tiff:
                        self.assertFalse(tiff.is_bigtiff, 'more programs read the classic form, and it fits')
                        self.assertEqual(tiff.pages[0].compression.name, name)
                    numpy.testing.assert_array_equal(tifffile.imread(out), expected)
                    numpy.testing.assert_array_equal(cv2.imread(str(out), cv2.IMREAD_UNCHANGED)[:, :, ::-1], expected)

    def test_big_tiffs_that_others_wrote_are_read(self):
        expected = self.expected(self.photo)
        layouts = {'strips': {'rowsperstrip': 7}, 'tiles': {'tile': (64, 32)}, 'deflated tiles': {'tile': (64, 32), 'compression': 'zlib'},
                   'deflated strips': {'rowsperstrip': 7, 'compression': 'zlib'}, 'planes': {'planarconfig': 'separate', 'tile': (32, 32)}}
        for name, layout in layouts.items():
            with self.subTest(name):
                pixels = numpy.moveaxis(self.photo, 2, 0) if name == 'planes' else self.photo
                tifffile.imwrite(self.folder / 'in.tif', pixels, bigtiff=True, photometric='rgb', metadata=None, **layout)
                denoise(self.folder / 'in.tif', self.folder / 'out.npy', '--output', 'file')
                numpy.testing.assert_array_equal(numpy.load(self.folder / 'out.npy'), expected)

    def test_noise_is_found_where_colours_are_stored_with_loss(self):
        """By the defaults of most programs: colours at half the resolution, which holds two thirds of the noise."""
        y, x = numpy.mgrid[:300, :400]
        clean = 0.5 + 0.25 * numpy.sin(x / 40)[..., None] * numpy.cos(y / 30)[..., None] * numpy.array((1, 0.8, 0.6))
        pixels = numpy.uint8(numpy.round(255 * (clean + numpy.random.default_rng(1).normal(0, 0.08, clean.shape)).clip(0, 1)))
        half = [cv2.IMWRITE_JPEG_QUALITY, 95, cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_420]
        for name, options in (('half.jpg', half), ('lossy.webp', [cv2.IMWRITE_WEBP_QUALITY, 95]), ('all.png', []),
                              ('all.webp', [cv2.IMWRITE_WEBP_QUALITY, 101])):
            cv2.imwrite(str(self.folder / name), pixels[:, :, ::-1], options)
        tifffile.imwrite(self.folder / 'half.tif', pixels, photometric='rgb', compression='jpeg',
                         compressionargs={'level': 95})
        (self.folder / 'half.jpg').rename(self.folder / 'named.png')
        for name in ('named.png', 'lossy.webp', 'half.tif', 'all.png', 'all.webp'):
            said = program.run('denoise', self.folder / name, self.folder / 'out.tif', '--dry-run', code=0).stdout
            self.assertAlmostEqual(float(re.search(r'sigma (\S+),', said)[1]), 0.08, delta=0.006, msg=name)

    def test_noise_that_is_equal_in_all_colours_is_named(self):
        y, x = numpy.mgrid[:300, :400]
        clean = 0.5 + 0.25 * numpy.sin(x / 40)[..., None] * numpy.cos(y / 30)[..., None] * numpy.array((1, 0.8, 0.6))
        noise = numpy.random.default_rng(2).normal(0, 0.06, clean.shape)
        for name, added, is_grey in (('grey.png', noise[..., :1], True), ('colour.png', noise, False)):
            cv2.imwrite(str(self.folder / name), numpy.uint8(numpy.round(255 * (clean + added).clip(0, 1))))
            said = program.run('denoise', self.folder / name, self.folder / 'out.png', '--dry-run', code=0).stdout
            self.assertAlmostEqual(float(re.search(r'sigma (\S+),', said)[1]), 0.09 if is_grey else 0.06, delta=0.005, msg=name)
            self.assertEqual('note: the noise is alike in red, green and blue' in said, is_grey, said)

    def test_noise_that_differs_with_brightness_is_named(self):
        """As of counting detectors: a level for all is too low where it is bright, and one for the bright parts is no mistake."""
        y, x = numpy.mgrid[:256, :512]
        counts = numpy.random.default_rng(2).poisson(20 + 380 * x / 511)
        numpy.save(self.folder / 'counts.npy', (4 * counts).astype(numpy.uint16))
        words = ('denoise', self.folder / 'counts.npy', self.folder / 'out.npy', '--dry-run', '--range', '0:2000')
        said = program.run(*words, code=0).stdout
        dark, bright = map(float, re.search(r'note: the noise differs with brightness: about (\S+) in dark and (\S+) in bright regions', said).groups())
        numpy.testing.assert_allclose((dark, bright), (4 * 67**0.5, 4 * 352**0.5), rtol=0.15)
        for level, is_far in ((bright, False), (5 * bright, True)):
            self.assertEqual('note: the noise seems to be about' in program.run(*words, '--sigma', level, code=0).stdout, is_far, level)

    def test_webp_and_bmp_go_both_ways(self):
        pixels = (self.photo >> 8).astype(numpy.uint8)
        expected = self.expected(pixels)
        for name, lossless in (('webp', [cv2.IMWRITE_WEBP_QUALITY, 101]), ('bmp', [])):
            with self.subTest(name):
                denoise(self.folder / 'in.npy', self.folder / f'out.{name}', ranks=1)
                numpy.testing.assert_array_equal(cv2.imread(str(self.folder / f'out.{name}'), cv2.IMREAD_UNCHANGED)[:, :, ::-1], expected)
                cv2.imwrite(str(self.folder / f'in.{name}'), pixels[:, :, ::-1], lossless)
                denoise(self.folder / f'in.{name}', self.folder / 'back.npy', '--output', 'memory')
                numpy.testing.assert_array_equal(numpy.load(self.folder / 'back.npy'), expected)
        cv2.imwrite(str(self.folder / 'gray.bmp'), pixels[:, :, 0])
        gray = ('--weights', 'seed:1', '--allow-untrained', '--network', 'dncnn')
        denoise(self.folder / 'gray.bmp', self.folder / 'out.bmp', *gray, ranks=1)
        self.assertEqual(cv2.imread(str(self.folder / 'out.bmp'), cv2.IMREAD_UNCHANGED).shape, (270, 60))


if __name__ == '__main__':
    program.main()
