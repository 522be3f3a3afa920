"""`cmake --install` leaves a program that needs neither the sources nor the build folder, but LibTorch.

arguments: <patchbench> <build folder> <cmake> <mpirun..>
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD, CMAKE = (sys.argv.pop(2) for _ in range(2))

import program


def call(*command, code=0):
    env = {key: value for key, value in os.environ.items() if not key.startswith('PATCHBENCH_')}
    result = program.ended(subprocess.run(command, capture_output=True, text=True, timeout=200, env=env), code)
    return result.stdout + result.stderr


class Installation(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix='patchbench-install-')
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        call(CMAKE, '--install', BUILD, '--prefix', self.folder / 'first')
        self.prefix = self.folder / 'moved'  # as a package is staged
        (self.folder / 'first').rename(self.prefix)
        self.program = self.prefix / 'bin/patchbench'
        self.data = self.prefix / 'share/patchbench'
        (self.folder / 'in.png').write_bytes(program.png(40, 30))

    def denoise(self, code=0):
        return call(self.program, 'denoise', self.folder / 'in.png', self.folder / 'out.png', '--sigma', '0.1', '--device',
                    'cpu', '--verify', '1', code=code)  # by `torch`, whose library is loaded by its name

    def test_the_program_finds_what_belongs_to_it(self):
        self.denoise()
        self.assertTrue((self.folder / 'out.png').exists())
        shutil.rmtree(self.data / 'models')  # and no other copy of it
        self.assertIn("no folder 'models'", self.denoise(code=2))

    def test_the_library_of_the_build_folder_is_not_taken(self):
        for library in self.prefix.rglob('libpatchbench_torch*.so'):
            library.unlink()
        text = call(self.program, '--version', code=1)
        self.assertIn('LibTorch cannot be loaded', text)
        self.assertIn(f"the program runs from '{self.prefix}/bin'", text)

    def test_engines_lie_beside_their_worker(self):
        text = call(self.program, 'bench', '--network', 'dncnn', '--weights', 'seed:1', '--engine', 'jax', code=1)
        self.assertIn(f'{self.data}/.engines/jax/bin/python does not exist', text)

    def test_scripts_of_clusters_and_studies_are_there(self):
        self.assertIn('usage', call(self.data / 'launch/engines.sh', '--help'))
        self.assertIn('points', call(self.program, 'plan', self.data / 'configs/batch_fit.yaml'))
        for file in ('python/patchbench.py', 'launch/bind.sh', 'launch/slurm.sbatch', 'launch/modulefiles/patchbench', 'models/get_weights.sh',
                     'data/get_photos.sh'):
            self.assertTrue((self.data / file).is_file(), file)


if __name__ == '__main__':
    program.main()
