"""patchbench denoise with samples that are not in [0,1]: other units, other types, no data, more bands."""
import json
import math
import os
import random
import re
import struct

import program
from program import CODES, npy, run

FAST = ('--network', 'dncnn', '--halo', '8', '--patch', '24', '--batch', '2', '--device', 'cpu', '--verify', '1')
GRAY = ('--weights', 'seed:1', '--allow-untrained')
LOW, HIGH, NODATA = -300.0, 4700.0, -9999.0
EDGE = 48


def values_of(content, descr):
    """Of a .npy file, whose type must be this one."""
    assert f"'{descr}'".encode() in content[:128], content[:128]
    body = content[128:]
    return list(struct.unpack(f'<{len(body) // struct.calcsize(CODES[descr])}{CODES[descr]}', body))


def tag_of(content, number):
    """The first value of a tag of 16 bits in a TIFF, not a BigTIFF, of this machine's byte order."""
    assert content[:4] == b'II*\0', content[:4]
    at, = struct.unpack_from('<I', content, 4)
    count, = struct.unpack_from('<H', content, at)
    entries = (struct.unpack_from('<HHIH', content, at + 2 + 12 * i) for i in range(count))
    return next(value for tag, _, _, value in entries if tag == number)


def scene(channels=3, edge=EDGE):
    """Smooth, with an edge, in [0.1, 0.9]."""
    return [0.5 + 0.3 * math.sin(x / 9 + c) * math.cos(y / 7) + (0.1 if x > y else -0.1)
            for y in range(edge) for x in range(edge) for c in range(channels)]


def add_noise(clean, sigma):
    source = random.Random(5)
    return [value + source.gauss(0, sigma) for value in clean]


def psnr(values, clean, places):
    return -10 * math.log10(sum((values[i] - clean[i]) ** 2 for i in places) / len(places))


def gaps():
    """A block, a line that ends in it, and single samples: (place, value)."""
    block = [((y * EDGE + x) * 3 + c, NODATA) for y in range(20, 27) for x in range(30, 41) for c in range(3)]
    line = [((5 * EDGE + x) * 3 + 1, NODATA) for x in range(3, 9)]
    return block + line + [(7, math.nan), (3000, math.nan), (EDGE * EDGE * 3 - 1, NODATA)]


class Samples(program.ProgramTest):
    def denoise(self, photo, out, *more, ranks=0):
        result = run('denoise', self.folder / photo, self.folder / out, *FAST, *more, ranks=ranks, code=0)
        self.assertIn('RESULT: VALID', result.stdout)
        return (self.folder / out).read_bytes(), result.stdout

    def write_mapped(self, descr='<f4', low=LOW, high=HIGH, with_gaps=True):
        """A noisy scene in these units: its values."""
        values = [low + (high - low) * value for value in add_noise(scene(), 0.1)]
        if descr[1] in 'iu':
            values = [round(value) for value in values]
        for place, value in gaps() if with_gaps else ():
            values[place] = value
        self.write('mapped.npy', npy(values, (EDGE, EDGE, 3), descr))
        return values


def tiff(values, nodata, is_white_zero=False):
    """A TIFF of f32 in colour, or in gray with white as zero: one strip, with GDAL's tag."""
    text = nodata.encode() + b'\0'
    channels = 1 if is_white_zero else 3
    bits, kind = (32, 3) if is_white_zero else (None, None)  # three of them lie elsewhere
    entries = [(256, 4, 1, EDGE), (257, 4, 1, EDGE), (258, 3, channels, bits), (259, 3, 1, 1),
               (262, 3, 1, 0 if is_white_zero else 2), (273, 4, 1, None), (277, 3, 1, channels), (278, 4, 1, EDGE),
               (279, 4, 1, 4 * len(values)), (339, 3, channels, kind), (42113, 2, len(text), None)]
    end = 8 + 2 + 12 * len(entries) + 4
    places = {258: end, 339: end + 6, 42113: end + 12, 273: end + 12 + 32}
    directory = struct.pack('<H', len(entries))
    for tag, kind, count, value in entries:
        directory += struct.pack('<HHI', tag, kind, count) + struct.pack('<I', places[tag] if value is None else value)
    return (b'II*\0' + struct.pack('<I', 8) + directory + struct.pack('<I', 0) + struct.pack('<3H', 32, 32, 32) +
            struct.pack('<3H', 3, 3, 3) + text.ljust(32, b'\0') + struct.pack(f'<{len(values)}f', *values))


