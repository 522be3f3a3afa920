"""Another program embeds patchbench: what `cmake --install` leaves is enough to build and run examples/denoise_image.

arguments: <patchbench> <build folder> <cmake> <C++ compiler> <mpirun..>
"""
import re
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD, CMAKE, COMPILER = (sys.argv.pop(2) for _ in range(3))

import program
from program import REPOSITORY, run

WEIGHTS = REPOSITORY / 'models/dncnn_color_sigma0.1.safetensors'
WIDTH, HEIGHT = 150, 90


def call(*command):
    program.ended(subprocess.run(command, capture_output=True, text=True, timeout=240), 0)


class Embedding(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix='patchbench-embedding-')
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.folder = Path(cls.scratch.name)
        cls.prefix = cls.folder / 'prefix'
        call(CMAKE, '--install', BUILD, '--prefix', cls.prefix)

    def test_only_public_headers_are_installed(self):
        headers = {file.relative_to(self.prefix / 'include') for file in self.prefix.rglob('*.hpp')}
        public = {file.relative_to(REPOSITORY / 'include') for file in (REPOSITORY / 'include').rglob('*.hpp')}
        self.assertEqual(headers, public)
        self.assertEqual([path.name for path in (self.prefix / 'include').iterdir()], ['patchbench'])

    def test_public_headers_need_no_others(self):
        includes = self.prefix / 'include'
        source = self.folder / 'all.cpp'
        source.write_text(''.join(f'#include <{file.relative_to(includes)}>\n' for file in includes.rglob('*.hpp')))
        call(COMPILER, '-std=c++20', '-fsyntax-only', '-I', includes, source)

    def test_the_example_of_the_docs_compiles(self):
        lines = (REPOSITORY / 'docs/embedding.md').read_text().split('\n')
        example = [line[4:] for line in lines[:lines.index('## Build')] if line.startswith('    ')]
        source = self.folder / 'docs.cpp'
        source.write_text('\n'.join([example[0], 'void denoise(const float* values, int64_t height, int64_t width) {',
                                     *example[1:], '}']))
        call(COMPILER, '-std=c++20', '-fsyntax-only', '-I', self.prefix / 'include', source)

    def test_the_package_names_no_folder_of_the_sources(self):
        torch = re.compile(r'set\(PATCHBENCH_(TORCH|CUDNN_FRONTEND) .*')  # may lie in .venv
        for file in self.prefix.rglob('*.cmake'):
            self.assertNotIn(str(REPOSITORY), torch.sub('', file.read_text()).replace(f'{REPOSITORY}/.venv', ''), file)

    def test_the_example_gives_the_bits_of_the_program(self):
        built = self.folder / 'built'
        call(CMAKE, '-S', REPOSITORY / 'examples/denoise_image', '-B', built, f'-DCMAKE_PREFIX_PATH={self.prefix}',
             f'-DCMAKE_CXX_COMPILER={COMPILER}')
        call(CMAKE, '--build', built)
        values = struct.pack(f'<{WIDTH * HEIGHT * 3}f', *((i * 7919 % 1013) / 1012 for i in range(WIDTH * HEIGHT * 3)))
        (self.folder / 'in.pfm').write_bytes(f'PF\n{WIDTH} {HEIGHT}\n-1.0\n'.encode() + values)
        (self.folder / 'in.npy').write_bytes(program.npy(values, (HEIGHT, WIDTH, 3), '<f4'))
        call(built / 'denoise_image', self.folder / 'in.pfm', self.folder / 'out.pfm', WEIGHTS, '0.05')
        run('denoise', self.folder / 'in.npy', self.folder / 'out.npy', '--network', 'dncnn', '--weights', WEIGHTS,
            '--sigma', '0.05', '--patch', '64', '--halo', 'exact', '--batch', '2', '--device', 'cpu', code=0)
        ours, theirs = ((self.folder / name).read_bytes()[-len(values):] for name in ('out.pfm', 'out.npy'))
        self.assertNotEqual(ours, values)
        self.assertEqual(ours, theirs)


if __name__ == '__main__':
    program.main()
