"""Images that are read and written by windows: raw samples, and outputs that all ranks write together."""
import struct

import program
from program import npy, run

FAST = ('--halo', '8', '--patch', '32', '--batch', '2', '--sigma', '0.1', '--device', 'cpu', '--verify', '1')


def samples(height, width, channels=1):
    """Something rough, the same on every machine: 16 bits a sample."""
    return b''.join(struct.pack('<H', (x * 701 + y * 1301 + (x * y * 31 + c * 57) % 9700) % 65536)
                    for y in range(height) for x in range(width) for c in range(channels))


class Raw(program.ProgramTest):
    def test_raw_samples_are_denoised_like_the_same_ones_in_npy(self):
        content = samples(70, 90, 3)
        self.write('in.npy', npy(content, (70, 90, 3), '<u2'))
        self.write('in.raw', content)
        for name, more in (('npy', ()), ('raw', ('--raw', '70x90x3:u16'))):
            run('denoise', self.folder / f'in.{name}', self.folder / f'out.{name}', *FAST, *more, code=0)
        out = (self.folder / 'out.raw').read_bytes()
        self.assertEqual(len(out), len(content))
        self.assertEqual((self.folder / 'out.npy').read_bytes()[-len(content):], out)
        self.assertNotEqual(out, content)

    def test_a_shape_that_does_not_fit_is_refused(self):
        photo = self.write('in.raw', samples(70, 90))
        for shape, words in (('70x91x1:u16', ['in.raw', '6370', '12600']), ('70x90', ['2000x3000x1:u16'])):
            self.assert_refused(run('denoise', photo, self.folder / 'out.npy', *FAST, '--raw', shape), 2, *words)
        self.assert_refused(run('denoise', photo, self.folder / 'out.npy', *FAST), 2, 'in.raw', '--raw', 'image.raw')


class Streamed(program.ProgramTest):
    def denoise(self, photo, out, *more, ranks=1):
        result = run('denoise', self.folder / photo, self.folder / out, *FAST, *more, ranks=ranks, code=0)
        self.assertIn('RESULT: VALID', result.stdout)
        return (self.folder / out).read_bytes()

    def test_a_file_that_all_ranks_write_has_the_same_bytes_as_one_that_the_root_writes(self):
        self.write('in.npy', npy(samples(150, 130, 3), (150, 130, 3), '<u2'))
        held = self.denoise('in.npy', 'held.npy', '--output', 'memory')
        for ranks in (1, 2, 3):
            self.assertEqual(self.denoise('in.npy', 'out.npy', '--output', 'file', ranks=ranks), held)
            self.assertEqual(self.denoise('in.npy', 'out.raw', '--output', 'file', ranks=ranks), held[128:])
            self.denoise('in.npy', 'out.tif', '--output', 'file', ranks=ranks)
            self.assertEqual((self.folder / 'out.tif').read_bytes()[:4], b'II+\0')  # BigTIFF
            (self.folder / f'{ranks}.tif').write_bytes((self.folder / 'out.tif').read_bytes())
        self.assertEqual((self.folder / '1.tif').read_bytes(), (self.folder / '2.tif').read_bytes())
        self.assertEqual((self.folder / '1.tif').read_bytes(), (self.folder / '3.tif').read_bytes())
        again = self.denoise('1.tif', 'again.npy', '--output', 'file', ranks=2)
        self.assertEqual(again, self.denoise('held.npy', 'twice.npy', '--output', 'memory'))
        self.assertEqual([file.name for file in self.folder.iterdir() if file.name.startswith('.')], [])

    def test_compressed_tiles_are_the_same_however_the_output_is_put_together(self):
        self.write('in.npy', npy(samples(270, 30, 3), (270, 30, 3), '<u2'))
        plain = self.denoise('in.npy', 'plain.tif', '--output', 'file')
        again = self.denoise('plain.tif', 'again.npy')
        uncompressed = self.denoise('plain.tif', 'again.tif')
        for compression in ('deflate', 'lzw'):
            held = self.denoise('in.npy', 'held.tif', '--output', 'memory', '--compress', compression)
            self.assertEqual(self.denoise('in.npy', 'out.tif', '--output', 'file', '--compress', compression, ranks=2), held)
            self.assertNotEqual(held, plain)
            self.assertEqual(self.denoise('out.tif', 'twice.npy'), again)
            self.assertNotEqual(self.denoise('out.tif', 'twice.tif'), uncompressed, 'compressed as its input is')
            self.assertEqual(self.denoise('out.tif', 'twice.tif', '--compress', 'none'), uncompressed)
        self.assertEqual([file.name for file in self.folder.iterdir() if file.name.startswith('.')], [])
        result = run('denoise', self.folder / 'in.npy', self.folder / 'out.npy', *FAST, '--compress', 'lzw')
        self.assert_refused(result, 2, 'out.npy', 'lzw', '.tif')

    def test_a_slab_of_a_scene_becomes_a_file_and_a_network_runs_on_it(self):
        def study(preset, *more):
            words = [word for setting in (f'preset={preset}', 'stop.min_reps=1', *more) for word in ('--set', setting)]
            run('run', program.REPOSITORY / 'configs/beyond_memory.yaml', *words, '--out', f'results/{preset}',
                ranks=2, cwd=self.folder, code=0)
            return program.points(self.folder / 'results' / preset)[0]

        slab = study('slab', 'image.height=200', 'image.width=300', 'patch=128')
        self.assertEqual(slab['verification']['outcome'], 'passed')
        self.assertTrue(slab['summary']['simulated'])
        file = next((self.folder / 'results/slab').glob('*.tif'))
        self.assertEqual(file.read_bytes()[:4], b'II+\0')
        denoised = study('network', f'image.path={file}', 'image.crop_height=60', 'image.crop_width=70', 'patch=32',
                         'threads=1')
        self.assertEqual(denoised['verification']['outcome'], 'passed')
        self.assertEqual(len([*(self.folder / 'results/network').glob('*.tif')]), 1)

    def test_what_cannot_be_streamed_is_refused(self):
        self.write('in.npy', npy(samples(40, 40, 3), (40, 40, 3), '<u2'))
        self.write('in.png', program.png(40, 40))
        for photo, out, words in (('in.npy', 'out.jpg', ['.jpg']), ('in.npy', 'out.png', ['out.png', '.npy']),
                                  ('in.png', 'out.tif', ['in.png'])):
            result = run('denoise', self.folder / photo, self.folder / out, *FAST, '--output', 'file', ranks=2)
            self.assert_refused(result, 2, *words)
            self.assertFalse((self.folder / out).exists())


if __name__ == '__main__':
    program.main()