class Units(Samples):
    def test_a_scene_in_other_units_is_denoised_as_well_as_in_0_to_1(self):
        clean, noisy = scene(), add_noise(scene(), 0.1)
        self.write('unit.npy', npy(noisy, (EDGE, EDGE, 3), '<f4'))
        unit = values_of(self.denoise('unit.npy', 'unit_out.npy', '--sigma', '0.1')[0], '<f4')
        self.write_mapped()
        places = sorted(set(range(len(clean))) - {place for place, _ in gaps()})
        expected = psnr(unit, clean, places)
        self.assertGreater(expected, psnr(noisy, clean, places) + 3)
        for words in (('--range=-300:4700', '--sigma', '500'), ('--range=-300:4700', '--sigma', '0.1/1'),
                      ('--range', 'auto', '--sigma', '500')):
            out, line = self.denoise('mapped.npy', 'out.npy', *words, '--nodata=-9999')
            values = [(value - LOW) / (HIGH - LOW) for value in values_of(out, '<f4')]
            self.assertAlmostEqual(psnr(values, clean, places), expected, delta=0.05, msg=words)
            self.assertIn('sigma 500 ', line)
        self.assertRegex(line, r'range -?\d+.*:\d+.*, sigma')

    def test_sigma_auto_is_said_in_the_units(self):
        self.write_mapped()
        line = self.denoise('mapped.npy', 'out.npy', '--range=-300:4700', '--nodata=-9999')[1]
        self.assertRegex(line, r'range -300:4700, sigma [45]\d\d(\.\d)? .*\(0\.\d+ ')

    def test_sigma_auto_of_samples_with_few_values(self):
        """Noise of 1.04 steps, and rounding: 1.08."""
        source = random.Random(7)
        values = [round(20 + 8 * math.sin(i % 96 / 20) + source.gauss(0, 1.04)) for i in range(96 * 96)]
        coarse = self.write('coarse.npy', npy(values, (96, 96), '<i2'))
        line = run('denoise', coarse, self.folder / 'out.npy', '--range=0:40', '--device', 'cpu').stdout
        self.assertAlmostEqual(float(re.search(r'sigma (\S+) in its units', line)[1]), 1.08, delta=0.08)

    def test_sigma_auto_of_a_clipped_image_names_the_file(self):
        black = self.write('black.npy', npy([255 * (i % 3 == 0) for i in range(64 * 64)], (64, 64), '|u1'))
        result = run('denoise', black, self.folder / 'out.npy', '--device', 'cpu', code=2)
        self.assertRegex(result.stderr, r'black\.npy: .*clipped.*give sigma')

    def test_what_is_no_data_is_kept_bit_for_bit(self):
        before = self.write_mapped()
        for place in (3000, 3001):  # a NaN of another kind, and an infinity
            before[place] = math.nan if place == 3000 else math.inf
        content = bytearray(npy(before, (EDGE, EDGE, 3), '<f4'))
        content[128 + 4 * 3000:128 + 4 * 3001] = struct.pack('<I', 0xFFC12345)
        self.write('mapped.npy', bytes(content))
        out = self.denoise('mapped.npy', 'out.npy', '--range=-300:4700', '--nodata=-9999', '--sigma', '500')[0]
        kept = {place for place, _ in gaps()} | {3001}
        after = values_of(out, '<f4')
        for i in range(len(before)):
            same = out[128 + 4 * i:132 + 4 * i] == content[128 + 4 * i:132 + 4 * i]
            self.assertEqual(same, i in kept, i)
            self.assertTrue(i in kept or math.isfinite(after[i]), i)
        self.assertGreater(min(after[i] for i in range(len(after)) if i not in kept), -2000, 'nothing leaks out of -9999')

    def test_the_tag_of_gdal_is_minded(self):
        values = self.write_mapped()
        values = [NODATA if math.isnan(value) else value for value in values]
        self.write('in.tif', tiff(values, '-9999'))
        self.write('in.npy', npy(values, (EDGE, EDGE, 3), '<f4'))
        words = ('--range=-300:4700', '--sigma', '500')
        expected = self.denoise('in.npy', 'expected.npy', *words, '--nodata=-9999')[0]
        self.assertEqual(self.denoise('in.tif', 'out.npy', *words)[0], expected)
        self.assertNotEqual(self.denoise('in.tif', 'out.npy', *words, '--nodata', 'none')[0], expected)
        for hostile in ('', 'abc', '-9999abc', 'nan', '1e999'):
            self.write('odd.tif', tiff(values, hostile))
            self.denoise('odd.tif', 'out.npy', *words)

    def test_white_as_zero_has_no_values_of_its_samples(self):
        self.write('in.tif', tiff([0.25] * EDGE * EDGE, '0.25', is_white_zero=True))
        for words in ((), ('--nodata=0.5',), ('--nodata', 'none', '--range=0:2')):
            result = run('denoise', self.folder / 'in.tif', self.folder / 'out.npy', *FAST, '--sigma', '0.1', *words)
            self.assert_refused(result, 2, 'in.tif', 'white as zero', '--nodata none')
        untrained = '--weights', 'seed:1', '--allow-untrained'  # for gray there are no others here
        self.denoise('in.tif', 'out.npy', '--sigma', '0.1', '--nodata', 'none', *untrained)
        self.write('slope.tif', tiff([place / EDGE ** 2 for place in range(EDGE * EDGE)], '', is_white_zero=True))
        self.write('gray.npy', npy([0.25] * EDGE * EDGE, (EDGE, EDGE), '<f4'))
        result = run('denoise', self.folder / 'gray.npy', self.folder / 'out.npy', *FAST, *untrained, '--sigma', '0.1',
                     '--range', '0:2', '--clean', self.folder / 'slope.tif')
        self.assert_refused(result, 2, 'slope.tif', 'white as zero', '--range auto')
        found = [self.denoise('slope.tif', f'{ranks}.npy', '--range', 'auto', *untrained, ranks=ranks)[0]
                 for ranks in (0, 2)]
        self.assertEqual(*found)

    def test_no_sample_becomes_nodata(self):
        values = [100 if (x // 4 + y // 4) % 2 else 101 for y in range(EDGE) for x in range(EDGE)] * 3
        values[5] = 99
        self.write('in.npy', npy(values, (EDGE, EDGE, 3), '<i2'))
        for nodata in (100, 101):
            out = values_of(self.denoise('in.npy', 'out.npy', '--range', '0:200', '--sigma', '20', f'--nodata={nodata}')[0], '<i2')
            self.assertEqual([i for i, value in enumerate(out) if value == nodata],
                             [i for i, value in enumerate(values) if value == nodata])

    def test_a_neighbour_of_nodata_in_a_file_is_right(self):
        values = [100 if (x // 4 + y // 4) % 2 else 101 for y in range(EDGE) for x in range(EDGE)] * 3
        self.write('in.npy', npy(values, (EDGE, EDGE, 3), '<i2'))
        for nodata in (100, 101):
            words = ('--range', '0:200', '--sigma', '20', f'--nodata={nodata}')
            held = self.denoise('in.npy', 'held.npy', *words, '--output', 'memory')[0]
            self.assertEqual(self.denoise('in.npy', 'out.npy', *words, '--output', 'file')[0], held)

    def test_floats_beyond_the_range_in_a_file_are_right(self):
        for descr, scale in (('<f2', 40), ('<f4', 5700)):
            values = [scale * value for value in add_noise(scene(), 0.02)]
            self.write('wide.npy', npy(values, (EDGE, EDGE, 3), descr))
            words = ('--range', '0:1', '--sigma', '0.02/1')
            held = self.denoise('wide.npy', 'held.npy', *words, '--output', 'memory')[0]
            self.assertEqual(self.denoise('wide.npy', 'out.npy', *words, '--output', 'file')[0], held)

    def test_ranks_and_output_kinds_give_the_same_bytes(self):
        for descr in ('<f4', '<i2'):
            self.write_mapped(descr, with_gaps=descr == '<f4')
            words = ('--range', 'auto', '--nodata=-9999', '--sigma', '500')
            held = self.denoise('mapped.npy', 'held.npy', *words, '--output', 'memory', ranks=1)[0]
            self.assertEqual(self.denoise('mapped.npy', 'out.npy', *words, '--output', 'memory', ranks=2)[0], held)
            for ranks in (1, 2, 3):
                self.assertEqual(self.denoise('mapped.npy', 'out.npy', *words, '--output', 'file', ranks=ranks)[0], held)
                self.denoise('mapped.npy', f'{ranks}.tif', *words, '--output', 'file', ranks=ranks)
            self.assertEqual((self.folder / '1.tif').read_bytes(), (self.folder / '2.tif').read_bytes())
            self.assertEqual((self.folder / '1.tif').read_bytes(), (self.folder / '3.tif').read_bytes())
            twice = self.denoise('1.tif', 'twice.npy', *words, ranks=2)[0]
            self.assertEqual(twice, self.denoise('held.npy', 'again.npy', *words)[0])

    def test_noise_is_added_to_data_only_and_quality_is_of_data_only(self):
        values = [LOW + (HIGH - LOW) * value for value in scene()]
        for i in range(len(values) // 2):
            values[i] = NODATA
        self.write('half.npy', npy(values, (EDGE, EDGE, 3), '<f4'))
        words = ('--range=-300:4700', '--nodata=-9999', '--add-noise', '0.1', '--sigma', '500')
        for kind, ranks in (('memory', 1), ('file', 1), ('file', 2)):
            out, line = self.denoise('half.npy', 'out.npy', *words, '--output', kind, ranks=ranks)
            self.assertEqual(out[128:128 + 2 * len(values)], npy(values, (EDGE, EDGE, 3), '<f4')[128:128 + 2 * len(values)])
            self.assertRegex(line, r'PSNR (19\.[89]|20\.[0-6])\d* -> ')

    def test_a_study_verifies_every_kind_of_output(self):
        self.write_mapped()
        study = self.write('study.yaml', """
image: {path: mapped.npy, range: "-300:4700", nodata: -9999, noise_sigma: 0.1}
sigma: 0.14
device: cpu
patch: 24
halo: exact
output: [memory, file, checksum]
stop: {min_reps: 1, max_time_s: 0}
bounds: off
""")
        run('run', study, '--out', self.folder / 'results', cwd=self.folder, ranks=2, code=0)
        outcomes = [point['verification']['outcome'] for point in program.points(self.folder / 'results')]
        self.assertEqual(outcomes, ['passed'] * 3)

    def test_a_range_is_found_in_samples_of_any_size(self):
        for kind, scale in (('<f8', 1e12), ('<u4', 4e9)):
            values = [int(scale * (0.1 + 0.8 * ((i * 7) % 97) / 97)) for i in range(EDGE * EDGE * 3)]
            self.write('large.npy', npy(values, (EDGE, EDGE, 3), kind))
            self.assertIn('range', self.denoise('large.npy', 'out.npy', '--range', 'auto', '--sigma', '0.1/1')[1])

    def test_a_study_says_which_range_it_found(self):
        self.write_mapped(with_gaps=False)
        study = self.write('study.yaml', """
image: {path: mapped.npy, range: auto}
sigma: 0.1
device: cpu
patch: 24
halo: 8
stop: {min_reps: 1, max_time_s: 0}
bounds: off
""")
        result = run('run', study, '--out', self.folder / 'results', cwd=self.folder)
        self.assertRegex(result.stdout, r'image\.range = auto is -?\d+(\.\d+)?:\d+', result.stderr)

    def test_the_same_bytes_as_samples_of_two_types(self):
        """Each point is compared with its own reference."""
        self.write('two.raw', struct.pack(f'<{EDGE * EDGE}e', *(x % 50 / 50 for x in range(EDGE * EDGE))))
        study = self.write('study.yaml', f"""
image: {{path: two.raw, raw: ["{EDGE}x{EDGE}x1:u16", "{EDGE}x{EDGE}x1:f16"], noise_sigma: 0}}
network: dncnn
weights: seed:1
device: cpu
patch: 24
halo: exact
stop: {{min_reps: 1, max_time_s: 0}}
bounds: off
""")
        result = run('run', study, '--out', self.folder / 'results', cwd=self.folder)
        self.assertIn('RESULT: VALID', result.stdout, result.stderr)

    def test_advice_names_range(self):
        self.write_mapped(with_gaps=False)
        result = run('denoise', self.folder / 'mapped.npy', self.folder / 'out.npy', *FAST)
        self.assert_refused(result, 2, '--range', 'mapped.npy', '[0, 1]')
        self.assertIn('--range', self.denoise('mapped.npy', 'out.npy', '--sigma', '0.1')[1])
        self.write_mapped()
        result = run('denoise', self.folder / 'mapped.npy', self.folder / 'out.npy', *FAST, '--sigma', '0.1')
        self.assert_refused(result, 2, 'NaN at row 0', '--range')
        self.write_mapped('<i2', with_gaps=False)
        result = run('denoise', self.folder / 'mapped.npy', self.folder / 'out.npy', *FAST, '--sigma', '0.1')
        self.assert_refused(result, 2, '--range', 'i16')

    def test_a_range_in_other_units_is_noted(self):
        values = scene()
        width = max(values) - min(values)
        self.write('unit.npy', npy(values, (EDGE, EDGE, 3), '<f4'))
        for high, is_noted in ((1, False), (990 * width, False), (1010 * width, True)):
            said = run('denoise', self.folder / 'unit.npy', self.folder / 'out.npy', *FAST, '--range', f'0:{high}', '--sigma',
                       '0.1/1', code=0).stdout
            self.assertEqual('note: samples from' in said and 'use less than a thousandth of the range' in said, is_noted, said)

    def test_a_huge_sample_is_named_as_the_cause_of_what_is_not_finite(self):
        values = scene()
        values[3 * (5 * EDGE + 7)] = 3e38
        self.write('huge.npy', npy(values, (EDGE, EDGE, 3), '<f4'))
        result = run('denoise', self.folder / 'huge.npy', self.folder / 'out.npy', *FAST, '--sigma', '0.1', code=3)
        self.assertRegex(result.stderr + result.stdout, r'the input holds 3e\+38 at row 5, column 7, .*--nodata')
        self.assertNotIn('untrained weights', result.stderr + result.stdout)

    def test_what_is_no_range_is_refused(self):
        self.write_mapped()
        for word, *words in (('range', '--range=1:1'), ('range', '--range=5:1'), ('range', '--range=1'), ('range', '--range=nan:1'),
                             ('range', '--range=0:inf'), ('nodata', '--nodata=x'), ('--bands', '--bands=2'),
                             ('--range', '--range=0:100', '--sigma=101'), ('--sigma', '--range=0:100', '--sigma=-1'),
                             ('0:1e+06', '--range=0:1e6', '--sigma=1')):
            result = run('denoise', self.folder / 'mapped.npy', self.folder / 'out.npy', *FAST, *words)
            self.assert_refused(result, 2, word)
        self.write_mapped('<i2', with_gaps=False)
        for value in ('-9999.5', '40000'):
            result = run('denoise', self.folder / 'mapped.npy', self.folder / 'out.npy', *FAST, '--range=0:100', f'--nodata={value}')
            self.assert_refused(result, 2, 'mapped.npy', value, 'i16')
        self.write('flat.npy', npy([3.0] * EDGE * EDGE * 3, (EDGE, EDGE, 3), '<f4'))
        result = run('denoise', self.folder / 'flat.npy', self.folder / 'out.npy', *FAST, '--sigma', '1', '--range', 'auto')
        self.assert_refused(result, 2, 'flat.npy', '--range')

    def test_a_sample_beyond_all_ranges_is_no_sample(self):
        """Fill values that are not declared as no data would spoil the pixels round them."""
        values = [0.5] * EDGE * EDGE * 3
        for descr, wild in (('<f4', -3.4028e38), ('<f8', 1e300), ('<f4', -1e9)):
            values[3000] = wild
            self.write('wild.npy', npy(values, (EDGE, EDGE, 3), descr))
            result = run('denoise', self.folder / 'wild.npy', self.folder / 'out.npy', *FAST, '--range=0:100', '--sigma', '5')
            self.assert_refused(result, 2, '--nodata')
            run('denoise', self.folder / 'wild.npy', self.folder / 'out.npy', *FAST, '--range=0:100', '--sigma', '5',
                f'--nodata={wild!r}', code=0)
            (self.folder / 'out.npy').unlink()


class Types(Samples):
    def test_types_are_kept_and_alike(self):
        reference = None
        for descr, raw in (('<f4', 'f32'), ('<f8', 'f64'), ('<i2', 'i16'), ('<u4', 'u32'), ('<f2', 'f16')):
            low, high = (100000, 160000) if descr == '<u4' else (-300, 4700) if descr != '<f2' else (-0.3, 4.7)
            values = self.write_mapped(descr, low, high, with_gaps=False)
            words = (f'--range={low}:{high}', '--sigma', '0.1/1')
            out = self.denoise('mapped.npy', 'out.npy', *words)[0]
            unit = [(value - low) / (high - low) for value in values_of(out, descr)]
            reference = reference or unit
            self.assertLess(max(abs(a - b) for a, b in zip(unit, reference)), 2e-3, descr)
            self.write('mapped.raw', npy(values, (EDGE, EDGE, 3), descr)[128:])
            self.assertEqual(self.denoise('mapped.raw', 'out.raw', *words, '--raw', f'{EDGE}x{EDGE}x3:{raw}')[0], out[128:])
            # TIFF: what was written is read as the same samples.
            again = self.denoise('out.npy', 'again.npy', *words)[0]
            for more in (('--output', 'file'), ('--output', 'memory', '--compress', 'deflate')):
                self.denoise('mapped.npy', 'out.tif', *words, *more)
                self.assertEqual(self.denoise('out.tif', 'twice.npy', *words)[0], again, more)

    def test_floats_in_0_to_1_need_no_range(self):
        for descr in ('<f2', '<f8'):
            self.write_mapped(descr, 0, 1, with_gaps=False)
            self.assertIn('sigma 0.1,', self.denoise('mapped.npy', 'out.npy', '--sigma', '0.1')[1])

    def test_formats_that_cannot_hold_a_type_say_so(self):
        self.write_mapped('<i2', with_gaps=False)
        for name in ('out.png', 'out.jpg'):
            result = run('denoise', self.folder / 'mapped.npy', self.folder / name, *FAST, '--range', 'auto')
            self.assert_refused(result, 2, name, 'i16')


class Bands(Samples):
    BANDS = 7

    def write_bands(self, bands, name='in.npy'):
        """These bands (counted from 1) of an image of seven."""
        noisy = [add_noise(scene(1), 0.02 * band) for band in range(1, self.BANDS + 1)]
        values = [round(10000 * max(0, noisy[band - 1][i])) for i in range(EDGE * EDGE) for band in bands]
        shape = (EDGE, EDGE, len(bands)) if len(bands) > 1 else (EDGE, EDGE)
        self.write(name, npy(values, shape, '<u2'))

    def test_groups_of_three_are_what_each_is_by_itself(self):
        self.write_bands(range(1, 8))
        out, lines = self.denoise('in.npy', 'out.npy', '--sigma', '0.02', ranks=2)
        values = values_of(out, '<u2')
        for bands in ((1, 2, 3), (4, 5, 6), (5, 6, 7)):
            self.assertIn(f'in.npy, bands {bands[0]}-{bands[2]} -> ', lines)
            self.write_bands(bands, 'three.npy')
            alone = values_of(self.denoise('three.npy', 'three_out.npy', '--sigma', '0.02')[0], '<u2')
            for place, band in enumerate(bands):
                if bands == (4, 5, 6) and band > 4:
                    continue  # the last group overlaps this one
                self.assertEqual(values[band - 1::7], alone[place::3], band)

    def test_each_band_by_itself_and_in_a_tiff(self):
        self.write_bands(range(1, 8))
        out, lines = self.denoise('in.npy', 'out.npy', '--sigma', '0.02', '--bands', '1', *GRAY)
        self.assertIn('in.npy, band 7 -> ', lines)
        self.write_bands((6,), 'one.npy')
        alone = self.denoise('one.npy', 'one_out.npy', '--sigma', '0.02', *GRAY)[0]
        self.assertEqual(values_of(out, '<u2')[5::7], values_of(alone, '<u2'))
        self.denoise('in.npy', 'out.tif', '--sigma', '0.02', '--bands', '1', *GRAY)
        again = self.denoise('out.npy', 'again.npy', '--sigma', '0.02', '--bands', '1', *GRAY)[0]
        self.assertEqual(self.denoise('out.tif', 'twice.npy', '--sigma', '0.02', '--bands', '1', *GRAY)[0], again)

    def test_one_band_keeps_its_axis(self):
        values = [round(1000 * value) for value in scene()[:EDGE * EDGE]]
        self.write('axis.npy', npy(values, (EDGE, EDGE, 1), '<u2'))
        for bands in ((), ('--bands', '1')):
            out = self.denoise('axis.npy', 'out.npy', '--sigma', '0.02', *bands, *GRAY)[0]
            self.assertIn(f"'shape': ({EDGE}, {EDGE}, 1)".encode(), out, bands)

    def test_bands_are_compressed_as_asked_for(self):
        self.write_bands(range(1, 8))
        bands = ('--sigma', '0.02', '--bands', '1', *GRAY)
        self.denoise('in.npy', 'tiles.tif', *bands, '--compress', 'lzw')
        for how, compression in (((), 5), (('--compress', 'none'), 1)):
            content, _ = self.denoise('tiles.tif', 'out.tif', *bands, *how)
            self.assertEqual(tag_of(content, 259), compression, how)

    def test_nothing_is_written_where_one_group_of_bands_is_wrong(self):
        self.write_bands(range(1, 8))
        out = self.folder / 'out.npy'
        said = run('denoise', self.folder / 'in.npy', out, *FAST[:-1], 'all', '--sigma', '0.02', '--json',
                   env={**os.environ, 'PATCHBENCH_FAULT': 'output:shift:1'}, code=3).stdout
        self.assertFalse(out.exists(), 'the first of three groups')
        *groups, _ = map(json.loads, said.splitlines())
        self.assertEqual([(each['bands'], each['status'], 'another group' in each['reason']) for each in groups],
                         [('1-3', 'failed', False), ('4-6', 'failed', True), ('5-7', 'failed', True)])

    def test_a_fourth_band_is_no_alpha_where_bands_are_asked_for(self):
        self.write_bands((1, 2, 3, 4))
        out = values_of(self.denoise('in.npy', 'out.npy', '--sigma', '0.02', '--bands', '3')[0], '<u2')
        self.write_bands((2, 3, 4), 'three.npy')
        alone = values_of(self.denoise('three.npy', 'three_out.npy', '--sigma', '0.02')[0], '<u2')
        self.assertEqual(out[3::4], alone[2::3])

    def test_what_cannot_be_is_refused(self):
        self.write_bands(range(1, 8))
        out = self.folder / 'out.npy'
        result = run('denoise', self.folder / 'in.npy', out, *FAST, '--sigma', '0.02', '--output', 'file')
        self.assert_refused(result, 2, 'in.npy', 'output = file')
        result = run('denoise', self.folder / 'in.npy', self.folder / 'out.png', *FAST, '--sigma', '0.02')
        self.assert_refused(result, 2, 'out.png', '7 ')
        result = run('denoise', self.folder / 'in.npy', out, *FAST, '--sigma', '0.02', '--bands', '1')
        self.assert_refused(result, 2, 'dncnn', '1 image channel')
        study = self.write('study.yaml', f'image: {{path: {self.folder}/in.npy}}\ndevice: cpu\npatch: 32\nhalo: 8\n')
        self.assert_refused(run('run', study, '--out', self.folder / 'results'), 2, 'in.npy', '7 channels', 'image.bands')
        self.assertFalse(out.exists())


if __name__ == '__main__':
    program.main()
