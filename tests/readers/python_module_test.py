"""python/patchbench.py: arrays through the program."""
import os
import pickle
import subprocess
import sys
from pathlib import Path

from readers import program  # first: it makes the packages below known

import numpy

sys.path.insert(0, str(program.REPOSITORY / 'python'))
import patchbench  # noqa: E402

OPTIONS = {'network': 'dncnn', 'device': 'cpu', 'patch': 32, 'halo': 8, 'sigma': 0.1}


def picture(*shape, sigma=0.1, seed=1):
    """A smooth image, and it with noise, in [0,1]."""
    y, x = numpy.mgrid[:shape[0], :shape[1]]
    smooth = 0.5 + 0.3 * numpy.sin(x / 9) * numpy.cos(y / 7)
    clean = numpy.broadcast_to(smooth.reshape(shape[:2] + (1,) * (len(shape) - 2)), shape)
    return clean, clean + numpy.random.default_rng(seed).normal(0, sigma, shape)


def rms(a, b):
    return float(numpy.sqrt(numpy.mean((numpy.asarray(a, 'f8') - b)**2)))


class PythonModule(program.ProgramTest):
    def setUp(self):
        super().setUp()
        os.environ['PATCHBENCH'] = program.PROGRAM
        self.addCleanup(os.environ.pop, 'PATCHBENCH')
        self.launcher = ' '.join(program.MPIRUN) + ' -n {ranks}'

    def test_arrays_keep_type_and_shape(self):
        clean, noisy = picture(60, 70, 3)
        for type_, white in (('f4', 1), ('f8', 1), ('f2', 1), ('u1', 255), ('u2', 65535)):
            given = (numpy.clip(noisy, 0, 1) * white).astype(type_)
            for each in (given, numpy.asfortranarray(given), given[::-1][::-1]):
                done = patchbench.denoise(each, **OPTIONS)
                self.assertEqual((done.dtype, done.shape), (given.dtype, given.shape))
                self.assertLess(rms(done / white, clean), 0.5 * rms(given / white, clean))
                numpy.testing.assert_array_equal(each, given, 'the input is as it was')

    def test_what_the_program_says_comes_back(self):
        clean, noisy = picture(60, 70, 3)
        (image, info), = patchbench.denoise_all([noisy.astype('f4')], clean=[clean.astype('f4')], **OPTIONS)
        self.assertEqual((info['network'], info['height'], info['width'], info['halo']), ('dncnn', 60, 70, '8'))
        self.assertAlmostEqual(info['psnr_denoised_db'], -20 * numpy.log10(rms(numpy.clip(image, 0, 1), clean)), delta=0.05)
        self.assertEqual(patchbench.denoise_all([]), [])

    def test_many_on_several_ranks_are_those_of_one_by_one(self):
        images = [picture(40 + 3 * index, 50, 3, seed=index)[1].astype('f4') for index in range(5)]
        together = patchbench.denoise_all(iter(images), ranks=2, launcher=self.launcher, folder=self.folder, **OPTIONS)
        for image, (denoised, info) in zip(images, together):
            self.assertEqual(info['height'], image.shape[0])
            numpy.testing.assert_array_equal(denoised, patchbench.denoise(image, **OPTIONS))
        self.assertEqual(list(self.folder.iterdir()), [], 'nothing stays')

    def test_ranks_of_another_launch_may_each_denoise(self):
        script = self.write('each.py', f'import sys\nsys.path.insert(0, {str(program.REPOSITORY / "python")!r})\n'
                            'import numpy, patchbench\nimage = numpy.full((24, 20, 3), 0.5, "f4")\n'
                            f'assert patchbench.denoise(image, timeout=60, **{OPTIONS!r}).shape == image.shape\n')
        subprocess.run([*program.MPIRUN, '-n', '2', sys.executable, script], check=True, timeout=90)

    def test_bands_have_an_info_each(self):
        (image, info), = patchbench.denoise_all([picture(40, 50, 6)[1].astype('f4')], **OPTIONS)
        self.assertEqual(([each['bands'] for each in info], image.shape), (['1-3', '4-6'], (40, 50, 6)))

    def test_what_fails_is_raised_with_its_reason(self):
        good = picture(40, 50, 3)[1].astype('f4')
        bad = good * numpy.nan
        with self.assertRaises(patchbench.PatchbenchError) as raised:
            patchbench.denoise_all([good, bad], **OPTIONS)
        self.assertRegex(str(raised.exception), r'^image 1: .*(NaN|not finite|no number)')
        self.assertEqual(str(pickle.loads(pickle.dumps(raised.exception))), str(raised.exception))
        self.assertEqual((raised.exception.code, len(raised.exception.info)), (1, 2))
        with self.assertRaisesRegex(patchbench.PatchbenchError, r'^patchbench: cannot read image 0: .*(NaN|not finite|no number)') as raised:
            patchbench.denoise(bad, folder=self.folder, **OPTIONS)
        self.assertNotIn(str(self.folder), str(raised.exception), 'files that are gone')
        with self.assertRaisesRegex(patchbench.PatchbenchError, r'clean image 0\b'):
            patchbench.denoise_all([good], clean=[good[1:]], **OPTIONS)
        for wrong, said in (({'patch': 'x'}, '--patch'), ({'no_such': 1}, '--no-such')):
            with self.assertRaisesRegex(patchbench.PatchbenchError, said) as raised:
                patchbench.denoise(good, **OPTIONS | wrong)
            self.assertEqual(raised.exception.code, 2)
        with self.assertRaises(ValueError):
            patchbench.denoise_all([good], clean=[good, good])
        for wrong in ({'clean': good}, {'dry_run': True}, {'format': 'tif'}):
            with self.assertRaises(TypeError):
                patchbench.denoise(good, **wrong)
        with self.assertRaises(ValueError):
            patchbench.denoise(numpy.array([[object()]]))
        with self.assertRaisesRegex(TypeError, 'filled'):
            patchbench.denoise(numpy.ma.masked_invalid(bad), **OPTIONS)
        os.environ['PATCHBENCH'] = '/nowhere/patchbench'
        with self.assertRaises(FileNotFoundError):
            patchbench.denoise(good)
        os.environ['PATCHBENCH'] = program.PROGRAM

    def test_ranks_that_take_too_long_are_ended(self):
        launcher = self.write('a launcher', f'#!/bin/sh\nprintf "%s\\n" "$@" >{self.folder}/words\ntrap "touch {self.folder}/told; exit 1" TERM\nsleep 100 & wait\n'.encode())
        launcher.chmod(0o755)
        with self.assertRaises(subprocess.TimeoutExpired):
            patchbench.denoise_all([picture(40, 50, 3)[1]], ranks=2, launcher=f"'{launcher}' -n {{ranks}}", timeout=2, folder=self.folder, **OPTIONS)
        self.assertTrue((self.folder / 'told').exists())
        words = (self.folder / 'words').read_text().split()
        self.assertEqual(words[:2], ['-n', '2'])
        self.assertEqual(Path(words[4]).parents[1], self.folder, 'where all nodes see it')
        self.assertEqual(list(self.folder.glob('patchbench-*')), [], 'nothing stays')

    def test_flags_and_what_is_left_out(self):
        done = patchbench.denoise(picture(40, 50, 3)[1].astype('f4'), allow_untrained=True, weights='seed:1', verify=None, config=False,
                                  memory_limit_mib=4000, **OPTIONS)
        self.assertEqual(done.shape, (40, 50, 3))


if __name__ == '__main__':
    program.main()
