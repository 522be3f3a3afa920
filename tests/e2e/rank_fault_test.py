"""One rank of two meets a fault, mostly in the second point of three: killed, stopped, out of memory, throwing, wrong."""
import os
import shutil
from pathlib import Path

import faulty
import program
from faulty import in_second_point


class RankFaults(faulty.FaultyTest):
    def with_fault(self, fault, rank=1):
        ranks = [self.rank(), self.rank()]
        ranks[rank] = self.rank(fault=fault)
        return self.launch(*ranks)

    def test_killed(self):
        for stage, rank in (('gather', 1), ('forward', 1), ('exchange', 1), ('write', 0)):  # the root writes
            with self.subTest(stage=stage):
                shutil.rmtree(self.out, ignore_errors=True)
                outcome = self.with_fault(in_second_point(stage, 'kill'), rank)
                self.assert_ended(outcome, 137, rf'rank {rank} with PID \d+ on node \S+ exited on signal 9')
                self.assertEqual(self.states(), ['ok'])
                self.assertEqual([file.name[:3] for file in self.out.glob('*.png')], ['000'])
        self.assert_goes_on()

    def test_stopped(self):
        for rank in (1, 0):
            with self.subTest(rank=rank):
                shutil.rmtree(self.out, ignore_errors=True)
                outcome = self.with_fault(in_second_point('forward', 'stop'), rank)
                self.assert_ended(outcome, 1, rf'rank {1 - rank}@\S+ .*: .* 2 s .*rank {rank}@')
                self.assertEqual(self.states(), ['ok'])

    def test_an_error_fails_its_point_and_the_study_goes_on(self):
        outcome = self.with_fault(in_second_point('forward', 'throw'))
        self.assert_ended(outcome, 1, r'rank 1@\S+: .*PATCHBENCH_FAULT', goes_on=True)
        self.assertEqual(self.states(), ['ok', 'failed', 'ok'])
        self.assertRegex(self.points()[1]['reason'], r'^rank 1@\S+: .*PATCHBENCH_FAULT')
        self.assert_goes_on()

    def test_an_error_between_collectives_ends_the_job(self):
        for schedule in ('contiguous', 'dynamic'):
            with self.subTest(schedule=schedule):
                shutil.rmtree(self.out, ignore_errors=True)
                self.study.write_text(f'{faulty.STUDY}\nschedule: {schedule}\n')
                outcome = self.with_fault(in_second_point('exchange', 'throw'))
                self.assert_ended(outcome, 1, r'rank 1@\S+: .*PATCHBENCH_FAULT')
                self.assertEqual(self.states(), ['ok'])

    def test_an_error_under_dynamic_scheduling_fails_its_point_alone(self):
        self.study.write_text(f'{faulty.STUDY}\nschedule: dynamic\n')
        outcome = self.with_fault('forward:throw:1')
        self.assert_ended(outcome, 1, r'rank 1@\S+: .*PATCHBENCH_FAULT', goes_on=True)
        self.assertEqual(self.states(), ['failed', 'ok', 'ok'])

    def test_exchanged_rows(self):
        """A rank fails while its neighbour waits for border rows: DnCNN exchanges 19 times in each of two passes, and
        the image once more."""
        self.study.write_text(faulty.STUDY.replace('halo: 8', 'halo: exchanged\nengine: native').replace(
            '{network: unet}', '{network: dncnn, sigma: 0.3}'))
        second = 2 * 20 + 9
        for action, code, said in (('kill', 137, r'rank 1 with PID \d+ on node \S+ exited on signal 9'),
                                   ('stop', 1, r'rank 0@\S+ .*: .* 2 s .*rank 1@')):
            with self.subTest(action=action):
                shutil.rmtree(self.out, ignore_errors=True)
                outcome = self.with_fault(f'exchange:{action}:{second}')
                self.assert_ended(outcome, code, said)
                self.assertEqual(self.states(), ['ok'])
        self.assert_goes_on()

    def test_host_memory_of_one_rank_runs_out(self):
        outcome = self.with_fault(in_second_point('gather', 'memory'))
        self.assert_ended(outcome, 5, r'RESULT: .*1 of 3 points', goes_on=True)
        self.assertEqual(self.states(), ['ok', 'oom', 'ok'])
        self.assertRegex(self.points()[1]['reason'], r'^rank 1@\S+: host memory')

    def test_the_networks_memory_of_one_rank_runs_out(self):
        """3 windows in batches of 2: rank 0 has one window, rank 1 two, which take more than the limit."""
        study = self.write('limited.yaml', faulty.STUDY.partition('patch:')[0] + """
engine: torch
memory_limit_mib: 5
threads: 1
warmup.reps: 0
stop: {min_reps: 2, max_time_s: 0}
network: dncnn
patch: 64
halo: 0
last_batch: ragged
image: {height: 192, width: 64}
groups: [{batch: 1}, {batch: 2}, {batch: 1, sigma: 0.2}]
""")
        outcome = self.launch(*[self.rank(study=study)] * 2)
        self.assert_ended(outcome, 5, r'RESULT: .*1 of 3 points', goes_on=True)
        self.assertEqual(self.states(), ['ok', 'oom', 'ok'])
        self.assertRegex(self.points()[1]['reason'], r'^rank 1@\S+: engine: dncnn on cpu: out of memory')

    def test_another_image_on_one_rank(self):
        """Files of one name, as copies in folders of the nodes can be: of other sizes, or of other pixels."""
        others = ((program.png(48, 64), r'64 rows, 48 columns.*found input\.png: 64 rows, 64 columns'),
                  (program.png(64, 64, value=lambda x, y, c: x), r'bytes (\w+), .*found input\.png of bytes (?!\2)\w+'))
        for number, words in enumerate((['run', 'input.yaml', '--out', 'out'],
                                        ['denoise', 'input.png', 'out.png', '--sigma', '0.1', '--halo', 'exchanged'],
                                        ['tune', 'input.png'])):
            for other, said in others:
                with self.subTest(words[0], said=said):
                    folders = [self.folder / f'{number}-{rank}' for rank in range(2)]
                    for folder, image in zip(folders, (program.png(64, 64), other)):
                        folder.mkdir(exist_ok=True)
                        (folder / 'input.png').write_bytes(image)
                        text = faulty.STUDY.replace('{height: 64, width: 64}', '{path: input.png}')
                        (folder / 'input.yaml').write_text(text)
                    outcome = self.launch(*(['env', '-C', str(folder), program.PROGRAM, *words] for folder in folders))
                    self.assert_ended(outcome, 2, rf'rank 1@\S+: found input\.png(:| of) {said}.*same files')

    def test_other_settings_on_one_rank(self):
        """A study that is an old copy on a node, a launcher that passes on other options: the figures would be of no
        settings, and ranks that do not take part in the same steps wait for each other for ever."""
        image = self.write('input.png', program.png(64, 64))
        study = ['run', str(self.study), '--out', str(self.out)]
        denoise = ['denoise', image, str(self.folder / 'out.png'), '--weights', 'seed:1', '--allow-untrained']
        tune = ['tune', image, '--output', str(self.folder / 'tuned.yaml')]
        for words, other, said in ((study, ['--set', 'patch=16'], 'patch = 16, but rank 0 was told patch = 32'),
                                   (study, ['--set', 'memory_limit_mib=4'], 'memory_limit_mib = 4, but .* memory_limit_mib = 0'),
                                   (study, ['--set', 'verify.mode=off'], 'verify.mode = off, but .* verify.mode = probes'),
                                   (study, ['--set', 'batch=[1, 2]'], r'\d points, but rank 0 was told \d points'),
                                   (study, ['--set', 'metrics.reduction=mpi'], 'metrics.reduction = mpi'),
                                   (study, ['--strict'], '--strict = true, but rank 0 was told --strict = false'),
                                   (study, ['--max-time', '100'], '--max-time = 100, but rank 0 was told --max-time = 0'),
                                   (denoise, ['--sigma', '0.2'], '--sigma 0.2, but rank 0 was told --sigma auto'),
                                   (denoise, ['--patch', '32'], 'patch = 32, but'),
                                   (denoise, [str(self.folder / 'two.png')], r'3 paths of IN\.\.\. OUT, but'),
                                   (denoise, ['--compress', 'none'], '--compress none, but'),
                                   (denoise, ['--no-clobber'], '--no-clobber = true, but rank 0 was told --no-clobber = false'),
                                   (tune, ['--threads', '1'], 'threads = 1, but rank 0 was told threads = auto')):
            with self.subTest(words=words[0], other=other):
                outcome = self.launch([program.PROGRAM, *words], [program.PROGRAM, *words, *other])
                self.assert_ended(outcome, 2, rf'rank 1@\S+: was told {said}.*same study')
        for words in (study, tune):
            with self.subTest(words=words[0], other='the folder or file that it writes'):
                outcome = self.launch([program.PROGRAM, *words], [program.PROGRAM, *words[:-1], 'elsewhere'])
                self.assert_ended(outcome, 2, rf'rank 1@\S+: was told {words[-2]} elsewhere, but rank 0 .*same study')

    def test_wrong_words_on_one_rank(self):
        """It ends before MPI starts. The launcher ends the other ranks without a reason."""
        study = ['run', str(self.study), '--out', str(self.out)]
        for wrong, said in (('--oout=x', 'not expected: --oout=x'), ('--out=', "'--out=' has no value"),
                            ('--max-time=x', '--max-time')):
            for is_first in (True, False):
                with self.subTest(wrong=wrong, is_first=is_first):
                    ranks = [[program.PROGRAM, *study, wrong], [program.PROGRAM, *study]]
                    outcome = self.launch(*(ranks if is_first else reversed(ranks)))
                    self.assert_ended(outcome, 2, said if is_first else rf'rank 1@\S+: .*{said}')

    def test_wrong_words_on_all_ranks_are_said_once(self):
        outcome = self.launch(*[[program.PROGRAM, 'run', str(self.study), '--oout=x']] * 2)
        self.assert_ended(outcome, 2, 'not expected: --oout=x')
        self.assertEqual(outcome.errors.count('--oout=x'), 1)

    def test_other_weights_or_images_of_ranks_that_work_apart(self):
        """A folder of images, each of which is one rank's: no check of one image compares ranks."""
        weights = (program.REPOSITORY / 'models/drunet_small_color.safetensors').read_bytes()
        others = ((weights, program.png(64, 48), r'2 images, \d+ bytes'),
                  (weights[:-1] + bytes([weights[-1] ^ 1]), program.png(64, 64), r'w\.safetensors of bytes \w+'))
        for number, (other_weights, other_image, said) in enumerate(others):
            with self.subTest(said=said):
                folders = [self.folder / f'apart{number}-{rank}' for rank in range(2)]
                for folder, own, image in zip(folders, (weights, other_weights), (program.png(64, 64), other_image)):
                    (folder / 'in').mkdir(parents=True)
                    (folder / 'w.safetensors').write_bytes(own)
                    for name in ('a.png', 'b.png'):
                        (folder / 'in' / name).write_bytes(image)
                words = ['denoise', 'in', str(self.folder / 'made/'), '--weights', 'w.safetensors', '--sigma', '0.1']
                outcome = self.launch(*(['env', '-C', str(folder), program.PROGRAM, *words] for folder in folders))
                self.assert_ended(outcome, 2, rf'rank 1@\S+: found {said}, but rank 0 found {said}: all ranks must read')

    def test_not_a_number_from_one_rank(self):
        """In a window that the probes would pass over."""
        probes = ['--set', 'verify.probes=1', '--set', 'verify.whole_max_mpx=0', '--set', 'patch=16']
        photo = self.write('photo.png', program.png(64, 64))
        # In the second pass of the first point. 8-bit samples hold no NaN: it becomes black.
        for image, said in (('{height: 64, width: 64}', r'rank 1@\S+: .*not finite'),
                            (f'{{path: {photo}, noise_sigma: 0}}', r'rank 1@\S+: .* in window \d')):
            with self.subTest(image=image):
                shutil.rmtree(self.out, ignore_errors=True)
                self.study.write_text(faulty.STUDY.replace('{height: 64, width: 64}', image))
                outcome = self.launch(self.rank(options=probes), self.rank(options=probes, fault='output:nan:14'))
                self.assert_ended(outcome, 3, said, goes_on=True)
                verified = [point['verification']['outcome'] for point in self.points()]
                self.assertEqual(verified, ['failed', 'passed', 'passed'])
                self.assertEqual([file.name[:3] for file in sorted(self.out.glob('*.png'))], ['001', '002'])

    def test_not_a_number_from_one_rank_in_a_file_that_all_write(self):
        probes = ['--set', 'verify.probes=1', '--set', 'patch=16', '--set', 'output=file']
        photo = self.write('photo.raw', bytes((x * 3 + y * 5) % 200 + 50 for y in range(64) for x in range(64)))
        integers = f'{{path: {photo}, raw: "64x64x1:u8", noise_sigma: 0}}'
        for image, said, kind in (('{height: 64, width: 64}', r'rank 1@\S+: .*not finite', 'tif'),
                                  (integers, r'rank 1@\S+: .* in window \d', 'raw')):
            with self.subTest(image=image):
                shutil.rmtree(self.out, ignore_errors=True)
                text = faulty.STUDY.replace('{height: 64, width: 64}', image)
                self.study.write_text(text[:text.index('  - {network: unet}')])
                outcome = self.launch(self.rank(options=probes), self.rank(options=probes, fault='output:nan:14'))
                self.assert_ended(outcome, 3, said, goes_on=True)
                self.assertEqual([*self.out.glob(f'*.{kind}')], [])

    def test_not_a_number_from_one_rank_in_a_checksum(self):
        options = ['--set', 'verify.mode=off', '--set', 'patch=16', '--set', 'output=checksum']
        self.study.write_text(faulty.STUDY[:faulty.STUDY.index('  - {network: unet}')])
        outcome = self.launch(self.rank(options=options), self.rank(options=options, fault='output:nan:14'))
        self.assertRegex(outcome.output, r'rank 1@\S+: .*not finite')

    def test_wrong_pixels(self):
        """Finite, in one window of one rank, or in all of one rank's: exit 3, with rank and place."""
        self.study.write_text(faulty.STUDY[:faulty.STUDY.index('  - {network: unet}')])
        for fault, said in (('output:add:4', r'rank 1@\S+: .* by 0\.00\d+, .* in window 3, rows 32 to '
                                             r'63, columns 32 to 63, at row \d+, column \d+, channel \d'),
                            ('output:shift:4', r'rank 1@\S+: .* in window 3,'),
                            ('output:channel:4', r'rank 1@\S+: .* in window 3, .* channel 2'),
                            ('weights:change:1', r'rank 1@\S+: weights .* rank 0')):
            with self.subTest(fault=fault):
                shutil.rmtree(self.out, ignore_errors=True)
                outcome = self.with_fault(fault)
                self.assert_ended(outcome, 3, said, 'RESULT: FAILED', goes_on=True)
                self.assertEqual([*self.out.glob('*.png')], [])

    def test_unequal_software(self):
        """A copy of the program that calls itself another version."""
        other = self.folder / 'patchbench'
        own = program.run('--version').stdout.splitlines()[0]
        sha = own.split('git ')[1].split(',')[0].split(')')[0]
        other.write_bytes(Path(program.PROGRAM).read_bytes().replace(sha.encode(), sha[::-1].encode()))
        other.chmod(0o755)
        outcome = self.launch(self.rank(), self.rank(name=str(other)))
        self.assert_ended(outcome, 2, r'rank 1@\S+: .*' + sha + r'.* on rank 0')
        self.assertFalse((self.out / 'results.jsonl').exists())

    def test_unequal_subcommands(self):
        other = [program.PROGRAM, 'check']
        outcome = self.launch(self.rank(), other)
        self.assert_ended(outcome, 2, r'rank 1@\S+: .*patchbench check.* rank 0 .*patchbench run')
        self.assertFalse((self.out / 'results.jsonl').exists())

    def test_one_rank_without_models(self):
        """It is refused before earlier results are moved."""
        self.assert_ended(self.launch(self.rank(), self.rank()), 0, 'RESULT: ', goes_on=True)
        before = (self.out / 'results.jsonl').read_bytes()
        study = self.write('default.yaml', faulty.STUDY.replace('weights: seed:1', 'weights: default').replace('unet', 'dncnn'))
        outcome = self.launch(self.rank(study=study), ['env', 'PATCHBENCH_MODELS=/nonexistent', *self.rank(study=study)])
        self.assert_ended(outcome, 2, r'rank 1@\S+: .*/nonexistent', goes_on=True)  # there are points from the start
        self.assertEqual((self.out / 'results.jsonl').read_bytes(), before)

    def test_a_fault_that_is_none(self):
        os.environ['PATCHBENCH_FAULT'] = 'nonsense'
        self.addCleanup(os.environ.pop, 'PATCHBENCH_FAULT')
        result = program.run('run', self.study, '--out', self.out)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn('PATCHBENCH_FAULT', result.stderr + result.stdout)


if __name__ == '__main__':
    program.main()
