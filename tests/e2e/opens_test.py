"""patchbench denoise opens an input once on each rank, and only one rank of a node decodes it for the noise level.

`python3 opens_test.py <patchbench> <library tests/support/faulty_system.cpp> <mpirun and its options>`
"""
import collections
import os
import random

import watched

import program
from program import npy, png

RANKS = 2
FAST = ('--patch', '32', '--device', 'cpu')  # sigma, halo and batch: auto


def noise(edge, bands):
    """A .npy of noise round 0.5 as f32."""
    source = random.Random(3)
    return npy([source.gauss(0.5, 0.1) for _ in range(edge * edge * bands)], (edge, edge, bands), '<f4')


class Opens(watched.WatchedTest):
    def counts(self, call, photo, calls):
        """How often each process did that, ascending."""
        return sorted(collections.Counter(each.process for each in calls
                                          if each.name == call and each.path == str(photo)).values())

    def denoise(self, photo, out, *more):
        _, calls = self.run_watched('denoise', photo, self.folder / out, *FAST, *more, ranks=RANKS, code=0)
        return calls

    def assert_opened_once(self, photo, out, *more):
        calls = self.denoise(photo, out, *more)
        self.assertEqual(self.counts('open', photo, calls), [1] * RANKS, (photo.name, more))

    def test_once_on_each_rank(self):
        photo, floats = self.write('photo.png', png(48, 40)), self.write('floats.npy', noise(48, 3))
        self.assert_opened_once(photo, 'out.png')
        self.assert_opened_once(photo, 'out.png', '--sigma', '0.1', '--halo', '8', '--batch', '1', '--verify', '0')
        self.assert_opened_once(floats, 'out.tif', '--output', 'file')
        self.assert_opened_once(floats, 'out.npy')
        self.assert_opened_once(floats, 'out.npy', '--range', 'auto', '--output', 'file')

    def test_once_for_all_groups_of_bands(self):
        self.assert_opened_once(self.write('bands.npy', noise(40, 7)), 'out.npy', '--halo', '8', '--batch', '1')

    def test_once_where_images_are_shared_out(self):
        images = [self.write(f'{i}.png', png(40, 36)) for i in range(RANKS)]
        _, calls = self.run_watched('denoise', *images, f'{self.folder}/out/', *FAST, ranks=RANKS, code=0)
        for photo in images:
            self.assertEqual(self.counts('open', photo, calls), [1], photo.name)

    def test_one_rank_decodes_and_once(self):
        """A JPEG is read whole for its header, after its first bytes, and once more to decode it."""
        photo = self.folder / 'photo.jpg'
        program.run('denoise', self.write('photo.png', png(48, 40)), photo, *FAST, '--sigma', '0.1', code=0)
        for more in ((), ('--range', 'auto', '--sigma', '0.1/1'), ('--sigma', '0.1')):
            calls = self.denoise(photo, 'out.jpg', '--verify', '0', *more)
            self.assertEqual(self.counts('read', photo, calls), [2] * (RANKS - 1) + [3], more)

    def test_libtorch_only_where_it_is_needed(self):
        """Verification computes with it, and so does the search for a halo, which an image of one patch does not need."""
        for edge, needed in ((64, False), (100, True)):
            photo = self.write(f'{edge}.png', png(edge, edge))
            loads = {**os.environ, 'LD_DEBUG': 'files', 'LD_DEBUG_OUTPUT': str(self.folder / f'loads{edge}'), 'PATCHBENCH_CACHE': 'off'}
            program.run('denoise', photo, self.folder / 'out.png', '--patch', '64', '--device', 'cpu', '--engine', 'native',
                        '--sigma', '0.1', '--verify', 'none', env=loads, code=0)
            said = ''.join(each.read_text(errors='replace') for each in self.folder.glob(f'loads{edge}.*'))
            self.assertEqual('libtorch_cpu.so' in said, needed, edge)


if __name__ == '__main__':
    program.main()
