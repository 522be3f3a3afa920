"""patchbench run --resume and --max-time: killed at any moment, nothing is lost and nothing is done twice."""
import json
import os
import random
import shutil
import signal
import tempfile
import time
import unittest
from pathlib import Path

import program
from program import run

# Equal points (groups 1 and 2), one that cannot fit, and enough of them that a kill meets every stage.
STUDY = """
name: night
weights: seed:1
device: cpu
bounds: off
patch: 32
halo: 8
warmup.reps: 0
stop: {min_reps: 2, max_time_s: 0}
save_images: false
image: {height: 64, width: 64}
groups:
  - {batch: [1, 2]}
  - {batch: [1, 2]}
  - {memory_limit_mib: 3}
  - {patch: [16, 64]}
"""
PICTURES = ('noisy_file', 'denoised_file', 'clean_file')
ENDLESS = STUDY + '  - {patch: 24, stop.min_reps: 100000}\n  - {patch: 40}\n'


class ResumeTest(program.ProgramTest):
    reference = None  # folder of one undisturbed run of STUDY, and how long it took

    def setUp(self):
        super().setUp()
        self.out = self.folder / 'out'
        self.file = self.out / 'results.jsonl'
        self.study = self.write('night.yaml', STUDY)

    def go(self, *options, study=None, ranks=0, code=None):
        return run('run', study or self.study, '--out', self.out, *options, ranks=ranks, code=code)

    def points(self):
        return program.points(self.out)

    def what_was_measured(self):
        """What does not change from run to run, of each point; each once."""
        return sorted((line['index'], line['key'], line['label'], line['status'], line['verification']['outcome'])
                      for line in self.points())

    def labels(self, text):
        """Of the measured points, as the FOM lines name them."""
        return [line.split()[1] for line in text.splitlines() if line.startswith('FOM') and '.patches_per_s' in line]

    def undisturbed(self):
        """As if STUDY had been run into `out`: it is run once, the others get copies."""
        if ResumeTest.reference is None:
            ResumeTest.reference = Path(tempfile.mkdtemp(prefix='patchbench-cli-'))
            unittest.addModuleCleanup(shutil.rmtree, ResumeTest.reference)
            started = time.monotonic()
            run('run', self.study, '--out', ResumeTest.reference, code=5)  # one point is out of memory
            ResumeTest.duration_s = time.monotonic() - started
        shutil.copytree(ResumeTest.reference, self.out)
        expected = self.what_was_measured()
        self.assertEqual([line[0] for line in expected], list(range(7)))
        return expected

    def damage(self, old, new):
        text = self.file.read_text()
        self.assertIn(old, text)
        self.file.write_text(text.replace(old, new, 1))


