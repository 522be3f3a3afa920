"""Scripts of launch/ among programs that are made up; of files for programs which are not here, at least that their
language accepts them."""
import hashlib
import os
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

    def ranks(self, *arguments, cores=4, allowed=None, gpus=0, **variables):
        """(exit code, what ranks.sh tells mpirun or the user) on a machine of so many cores and GPUs, which is made up."""
        threads = [f'{core},0' for core in range(cores)] * 2
        slices = [f'GPU {gpu}: a GPU\n  MIG 1g.5gb Device 0: (UUID: MIG-GPU-8932f937)' for gpu in range(gpus)]
        says = {'mpirun': '"$@" ${SAYS_PLM:+$OMPI_MCA_plm}', 'getconf': f'{2 * cores}',
                'lscpu': f'$([ $1 = -p=core,socket ] && echo "#" {" ".join(threads)} || echo {" ".join(map(str, range(2 * cores)))})',
                'nproc': f'{allowed or 2 * cores}', 'nvidia-smi': ' '.join(f"'{lines}'" for lines in slices)}
        with tempfile.TemporaryDirectory() as folder:
            for tool in ('bash', 'dirname', 'env', 'grep', 'id', 'sed', 'sort', 'tr', 'wc'):
                (Path(folder) / tool).symlink_to(shutil.which(tool))
            for tool, said in says.items():
                (Path(folder) / tool).write_text(f"#!/bin/sh\nprintf '%s\\n' {said}\n")
                (Path(folder) / tool).chmod(0o755)
            result = subprocess.run([LAUNCH / 'ranks.sh', *arguments], capture_output=True, text=True, timeout=60,
                                    env={'PATH': folder, **variables})
        return result.returncode, ' '.join((result.stdout + result.stderr).splitlines())

    def test_ranks_share_out_the_cores_where_there_are_enough(self):
        self.assertEqual(self.ranks('2', 'a', 'b  c'), (0, '--map-by slot:PE=2 --bind-to core -n 2 a b  c'))
        self.assertEqual(self.ranks('4', 'a'), (0, '--map-by slot:PE=1 --bind-to core -n 4 a'))
        unbound = '--oversubscribe --bind-to none'
        self.assertEqual(self.ranks('5', 'a'), (0, f'{unbound} -n 5 a'))
        self.assertEqual(self.ranks('2', 'a', allowed=4), (0, f'{unbound} -n 2 a'), 'half of the machine')

    def test_who_starts_the_ranks_is_the_users_choice(self):
        for chosen, started_by in (({}, 'isolated'), ({'OMPI_MCA_plm': 'slurm'}, 'slurm')):
            self.assertTrue(self.ranks('2', 'a', SAYS_PLM='1', **chosen)[1].endswith(f' a {started_by}'))

    def test_auto_is_a_rank_for_each_gpu_or_two(self):
        for gpus, variables, expected in ((3, {}, 3), (0, {}, 2), (3, {'CUDA_VISIBLE_DEVICES': '0'}, 1),
                                          (3, {'CUDA_VISIBLE_DEVICES': '2,0,GPU-1,3'}, 4),
                                          (3, {'CUDA_VISIBLE_DEVICES': ''}, 2), (3, {'CUDA_VISIBLE_DEVICES': '-1'}, 2)):
            self.assertIn(f'-n {expected} a', self.ranks('auto', 'a', gpus=gpus, **variables)[1], (gpus, variables))

    def test_a_number_of_ranks_that_is_none_is_refused(self):
        for number in ('0', '-1', '2x', ''):
            code, said = self.ranks(number, 'a')
            self.assertEqual((code, said), (1, f"error: the number of ranks is a positive integer or auto, not '{number}'"))
        self.assertEqual(self.ranks('2')[0], 2)

    def get_weights(self, folder, *names, sends='weights\n'):
        """(exit code, what it printed, what it fetched) of get_weights.sh in `folder`, with a curl that gives `sends`."""
        (folder / 'curl').write_text(f'#!/bin/bash\nout=${{@: -2:1}}\n[ -n "{sends}" ] || {{ echo "curl: no route" >&2; exit 7; }}\n'
                                     f'printf "%s" "{sends}" >"$out"\necho "${{@: -1}}" >>"{folder}/fetched"\n')
        (folder / 'curl').chmod(0o755)
        result = subprocess.run([folder / 'models' / 'get_weights.sh', *names], capture_output=True, text=True, timeout=60,
                                env=os.environ | {'PATH': f'{folder}:{os.environ["PATH"]}'})
        fetched = folder / 'fetched'
        urls = fetched.read_text().split() if fetched.exists() else []
        fetched.unlink(missing_ok=True)
        return result.returncode, result.stdout + result.stderr, urls

    def test_weights_are_fetched_once_and_held_against_their_checksum(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for file in ('launch/common.sh', 'models/get_weights.sh'):
                (folder / file).parent.mkdir()
                shutil.copy(program.REPOSITORY / file, folder / file)
            models = folder / 'models'
            good = hashlib.sha256(b'weights\n').hexdigest()
            (models / 'some.yaml').write_text(
                f'weights:\n  - name: known\n    file: known.pth\n    url: https://x/known\n    sha256: {good}\n'
                '  - name: ours\n    file: ours.safetensors\n    url: null\n    sha256: null\n'
                '  - name: unknown\n    file: unknown.pth\n    url: https://x/unknown\n    sha256: null\n')
            for stranger in ('ours', 'know'):
                code, said, _ = self.get_weights(folder, stranger)
                self.assertEqual((code, 'there are: known unknown' in said), (1, True), said)
            code, said, _ = self.get_weights(folder, sends='')
            self.assertEqual((code, 'curl: no route' in said), (1, True), said)
            code, said, urls = self.get_weights(folder, sends='another file')
            self.assertEqual((code, urls, f'expected {good}' in said), (1, ['https://x/known'], True), said)
            self.assertEqual(sorted(file.name for file in models.iterdir()), ['get_weights.sh', 'some.yaml'])
            code, said, urls = self.get_weights(folder, 'unknown')
            self.assertEqual((code, urls), (0, ['https://x/unknown']), said)
            self.assertEqual((models / 'downloaded.sha256').read_text(), f'{good}  unknown.pth\n')
            code, said, urls = self.get_weights(folder)
            self.assertEqual((code, urls, said.count(good)), (0, ['https://x/known'], 2), said)
            self.assertEqual((models / 'known.pth').read_text(), 'weights\n')
            self.assertEqual(list(models.glob('*.part')), [])
            self.assertEqual(self.get_weights(folder)[::2], (0, []))
            self.assertEqual((models / 'downloaded.sha256').read_text().count(good), 2)
            (models / 'unknown.pth').write_text('changed')  # whose checksum only the record has
            code, said, _ = self.get_weights(folder)
            self.assertEqual((code, 'models/unknown.pth has sha256' in said), (1, True), said)

    def test_the_spack_package_is_python(self):
        with tempfile.TemporaryDirectory() as folder:
            py_compile.compile(str(LAUNCH / 'spack' / 'package.py'), str(Path(folder) / 'compiled'), doraise=True)


if __name__ == '__main__':
    program.main()
