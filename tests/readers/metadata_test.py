"""What a file says beside its pixels, after denoise: tags are read back by tifffile, and what is lost is named."""
import struct
import zlib

from readers import denoise, run_study  # first: it makes the packages below known

import cv2
import numpy
import program
import tifffile

GDAL_METADATA = ('<GDALMetadata>\n  <Item name="SENSOR">A5</Item>\n'
                 '  <Item name="STATISTICS_MEAN" sample="0">12.5</Item>\n</GDALMetadata>')
WITHOUT_STATISTICS = GDAL_METADATA.replace('<Item name="STATISTICS_MEAN" sample="0">12.5</Item>', '')
GEO = {33550: ('d', (0.5, 0.5, 0.0)), 33922: ('d', (0.0, 0.0, 0.0, 440720.0, 3751320.0, 0.0)),
       34264: ('d', tuple(float(i) for i in range(16))), 34735: ('H', (1, 1, 0, 1, 1024, 0, 1, 1)),
       34736: ('d', (6378137.0, 298.25)), 34737: ('s', 'WGS 84 / UTM zone 11N|')}
TEXTS = {'GDAL_METADATA': (42112, GDAL_METADATA), 'GDAL_NODATA': (42113, '9'), 'Artist': (315, 'A. Person'),
         'Copyright': (33432, 'public domain')}
OME = ('<?xml version="1.0"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="Image:0" Name="cells">'
       '<Pixels ID="Pixels:0" DimensionOrder="XYCZT" Type="uint16" SizeX="60" SizeY="70" SizeC="3" SizeZ="1" SizeT="1" '
       'PhysicalSizeX="0.325"><Channel ID="Channel:0:0" SamplesPerPixel="3"/><TiffData/></Pixels></Image></OME>')


def extra_tags():
    geo = [(number, kind, 0 if kind == 's' else len(values), values, True) for number, (kind, values) in GEO.items()]
    return geo + [(number, 's', 0, text, True) for number, text in TEXTS.values()] + [(65001, 'H', 1, (7,), True)]