class Killed(ResumeTest):
    def test_sigkill_at_random_moments_loses_and_repeats_nothing(self):
        expected = self.undisturbed()
        self.file.unlink()
        seed = random.randrange(10**6)
        moments = random.Random(seed)
        finished = {}
        for _ in range(5):
            process = self.start(program.command('run', self.study, '--out', self.out, '--resume'))
            time.sleep(moments.uniform(0, self.duration_s * 0.8))
            process.send_signal(signal.SIGKILL)
            process.wait()
            if not self.file.exists():
                continue
            whole = [line for line in self.file.read_text().split('\n')[:-1] if '"type":"point"' in line]
            now = {json.loads(line)['index']: line for line in whole}
            self.assertEqual(len(now), len(whole), f'a point is there twice (seed {seed})')
            for index, line in finished.items():
                self.assertEqual(now.get(index), line, f'a finished point was lost or measured again (seed {seed})')
            finished = now
        self.go('--resume', code=5)
        self.assertEqual(self.what_was_measured(), expected, f'seed {seed}')
        self.assertEqual(program.lines(self.out)[-1]['type'], 'end')
        for index, line in finished.items():
            self.assertIn(line + '\n', self.file.read_text(), f'point {index} (seed {seed})')

    def test_tables_cover_old_and_new_points_in_the_order_of_the_plan(self):
        self.undisturbed()
        labels = self.labels((self.out / 'figures.txt').read_text())
        text = self.file.read_text().splitlines(keepends=True)
        for lost in (5, 2):  # a later and an earlier point: what is left is no head of the plan
            del text[lost]
        self.file.write_text(''.join(text))
        result = self.go('--resume', ranks=0, code=5)
        self.assertIn('resumed: 5 of 7', result.stderr)
        self.assertEqual(len(labels), 6)
        self.assertEqual(self.labels(result.stdout), labels)
        rows = (self.out / 'results.csv').read_text().splitlines()[1:]
        self.assertEqual([int(row.split(',')[1]) for row in rows], list(range(7)))
        self.assertEqual([line['type'] for line in program.lines(self.out)].count('resume'), 1)
        self.assertRegex(result.stdout, 'RESULT: .*1 of 7 points')

    def test_a_torn_last_line_is_cut_off(self):
        expected = self.undisturbed()
        text = self.file.read_text()
        last_point = text.rindex('{"type":"point"')
        self.file.write_text(text[:last_point + 1000])
        self.assertRegex(self.go('--resume', code=5).stderr, r'results\.jsonl: .*last line')
        self.assertEqual(self.what_was_measured(), expected)
        self.file.write_text(text[:50])  # killed in the first line: nothing was measured
        self.go('--resume', code=5)
        self.assertEqual(self.what_was_measured(), expected)

    def test_a_damaged_line_in_the_middle_is_refused_with_its_place(self):
        self.undisturbed()
        self.damage('"label":', '"label"')
        before = self.file.read_text()
        self.assert_refused(self.go('--resume'), 2, 'results.jsonl:2: ')
        self.assertEqual(self.file.read_text(), before)

    def test_wrong_pixels_are_measured_again(self):
        study = self.write('one.yaml', STUDY.split('groups:')[0])
        environment = {**os.environ, 'PATCHBENCH_FAULT': 'output:shift:1+'}
        run('run', study, '--out', self.out, env=environment, code=3)
        self.go('--resume', study=study, code=0)
        self.assertEqual([point['verification']['outcome'] for point in self.points()], ['passed'])

    def test_failed_points_run_again(self):
        expected = self.undisturbed()
        self.damage('"status":"ok"', '"status":"failed"')
        result = self.go('--resume')
        self.assertIn('resumed: 6 of 7', result.stderr)
        self.assertEqual(self.what_was_measured(), expected)


