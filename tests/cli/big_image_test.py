"""Images that are read and written by windows: raw samples, and outputs that all ranks write together."""
import struct

import program
from program import run

FAST = ('--halo', '8', '--patch', '32', '--batch', '2', '--sigma', '0.1', '--device', 'cpu', '--verify', '1')


def samples(height, width, channels=1):
    """Something rough, the same on every machine: 16 bits a sample."""
    return b''.join(struct.pack('<H', (x * 701 + y * 1301 + (x * y * 31 + c * 57) % 9700) % 65536)
                    for y in range(height) for x in range(width) for c in range(channels))


def npy(height, width, content, channels=1):
    shape = f'({height}, {width})' if channels == 1 else f'({height}, {width}, {channels})'
    header = f"{{'descr': '<u2', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + '\n'
    return b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header.encode() + content


class Raw(program.ProgramTest):
    def test_raw_samples_are_denoised_like_the_same_ones_in_npy(self):
        content = samples(70, 90, 3)
        self.write('in.npy', npy(70, 90, content, 3))
        self.write('in.raw', content)
        for name, more in (('npy', ()), ('raw', ('--raw', '70x90x3:u16'))):
            result = run('denoise', self.folder / f'in.{name}', self.folder / f'out.{name}', *FAST, *more)
            self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        out = (self.folder / 'out.raw').read_bytes()
        self.assertEqual(len(out), len(content))
        self.assertEqual((self.folder / 'out.npy').read_bytes()[-len(content):], out)
        self.assertNotEqual(out, content)

    def test_a_shape_that_does_not_fit_is_refused(self):
        photo = self.write('in.raw', samples(70, 90))
        for shape, words in (('70x91x1:u16', ['12740 bytes', 'it has 12600']), ('70x90', ['2000x3000x1:u16'])):
            self.assert_refused(run('denoise', photo, self.folder / 'out.npy', *FAST, '--raw', shape), 2, *words)
        self.assert_refused(run('denoise', photo, self.folder / 'out.npy', *FAST), 2, 'none of PNG, JPEG, TIFF')


if __name__ == '__main__':
    program.main()