class Metadata(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.photo = numpy.random.default_rng(1).integers(0, 65536, (70, 60, 3), dtype=numpy.uint16)
        self.file = self.folder / 'in.tif'

    def write_tiff(self, **more):
        tifffile.imwrite(self.file, self.photo, photometric='rgb', metadata=None, software='somebody 1.0', datetime='2024:05:06 07:08:09',
                         description='the valley in May', extratags=extra_tags(), **more)

    def tags_of(self, file):
        with tifffile.TiffFile(file) as tiff:
            self.assertEqual(tiff.pages[0].shape, (70, 60, 3))
            return {tag.code: tag.value for tag in tiff.pages[0].tags}

    def assert_kept(self, file):
        tags = self.tags_of(file)
        for number, (_, values) in GEO.items():
            self.assertEqual(tags.get(number), values, number)
        for name, (number, text) in TEXTS.items():
            self.assertEqual(tags.get(number), WITHOUT_STATISTICS if name == 'GDAL_METADATA' else text, name)
        self.assertEqual(tags.get(270), 'the valley in May')
        self.assertEqual(tags.get(306), '2024:05:06 07:08:09')
        self.assertNotIn(305, tags, 'Software: this file is not that program\'s')
        self.assertNotIn(65001, tags)
        with tifffile.TiffFile(file) as tiff:
            self.assertEqual(tiff.pages[0].geotiff_tags['ModelPixelScale'], [0.5, 0.5, 0.0])

    def test_tags_and_compression_are_kept_in_memory_and_tags_by_all_ranks(self):
        for bigtiff in (False, True):
            self.write_tiff(compression='lzw', predictor=2, bigtiff=bigtiff)
            said = denoise(self.file, self.folder / 'held.tif', '--output', 'memory')
            self.assert_kept(self.folder / 'held.tif')
            with tifffile.TiffFile(self.folder / 'held.tif') as tiff:
                self.assertEqual(tiff.pages[0].compression.name, 'LZW')
                self.assertEqual(tiff.pages[0].predictor.name, 'HORIZONTAL')
            self.assertIn("not kept: GDAL's statistics, tag 65001\n", said)
            said = denoise(self.file, self.folder / 'placed.tif', '--output', 'file')
            self.assert_kept(self.folder / 'placed.tif')
            self.assertIn('not kept: LZW compression (--compress makes such a file), ', said)
            numpy.testing.assert_array_equal(tifffile.imread(self.folder / 'placed.tif'), tifffile.imread(self.folder / 'held.tif'))
            said = denoise(self.file, self.folder / 'smaller.tif', '--output', 'file', '--compress', 'deflate')
            self.assert_kept(self.folder / 'smaller.tif')
            self.assertNotIn('LZW', said)

    def test_a_channel_that_is_not_called_alpha_is_kept_and_named(self):
        samples = numpy.random.default_rng(3).integers(0, 255, (70, 60, 4), numpy.uint8)
        tifffile.imwrite(self.file, samples, photometric='rgb', extrasamples=['unspecified'])
        for output in ('memory', 'file'):
            said = denoise(self.file, self.folder / 'out.tif', '--output', output)
            self.assertIn('channel 4 is kept as it is', said)
            with tifffile.TiffFile(self.folder / 'out.tif') as tiff:
                self.assertEqual(tuple(tiff.pages[0].extrasamples), (0,))
                numpy.testing.assert_array_equal(tiff.asarray()[..., 3], samples[..., 3])
        tifffile.imwrite(self.file, samples, photometric='rgb', extrasamples=['unassalpha'])
        self.assertNotIn('channel 4', denoise(self.file, self.folder / 'out.tif'))

    def test_colours_multiplied_by_alpha_are_refused_before_the_work(self):
        samples = numpy.random.default_rng(3).integers(0, 255, (70, 60, 4), numpy.uint8)
        tifffile.imwrite(self.file, samples, photometric='rgb', extrasamples=['assocalpha'])
        refused = program.run('denoise', self.file, self.folder / 'out.png', '--sigma', '0.1', '--dry-run')
        self.assertEqual((refused.returncode, 'colours multiplied by alpha' in refused.stderr), (2, True), refused.stderr)

    def test_lossless_compressions_come_back_and_none_is_made_where_none_was(self):
        for compression, name in ((None, 'NONE'), ('zlib', 'ADOBE_DEFLATE'), ('packbits', 'PACKBITS'), ('zstd', 'ZSTD'), ('lzma', 'LZMA')):
            with self.subTest(compression=compression):
                self.write_tiff(compression=compression)
                denoise(self.file, self.folder / 'out.tif', ranks=1)
                self.assert_kept(self.folder / 'out.tif')
                with tifffile.TiffFile(self.folder / 'out.tif') as tiff:
                    self.assertEqual(tiff.pages[0].compression.name, name)
                denoise(self.file, self.folder / 'plain.tif', '--compress', 'none', ranks=1)
                with tifffile.TiffFile(self.folder / 'plain.tif') as tiff:
                    self.assertEqual(tiff.pages[0].compression.name, 'NONE')

    def test_tiles_of_another_size_are_kept_or_named(self):
        self.write_tiff(tile=(32, 48))
        for more, is_kept in (((), True), (('--compress', 'none'), True), (('--compress', 'deflate'), False),
                              (('--compress', 'lzw'), False), (('--output', 'file'), False)):
            with self.subTest(more=more):
                said = denoise(self.file, self.folder / 'out.tif', *more, ranks=1)
                with tifffile.TiffFile(self.folder / 'out.tif') as tiff:
                    self.assertEqual(tiff.pages[0].tile, (32, 48) if is_kept else (256, 256))
                self.assertEqual('size of its tiles' in said, not is_kept)

    def test_lossy_compression_is_named(self):
        self.photo = (self.photo >> 8).astype(numpy.uint8)
        self.write_tiff(compression='jpeg')
        said = denoise(self.file, self.folder / 'out.tif', ranks=1)
        self.assertRegex(said, 'not kept: .*JPEG compression')
        self.assert_kept(self.folder / 'out.tif')

    def test_pyramids_are_counted(self):
        for below in (True, False):
            with self.subTest(below=below), tifffile.TiffWriter(self.file) as tiff:
                tiff.write(self.photo, photometric='rgb', subifds=3 if below else 0, metadata=None)
                for level in range(1, 4):
                    tiff.write(self.photo[::2**level, ::2**level], photometric='rgb', subfiletype=1, metadata=None)
            self.assertIn('not kept: pyramid of 3 levels', denoise(self.file, self.folder / 'out.tif', ranks=1))

    def test_ome_xml_is_kept(self):
        tifffile.imwrite(self.file, self.photo, photometric='rgb', metadata=None, description=OME)
        for how in ('memory', 'file'):
            denoise(self.file, self.folder / 'out.tif', '--output', how)
            with tifffile.TiffFile(self.folder / 'out.tif') as tiff:
                self.assertEqual(tiff.ome_metadata, OME)

    def test_a_description_of_planes_is_not_kept_where_samples_are_interleaved(self):
        tifffile.imwrite(self.file, numpy.moveaxis(self.photo, 2, 0), photometric='rgb', planarconfig='separate')
        self.assertRegex(denoise(self.file, self.folder / 'out.tif', ranks=1), 'not kept: .*ImageDescription')
        self.assertEqual(tifffile.imread(self.folder / 'out.tif').shape, (70, 60, 3))

    def test_a_cropped_image_has_no_georeference(self):
        self.write_tiff()
        study = ('weights: seed:1\ndevice: cpu\nbounds: off\npatch: 32\nhalo: 8\nstop: {min_reps: 1, max_time_s: 0}\n'
                 'image: {path: in.tif, noise_sigma: 0.1')
        for crop, kept in (('', True), (', crop_height: 40, crop_width: 48', False)):
            notes = run_study(study + crop + '}\n', self.folder)
            with tifffile.TiffFile(max((self.folder / 'out').glob('*.tif'), key=lambda file: file.stat().st_mtime_ns)) as tiff:
                tags = {tag.code for tag in tiff.pages[0].tags}
            self.assertEqual(tags & set(GEO), set(GEO) if kept else set())
            self.assertTrue({306, 42113} <= tags)
            words = next(note for note in notes if note.startswith('metadata not kept in the output: '))
            self.assertEqual('GeoTIFF tags (the image is cropped)' in words, not kept)

    def test_arrays_keep_their_shape(self):
        for shape in ((70, 60, 1), (70, 60), (70, 60, 3)):
            numpy.save(self.folder / 'in.npy', self.photo[..., :shape[2] if len(shape) == 3 else 1].reshape(shape))
            weights = () if shape[-1] == 3 else ('--network', 'dncnn', '--weights', 'seed:1', '--allow-untrained')
            for how in ('memory', 'file'):
                denoise(self.folder / 'in.npy', self.folder / 'out.npy', '--output', how, *weights, ranks=2)
                self.assertEqual(numpy.load(self.folder / 'out.npy').shape, shape)

    def test_what_another_format_does_not_hold_is_named(self):
        self.write_tiff(resolution=(300, 300))
        for name, words in (('out.png', 'not kept: ImageDescription, DateTime, Artist, Copyright, GeoTIFF tags, GDAL_METADATA, GDAL_NODATA '
                                        '(only .tif holds them)'), ('out.npy', 'not kept: resolution, ImageDescription, ')):
            self.assertIn(words, denoise(self.file, self.folder / name, ranks=1))
        jpeg = cv2.imencode('.jpg', self.photo[..., 0] >> 8)[1].tobytes()
        (self.folder / 'in.jpg').write_bytes(jpeg[:2] + b'\xff\xfe\0\x07hello' + jpeg[2:])
        gray = ('--network', 'dncnn', '--weights', 'seed:1', '--allow-untrained')
        self.assertIn('not kept: comment\n', denoise(self.folder / 'in.jpg', self.folder / 'out.png', *gray, ranks=1))
        self.assertNotIn('not kept', denoise(self.folder / 'in.jpg', self.folder / 'out.jpg', *gray, ranks=1))
        self.assertIn(b'\xff\xfe\0\x07hello', (self.folder / 'out.jpg').read_bytes())
        png = cv2.imencode('.png', self.photo[..., 0])[1].tobytes()
        text = b'tEXtTitle\0valley'
        chunk = struct.pack('>I', len(text) - 4) + text + struct.pack('>I', zlib.crc32(text))
        (self.folder / 'in.png').write_bytes(png[:33] + chunk + png[33:])
        self.assertIn('not kept: text\n', denoise(self.folder / 'in.png', self.folder / 'out.tif', *gray, ranks=1))
        self.assertNotIn('not kept', denoise(self.folder / 'in.png', self.folder / 'out.png', *gray, ranks=1))
        self.assertIn(chunk, (self.folder / 'out.png').read_bytes())
        tifffile.imwrite(self.file, self.photo, photometric='rgb', metadata=None, software=False)
        self.assertNotIn('not kept', denoise(self.file, self.folder / 'out.tif', ranks=1))


if __name__ == '__main__':
    program.main()