class Changed(ResumeTest):
    def test_a_changed_environment_is_refused_and_named_unless_forced(self):
        self.undisturbed()
        self.damage('"git_sha":"', '"git_sha":"0ld')
        self.damage('"index":6', '"index":6,"status":"failed"')
        self.damage('"status":"ok"', '"status":"failed"')
        before = self.file.read_text()
        self.assert_refused(self.go('--resume'), 2, 'git_sha: 0ld', '--force', '--out')
        self.assertEqual(self.file.read_text(), before)
        result = self.go('--resume', '--force')
        self.assertIn('git_sha: 0ld', result.stderr)
        self.assertIn('RESULT: INVALID', result.stdout)
        self.assertIn('(git_sha', result.stdout)
        self.assertEqual(len(self.points()), 7)
        again = self.go('--resume')
        self.assertIn('resumed: 7 of 7', again.stderr, 'it goes on with the last session, whose environment is this one')

    def test_strict_judges_all_sessions(self):
        """Every point is right, and they do not belong together."""
        protocol = STUDY[:STUDY.index('  - {')].replace('min_reps: 2', 'min_reps: 6')  # for intervals
        timed = 'engine: timed\ntimed.per_window_s: 0.02\n'  # a clock: other work hardly changes its long passes
        study = self.write('two.yaml', timed + protocol + '  - {batch: [1, 2]}\n')
        self.go('--strict', study=study, code=0)
        self.go('--resume', '--strict', study=study, code=0)  # in the same environment
        whole = self.file.read_text()
        for options, code in (((), 0), (('--strict',), 4)):
            self.file.write_text(whole)
            self.damage('"git_sha":"', '"git_sha":"0ld')
            self.damage('"status":"ok"', '"status":"failed"')
            result = self.go('--resume', '--force', *options, study=study, code=code)
            self.assertIn('RESULT: INVALID', result.stdout)
            self.assertEqual({point['summary']['validity'] for point in self.points()}, {'VALID'})

    def test_another_number_of_threads_is_a_change(self):
        self.undisturbed()
        self.damage('"threads":', '"threads":7')
        self.assert_refused(self.go('--resume'), 2, 'threads of rank 0: 7')

    def test_other_ranks_and_another_protocol_are_changes(self):
        self.undisturbed()
        self.assert_refused(self.go('--resume', ranks=2), 2, 'ranks: 1 -> 2')
        self.assert_refused(self.go('--resume', '--set', 'stop.min_reps=9'), 2, 'stop.min_reps of', '2 -> 9')
        self.assert_refused(self.go('--resume', '--set', 'metrics.reduction=mpi'), 2, 'metrics.reduction: "auto" -> "mpi"')

    def test_an_image_of_other_contents_is_a_change(self):
        image = self.write('a.png', program.png(48, 40))
        study = self.write('image.yaml', STUDY.replace('image: {height: 64, width: 64}', f'image: {{path: {image}}}')
                           .replace('- {batch: [1, 2]}', '- {batch: 1}'))
        self.go(study=study, code=5)
        image.write_bytes(program.png(48, 40, value=lambda x, y, c: (x + y) % 256))
        self.assert_refused(self.go('--resume', study=study), 2, str(image))

    def test_a_clean_image_of_other_contents_is_a_change(self):
        for name in ('a.png', 'clean.png'):
            self.write(name, program.png(48, 40))
        study = self.write('clean.yaml', STUDY.split('image:')[0] + 'image: {path: a.png, clean: clean.png, noise_sigma: 0}\n')
        self.go(study=study, code=0)
        clean = self.write('clean.png', program.png(48, 40, value=lambda x, y, c: (x + y) % 256))
        self.assert_refused(self.go('--resume', study=study), 2, str(clean))

    def test_a_study_may_be_moved_with_its_image(self):
        image = program.png(64, 64)
        study = STUDY.replace('image: {height: 64, width: 64}', 'image.path: photo.png')
        for place in ('here', 'there'):
            (self.folder / place).mkdir()
            (self.folder / place / 'photo.png').write_bytes(image)
            self.write(f'{place}/night.yaml', study)
        self.go(study=self.folder / 'here/night.yaml', code=5)
        before = self.what_was_measured()
        shutil.rmtree(self.folder / 'here')
        moved = self.go('--resume', study=self.folder / 'there/night.yaml', code=5)
        self.assertIn('7 of 7 points are finished', moved.stderr)
        self.assertEqual(self.what_was_measured(), before)
        (self.folder / 'there/photo.png').write_bytes(program.png(64, 64, value=lambda x, y, c: (x + y) % 256))
        self.assert_refused(self.go('--resume', study=self.folder / 'there/night.yaml'), 2, 'there/photo.png are other ones')

    def test_weights_of_other_contents_are_a_change(self):
        shipped = (program.REPOSITORY / 'models/dncnn_color_sigma0.1.safetensors').read_bytes()
        weights = self.write('own.safetensors', shipped)
        study = self.write('own.yaml', STUDY.replace('seed:1', str(weights)).split('groups:')[0])
        self.go(study=study, code=0)
        weights.write_bytes(shipped[:-1] + bytes([shipped[-1] ^ 1]))
        self.assert_refused(self.go('--resume', study=study), 2, f"'{weights}'", '--force')

    def test_weights_of_one_name_may_be_several(self):
        study = self.write('gray.yaml', STUDY.split('image:')[0] + 'network: dncnn\nimage: {height: 32, width: 32, channels: [1, 3]}\n')
        self.go(study=study, code=0)
        self.assertIn('2 of 2 points are finished', self.go('--resume', study=study, code=0).stderr)

    def test_a_study_may_grow_but_not_shrink(self):
        expected = self.undisturbed()
        smaller = self.write('smaller.yaml', STUDY.replace('[16, 64]', '[16]'))
        self.assert_refused(self.go('--resume', study=smaller), 2, 'dncnn-p64-h8-b1-fp32', '--out')
        larger = self.write('larger.yaml', STUDY.replace('- {batch: [1, 2]}', '- {batch: [4, 1, 2]}', 1))
        result = self.go('--resume', study=larger)
        self.assertIn('resumed: 7 of 8', result.stderr)
        self.assertEqual(sorted(line['index'] for line in self.points()), list(range(8)))
        self.assertEqual(len({line['key'] for line in self.points()}), len({line[1] for line in expected}) + 1)

    def test_a_study_that_grows_in_front_keeps_the_files_of_finished_points(self):
        for saved, count in (('true', 4), ('false', 3)):
            self.out = self.folder / saved
            self.file = self.out / 'results.jsonl'
            study = self.write('seeds.yaml', STUDY.replace('save_images: false', f'save_images: {saved}').split('groups:')[0])
            self.go('--set', 'image.seed=1', study=study, code=0)
            for seeds in ('[0, 1]', '[2, 0, 1]'):
                before = {file: file.read_bytes() for file in self.out.rglob('000-*.png')}
                self.go('--resume', '--set', f'image.seed={seeds}', study=study, code=0)
                self.assertEqual({file: file.read_bytes() for file in before}, before)
            written = [name for point in self.points()
                       for name in (point['output_file'], *map(point['preview'].get, PICTURES)) if name]
            self.assertEqual((len(written), len(set(written))), (3 * count, 3 * count))
            if saved == 'true':
                Path(next(point['output_file'] for point in self.points())).unlink()
                result = self.go('--resume', '--set', 'image.seed=[2, 0, 1]', study=study)
                self.assertIn('1 image of finished points is gone', result.stderr)

    def test_a_pipe_in_the_place_of_the_results_is_refused(self):
        self.out.mkdir()
        os.mkfifo(self.file)
        result = run('run', self.study, '--out', self.out, timeout=60, code=2)
        self.assertIn('results.jsonl', result.stderr)

    def test_without_resume_an_older_file_is_kept(self):
        self.undisturbed()
        before = self.file.read_text()
        result = self.go()
        kept = list(self.out.glob('earlier-*/results.jsonl'))
        self.assertEqual([file.read_text() for file in kept], [before])
        self.assertIn(kept[0].parent.name, result.stderr)
        self.assertEqual(len(self.points()), 7)


