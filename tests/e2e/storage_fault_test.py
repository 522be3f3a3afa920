"""Disks that are full, memory that is short, inputs that vanish while they are read, reads that fail, a clock that steps backwards.

`python3 storage_fault_test.py <patchbench> <library tests/support/faulty_system.cpp> <mpirun and its options>`
"""
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

SYSTEM = str(Path(sys.argv.pop(2)).resolve())

import faulty
import program
from faulty import in_second_point

IMAGE = '{path: %s}'


def npy(edge, value=lambda row, column: (row * 3 + column * 5) % 100 / 100):
    return program.npy([value(row, column) for row in range(edge) for column in range(edge)], (edge, edge), '<f4')


def why_no_small_disk():
    if os.geteuid() != 0:
        return 'a small disk is mounted by root only'
    probe = subprocess.run(['unshare', '--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], capture_output=True, text=True)
    return probe.stderr.strip()


class FullDisk(faulty.FaultyTest):
    """The output folder is a small disk of its own, which only the program's mount namespace has."""

    def setUp(self):
        super().setUp()
        if why := why_no_small_disk():
            self.skipTest(why)

    def run_on_small_disk(self, kib, *arguments, ranks=0, code=None):
        """CompletedProcess; what the disk held is in self.out then."""
        disk = self.folder / 'disk'
        disk.mkdir()
        script = ('disk=$1; out=$2; shift 2; mount -t tmpfs -o size=$0k tmpfs "$disk" || exit 99; "$@"; code=$?; '
                  'cp -a "$disk/." "$out"; exit $code')
        self.out.mkdir()
        words = ['unshare', '--mount', 'sh', '-c', script, str(kib), disk, self.out, *program.command(*arguments, ranks=ranks)]
        return program.ended(subprocess.run(words, capture_output=True, text=True, timeout=120), code)

    def test_results(self):
        """Room for the first point and a half."""
        plain = self.study.read_text() + 'save_images: false\n'
        study = self.write('plain.yaml', plain)
        program.run('run', study, '--out', self.out, code=0)
        lengths = [len(line) + 1 for line in (self.out / 'results.jsonl').read_bytes().splitlines()]
        subprocess.run(['rm', '-r', self.out], check=True)
        kib = (lengths[0] + lengths[1] + lengths[2] // 2) // 4096 * 4
        self.assertGreater(kib * 1024, lengths[0] + lengths[1], 'the disk has a place for the first point')
        result = self.run_on_small_disk(kib, 'run', study, '--out', self.folder / 'disk', ranks=1)
        self.assert_refused(result, 1, 'results.jsonl', 'No space left on device')
        print('\n  ' + next(line for line in result.stderr.splitlines() if 'No space' in line))
        self.assertEqual(self.states(), ['ok'])
        text = (self.out / 'results.jsonl').read_text()
        self.assertTrue(text.endswith('\n'), 'half a line is left')
        self.study.write_text(plain)
        self.assert_goes_on(ranks=1)

    def test_page(self):
        """Room for the results, not for the page: what was measured is printed all the same."""
        study = self.write('plain.yaml', self.study.read_text() + 'save_images: false\n')
        result = self.run_on_small_disk(400, 'run', study, '--out', self.folder / 'disk', '--set', 'stop.min_reps=1')
        self.assert_refused(result, 1, 'report.html', 'No space left on device', 'results.jsonl')
        self.assertEqual(self.states(), ['ok'] * 3)
        self.assertIn('\nFOM ', result.stdout)
        self.assertIn('\nRESULT: ', result.stdout)
        self.assertFalse((self.out / 'report.html').exists())

    def test_image_of_a_study(self):
        study = self.write('large.yaml', self.study.read_text() + '  - {network: dncnn, image: {height: 256, width: 256}}\n')
        self.run_on_small_disk(160, 'run', study, '--out', self.folder / 'disk', '--set', 'stop.min_reps=1', code=1)
        self.assertEqual(self.states()[:3], ['ok'] * 3)
        self.assertEqual(self.states()[3], 'failed')
        self.assertRegex(self.points()[3]['reason'], r'\S+003-\S+\.png: No space left on device')
        self.assertEqual([file.name for file in self.out.rglob('003-*')] + [*self.out.rglob('*.part')], [])

    def test_denoised_image(self):
        noisy = self.write('noisy.png', program.png(200, 200, value=lambda x, y, c: hash((x, y, c)) % 256))
        result = self.run_on_small_disk(24, 'denoise', noisy, self.folder / 'disk/a.png', '--weights', 'seed:1', '--allow-untrained',
                                        '--network', 'dncnn', '--halo', '8', code=1)
        self.assertIn('No space left on device', result.stderr + result.stdout)
        self.assertEqual(list(self.out.iterdir()), [])


    def test_room_for_the_copy_that_compression_makes_is_looked_for_before_the_work(self):
        image = self.write('a.npy', npy(512))  # 1 MiB of pixels
        result = self.run_on_small_disk(1800, 'denoise', image, self.folder / 'disk/a.tif', '--weights', 'seed:1', '--allow-untrained',
                                        '--network', 'dncnn', '--halo', '8', '--output', 'file', '--compress', 'deflate', code=1)
        self.assertRegex(result.stderr + result.stdout, r'a\.tif: .* 2 MiB.* 0 MiB')
        self.assertEqual(list(self.out.iterdir()), [])


class OtherFolders(faulty.FaultyTest):
    """The second of two ranks sees other folders, as on another node or in a container of its own."""

    def setUp(self):
        super().setUp()
        if why := why_no_small_disk():
            self.skipTest(why)
        self.photos = self.folder / 'photos'
        self.photos.mkdir()
        for i in range(4):
            (self.photos / f'{i}.png').write_bytes(program.png(40, 30))
        self.out.mkdir()

    def denoise(self, mount, folder):
        """Rank 1 has `folder` from `mount`."""
        script = ('if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then exec unshare --mount sh -c "$0 && exec \\"\\$@\\"" x "$@"; fi; '
                  'exec "$@"')
        return program.run('denoise', self.photos, self.out, '--weights', 'seed:1', '--allow-untrained', '--network', 'dncnn',
                           '--halo', '8', '--threads', '1', ranks=2, before=['sh', '-c', script, f'{mount} {folder}'])

    def test_outputs_that_only_one_rank_sees(self):
        result = self.denoise('mount -t tmpfs tmpfs', self.out)
        self.assert_refused(result, 2, 'rank 1@', str(self.out), 'all nodes see')
        self.assertEqual(list(self.out.iterdir()), [])

    def test_a_folder_that_one_rank_cannot_write(self):
        result = self.denoise('mount -t tmpfs -o ro tmpfs', self.out)
        self.assert_refused(result, 2, 'rank 1@', str(self.out), 'Read-only')
        self.assertEqual(list(self.out.iterdir()), [])

    def test_a_shared_memory_of_its_own(self):
        result = self.denoise('mount -t tmpfs tmpfs', '/dev/shm')
        self.assert_refused(result, 2, '/dev/shm', '--ipc=host')


class Stopped:
    """A study that is stopped in its second point, while `meddle` is called."""

    def run_stopped(self, stage, meddle, study=None):
        """(exit code, output, errors)"""
        words = self.rank(fault=in_second_point(stage, 'stop'), study=study)
        process = self.start(words)
        state = Path(f'/proc/{process.pid}/stat')
        program.wait_until(lambda: state.read_text().rpartition(')')[2].split()[0] in ('T', 'Z'), 'stop')
        meddle()
        process.send_signal(signal.SIGCONT)
        output, errors = process.communicate(timeout=faulty.HANGS_S)
        return process.returncode, output, errors


class Folder(Stopped, faulty.FaultyTest):
    def test_one_that_is_removed_while_the_study_runs_is_said_to_be(self):
        for images, words in (('true', r'.*\.png: .*\S+/out'),
                              ('false', r'.*/results\.jsonl: .*removed')):
            with self.subTest(save_images=images):
                study = self.write('meddled.yaml', self.study.read_text() + f'save_images: {images}\n')
                code, output, errors = self.run_stopped('gather', lambda: shutil.rmtree(self.out), study)
                self.assertIn(code, (1, 2), errors + output)
                self.assertRegex(errors, rf'patchbench: {words}')
                self.assertNotIn('Make room', errors)

    def test_one_that_is_renamed_is_said_to_be_and_goes_on_in_its_place(self):
        self.study.write_text(self.study.read_text() + 'save_images: false\n')
        code, output, errors = self.run_stopped('gather', lambda: self.out.rename(self.folder / 'other'))
        self.assertEqual(code, 1, errors + output)
        self.assertRegex(errors, r'results\.jsonl: .*renamed.*--resume')
        (self.folder / 'other').rename(self.out)
        result = subprocess.run(self.rank(options=['--resume']), capture_output=True, text=True, timeout=faulty.HANGS_S)
        self.assertEqual((result.returncode, self.states()), (0, ['ok'] * 3), result.stderr)


class Descriptors(faulty.FaultyTest):
    def test_too_few_are_said_to_be_and_the_rank_stands_once(self):
        """From so few that MPI cannot start to enough; which file is met first changes."""
        said = []
        for limit in range(12, 21):
            subprocess.run(['rm', '-rf', self.out], check=True)
            words = ['bash', '-c', f'ulimit -n {limit}; exec "$@"', 'bash', *self.rank(options=['--set', 'stop.min_reps=1'])]
            result = subprocess.run(words, capture_output=True, text=True, timeout=faulty.HANGS_S)
            text = result.stdout + result.stderr
            self.assertNotIn('/proc mounted', text)
            self.assertNotRegex(text, r'rank 0@\S+: rank 0@')
            said += [line for line in text.splitlines() if f' {limit} file descriptors' in line]
        self.assertTrue(said)
        for line in said:
            self.assertRegex(line, r'\S*/\S*: .*ulimit -n')
        print('\n  ' + said[0])


class Inputs(Stopped, faulty.FaultyTest):
    def with_image(self, image):
        return self.write('input.yaml', self.study.read_text().replace('{height: 64, width: 64}', IMAGE % image))

    def test_truncated_while_it_is_read(self):
        """Rank 1 stops between the header and the pixels of the second point; meanwhile the file is cut."""
        for name, content in (('a.npy', npy(64)), ('a.png', program.png(64, 64))):
            with self.subTest(name=name):
                subprocess.run(['rm', '-rf', self.out], check=True)
                image = self.write(name, content)
                study = self.with_image(image)
                code, output, errors = self.run_stopped('read', lambda: os.truncate(image, len(content) // 2), study)
                self.assertEqual(code, 2, errors + output)
                self.assertRegex(errors, rf'patchbench: .*{name}: .*truncated')
                print(f'\n  {errors.strip().splitlines()[-1]}')
                self.assertEqual(self.states(), ['ok'])

    def test_a_file_system_that_fails(self):
        image = self.write('a.npy', npy(64))
        study = self.with_image(image)
        faulty_disk = ['env', f'LD_PRELOAD={SYSTEM}', 'FAULTY_READ=/a.npy:400']
        outcome = self.launch(self.rank(study=study), self.rank(study=study, wrapper=faulty_disk))
        self.assert_ended(outcome, 2, r'rank 1@\S+: .*a\.npy.*: Input/output error')
        self.assertEqual(self.states()[:1], ['ok'])

    def test_signals_while_it_is_read_do_no_harm(self):
        study = self.with_image(self.write('a.npy', npy(64)))
        words = self.rank(study=study, wrapper=['env', f'LD_PRELOAD={SYSTEM}', 'FAULTY_SIGNAL=/a.npy'])
        result = subprocess.run(words, capture_output=True, text=True, timeout=faulty.HANGS_S)
        self.assertEqual((result.returncode, self.states()), (0, ['ok'] * 3), result.stderr)

    def test_not_a_number_by_overflow(self):
        """Finite samples for which DRUNet overflows on rank 1."""
        self.study.write_text(self.study.read_text().replace('{network: dncnn, sigma: 0.2}', '{network: drunet}'))
        image = self.write('a.npy', npy(64, value=lambda row, column: 3e38 if row > 50 else column / 64))
        study = self.with_image(image)
        outcome = self.launch(self.rank(study=study), self.rank(study=study))
        self.assert_ended(outcome, 3, r'rank 1@\S+: .*not finite', goes_on=True)
        written = {file.name[:3] for file in self.out.glob('*.npy')}
        passed = {f'{point["index"]:03}' for point in self.points() if point['verification']['outcome'] == 'passed'}
        self.assertEqual(written, passed)


class ShortMemory(faulty.FaultyTest):
    """Nothing says where the output is put together: it depends on what is free."""

    def notes(self, image, available_kib):
        subprocess.run(['rm', '-rf', self.out], check=True)
        study = self.with_image(image)
        study.write_text(study.read_text()[:study.read_text().index('  - {network: unet}')])
        memory = self.write('meminfo', f'MemTotal: 16000000 kB\nMemAvailable: {available_kib} kB\n')
        words = self.rank(study=study, wrapper=['env', f'LD_PRELOAD={SYSTEM}', f'FAULTY_MEMORY={memory}'],
                          options=['--set', 'image.noise_sigma=0'])
        outcome = self.launch(words, words)
        self.assert_ended(outcome, 0, 'RESULT: (IN)?VALID', goes_on=True)
        return [note for note in self.points()[0]['summary']['notes'] if '(output: ' in note]

    def with_image(self, image):
        return self.write('input.yaml', self.study.read_text().replace('{height: 64, width: 64}', IMAGE % image))

    def test_an_image_of_half_the_free_memory_is_written_by_all_ranks(self):
        image = self.write('a.npy', npy(64))  # input and output: 32 KiB
        self.assertEqual(self.notes(image, 64), [])
        held = (self.out / '000-dncnn-p32-h8-b1-fp32.npy').read_bytes()
        self.assertRegex(self.notes(image, 63)[0], r'\(output: file\)')
        self.assertEqual((self.out / '000-dncnn-p32-h8-b1-fp32.npy').read_bytes(), held)

    def test_one_that_must_be_held_says_why(self):
        image = self.write('a.png', program.png(64, 64))  # 24 KiB
        self.assertRegex(self.notes(image, 47)[0], r'\(output: memory\).*a\.png')


    def test_a_sixteenth_of_the_free_memory_is_left_to_others(self):
        study = self.write('plain.yaml', self.study.read_text() + 'save_images: false\n')
        for available_kib, code in ((103, 0), (100, 5)):  # input and output have 48 KiB each
            memory = self.write('meminfo', f'MemTotal: 16000000 kB\nMemAvailable: {available_kib} kB\n')
            words = self.rank(study=study, wrapper=['env', f'LD_PRELOAD={SYSTEM}', f'FAULTY_MEMORY={memory}'])
            program.ended(subprocess.run(words, capture_output=True, text=True, timeout=faulty.HANGS_S), code)
            self.assertEqual(self.states(), ['oom' if code else 'ok'] * 3)


class Clock(faulty.FaultyTest):
    def test_stepping_backwards(self):
        words = self.rank(wrapper=['env', f'LD_PRELOAD={SYSTEM}', 'FAULTY_CLOCK=1'])
        outcome = self.launch(words, words)
        self.assert_ended(outcome, 0, 'RESULT:', goes_on=True)
        for point in self.points():
            for rank in point['samples']['ranks']:
                self.assertTrue(all(0 < seconds < 60 for seconds in rank['wall_s']), rank['wall_s'])
            self.assertTrue(all(0 < seconds < 60 for seconds in point['samples']['wall_s']))
        self.assert_goes_on()

    def test_the_clock_of_the_test_does_step(self):
        seconds = subprocess.run([sys.executable, '-c', 'import time; print(time.time() - time.time())'], text=True,
                                 capture_output=True, env={**os.environ, 'LD_PRELOAD': SYSTEM, 'FAULTY_CLOCK': '1'})
        self.assertGreater(float(seconds.stdout), 3000)


if __name__ == '__main__':
    program.main()
