"""Files of launch/ that are for programs which are not here: at least their language accepts them."""
import py_compile
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import program

LAUNCH = program.REPOSITORY / 'launch'
# What Environment Modules gives a module file, as procedures that print what they are asked for.
MODULES = """
set ModulesCurrentModulefile %s
foreach word {setenv prepend-path conflict module-whatis} { proc $word args "puts \\"$word \\$args\\"" }
source $ModulesCurrentModulefile
"""


class LaunchFilesTest(unittest.TestCase):
    def test_the_module_file_leads_to_this_folder(self):
        if not shutil.which('tclsh'):
            self.skipTest('tclsh is missing (apt package tcl)')
        file = LAUNCH / 'modulefiles' / 'patchbench'
        self.assertTrue(file.read_text().startswith('#%Module'))
        result = subprocess.run(['tclsh'], input=MODULES % file, capture_output=True, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        for folder in ('build', 'launch'):
            self.assertIn(f'prepend-path PATH {program.REPOSITORY}/{folder}\n', result.stdout)

    def test_ranks_start_where_there_is_no_ssh(self):
        with tempfile.TemporaryDirectory() as folder:
            for tool in ('bash', 'dirname', 'env', 'getconf', 'grep', 'id', 'lscpu', 'mpirun', 'nproc', 'sort', 'wc'):
                (Path(folder) / tool).symlink_to(shutil.which(tool))
            result = subprocess.run([LAUNCH / 'ranks.sh', '2', 'env'], capture_output=True, text=True, timeout=60,
                                    env={'PATH': folder, 'HOME': folder})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count('OMPI_COMM_WORLD_RANK='), 2)

    def test_the_spack_package_is_python(self):
        with tempfile.TemporaryDirectory() as folder:
            py_compile.compile(str(LAUNCH / 'spack' / 'package.py'), str(Path(folder) / 'compiled'), doraise=True)


if __name__ == '__main__':
    program.main()