class Walltime(ResumeTest):
    def setUp(self):
        super().setUp()
        self.endless = self.write('endless.yaml', ENDLESS)

    def test_max_time_ends_with_5_and_resume_goes_on(self):
        for ranks in (0, 2):
            self.out = self.folder / f'out{ranks}'
            self.file = self.out / 'results.jsonl'
            started = time.monotonic()
            self.go('--max-time', 6, study=self.endless, ranks=ranks, code=5)
            self.assertLess(time.monotonic() - started, 100)
            states = {line['index']: line['status'] for line in self.points()}
            self.assertEqual(len(states), 9)
            self.assertIn('--max-time', next(line['reason'] for line in self.points()
                                             if line['status'] in ('interrupted', 'skipped')))
            self.assertEqual(states[8], 'skipped')
        self.go('--resume', '--set', 'stop.min_reps=2', study=self.endless, ranks=2, code=5)
        self.assertEqual([line['status'] for line in sorted(self.points(), key=lambda line: line['index'])],
                         ['ok'] * 4 + ['oom'] + ['ok'] * 4)

    def test_two_runs_do_not_write_into_one_folder(self):
        self.start(program.command('run', self.endless, '--out', self.out))
        program.wait_until(self.file.exists, 'results')
        for options in ((), ('--resume',)):
            self.assert_refused(self.go(*options, study=self.endless), 2, str(self.out), '--out')
        self.assertEqual(list(self.out.glob('earlier-*')), [])


if __name__ == '__main__':
    program.main()
