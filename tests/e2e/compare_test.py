"""patchbench compare: what it says of a run and itself, of a slower one, of launches, of files that do not fit."""
import json
import random

import program
from program import run

STUDY = """
name: pair
weights: seed:1
device: cpu
bounds: off
patch: 32
halo: 8
batch: [1, 2, 4]
stop.min_reps: 2
stop.max_time_s: 2
save_images: false
image: {height: 64, width: 64}
"""
REPETITIONS = 30


class Compare(program.ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        holder = cls('runTest')
        holder.setUp()
        cls.addClassCleanup(holder.tearDown)
        run('run', holder.write('pair.yaml', STUDY), '--out', holder.folder / 'real', code=0)
        cls.real = (holder.folder / 'real/results.jsonl').read_text()

    def runTest(self):
        pass

    def launch(self, name, seed, factor=1.0, change=lambda line: None):
        """The real file with samples of 1 % noise about 0.1 s times `factor`, put in by hand, on a quiet machine."""
        noise = random.Random(seed)
        lines = [json.loads(line) for line in self.real.splitlines()]
        for line in lines:
            if line['type'] == 'point':
                line['samples']['wall_s'] = [0.1 * factor * noise.gauss(1, 0.01) for _ in range(REPETITIONS)]
                line['summary'].update(validity='VALID', reasons=[])
                for rank in line['telemetry']['ranks']:
                    rank['cpu_pressure_s'] = 0
            change(line)
        return self.write(name, ''.join(json.dumps(line) + '\n' for line in lines if line))

    def compared(self, *arguments, code=0):
        return run('compare', *arguments, code=code).stdout

    def outcomes(self, text):
        return [line.split()[-1] for line in text.splitlines() if line.startswith('dncnn') and line.split()[-1].isupper()]

    def test_a_run_and_itself_are_the_same(self):
        file = self.write('real.jsonl', self.real)
        text = self.compared(file, file)
        self.assertEqual(self.outcomes(text), ['SAME'] * 3)
        self.assertIn('same samples', text)
        self.assertIn('COMPARED: 3 points: 3 SAME', text)
        self.assertIn('these launches', text)
        self.assertNotIn('Warning: ', text)

    def test_ten_percent_are_slower_and_faster_the_other_way_round(self):
        old, new = self.launch('old.jsonl', 1), self.launch('new.jsonl', 2, 1.1)
        text = self.compared(old, new)
        self.assertEqual(self.outcomes(text), ['SLOWER'] * 3)
        self.assertRegex(text, r'\+(9|10|11)\.\d %')
        self.assertEqual(self.outcomes(self.compared(new, old)), ['FASTER'] * 3)

    def test_equal_speed_is_never_called_different(self):
        outcomes = self.outcomes(self.compared(self.launch('old.jsonl', 3), self.launch('new.jsonl', 4)))
        self.assertEqual(len(outcomes), 3)
        self.assertLessEqual(set(outcomes), {'SAME', 'UNSURE'})

    def test_two_repetitions_are_too_few_to_say(self):
        def shorten(line):
            if line['type'] == 'point':
                line['samples']['wall_s'] = line['samples']['wall_s'][:2]
        text = self.compared(self.launch('old.jsonl', 5, 1, shorten), self.launch('new.jsonl', 6, 2, shorten))
        self.assertEqual(self.outcomes(text), ['UNSURE'] * 3)

    def launches(self, name, seed, factor=1.0, spread=0.002):
        """Three launches in a folder, as run --launches leaves them; their speeds differ by `spread`."""
        for i in (1, 2, 3):
            (self.folder / name / f'launch-{i}').mkdir(parents=True)
            self.launch(f'{name}/launch-{i}/results.jsonl', seed + i, factor * (1 + spread * (i - 2)))
        return self.folder / name

    def test_fail_on(self):
        old, new = self.launches('old', 10), self.launches('new', 20, 1.1)
        text = self.compared(old, new, '--fail-on', 'slower=3%', code=4)
        self.assertIn('OLD: 3 launches, NEW: 3 launches', text)
        self.assertEqual(text.count('FAILED --fail-on slower=3%: dncnn'), 3)
        self.assertNotIn('UNSURE', text)
        self.assertNotIn('UNSURE', self.compared(old, new, '--fail-on', 'slower=50%'))
        self.assertNotIn('UNSURE', self.compared(new, old, '--fail-on', 'slower=3%', '--strict'))

    def test_one_launch_a_side_fails_no_gate_and_says_what_is_needed(self):
        old, new = self.launch('old.jsonl', 1), self.launch('new.jsonl', 2, 1.085)
        text = self.compared(old, new, '--fail-on', 'slower=3%')
        self.assertEqual(self.outcomes(text), ['UNSURE'] * 3, 'not SLOWER, which it could not support')
        self.assertEqual(text.count('UNSURE --fail-on slower=3%: dncnn'), 3)
        self.assertIn('--launches 3', text)
        self.assertIn('UNSURE is no failure', text)
        self.assertNotIn('FAILED', text)
        strict = self.compared(old, new, '--fail-on', 'slower=3%', '--strict', code=4)
        self.assertNotIn('UNSURE is no failure', strict)
        self.assert_refused(program.run('compare', old, new, '--strict'), 2, '--fail-on')

    def test_launches_that_spread_too_much_say_how_many_are_needed(self):
        old, new = self.launches('old', 10, 1, 0.04), self.launches('new', 20, 1.02, 0.04)
        text = self.compared(old, new, '--fail-on', 'slower=3%')
        self.assertRegex(text, r'UNSURE --fail-on .*\b[34]\.\d %.* \d\d+ a side')

    def test_launches_beside_a_plain_study_are_ambiguous(self):
        old = self.launches('old', 10)
        self.launch('old/results.jsonl', 1)
        self.assert_refused(run('compare', old, old), 2, f'{old}: ', 'results.jsonl')

    def test_fail_on_is_written_in_one_way(self):
        old, new = self.launch('old.jsonl', 1), self.launch('new.jsonl', 2, 1.1)
        for wrong in ('', 'slower', 'slower=3', 'slower=x%', 'slower=-1%', 'faster=3%'):
            self.assert_refused(run('compare', old, new, '--fail-on', wrong), 2, 'slower=3%')
        self.compared(old, old, '--fail-on', 'slower=0%')

    def test_a_point_that_failed_or_is_gone_is_said_and_fails_the_gate(self):
        def break_some(line):
            if line['type'] == 'point' and line['index'] == 0:
                line['status'] = 'failed'
            if line['type'] == 'point' and line['index'] == 1:
                line.clear()
        old, new = self.launch('old.jsonl', 1), self.launch('new.jsonl', 1, 1, break_some)
        text = self.compared(old, new, '--fail-on', 'slower=3%', code=4)
        self.assertIn('NEW: failed', text)
        self.assertIn('not in NEW', text)
        self.assertIn('1 SAME, 2 ', text)
        self.assertIn('not in OLD', self.compared(new, old, '--fail-on', 'slower=3%'))

    def test_several_launches(self):
        old = [self.launch(f'old{i}.jsonl', i, 1 + 0.002 * i) for i in range(4)]
        new = [self.launch(f'new{i}.jsonl', 10 + i, 1.1 + 0.002 * i) for i in range(4)]
        text = self.compared('--old', *old, '--new', *new)
        self.assertEqual(self.outcomes(text), ['SLOWER'] * 3)
        self.assertIn('OLD: 4 launches, NEW: 4 launches', text)
        self.assertNotIn('these launches', text)
        several_new = self.compared(old[0], *new)
        self.assertIn('OLD: 1 launch, NEW: 4 launches', several_new)
        self.assertNotIn('these launches', several_new)
        for wrong in ((old[0],), ('--old', old[0]), (old[0], '--new', new[0])):
            self.assert_refused(run('compare', *wrong), 2, 'OLD NEW')

    def test_environment_differences_are_a_warning(self):
        def other_build(line):
            if line['type'] == 'study':
                line['environment']['git_sha'] = 'feedbeef'
                line['environment']['variables']['OMP_NUM_THREADS'] = '77'
        text = self.compared(self.launch('old.jsonl', 1), self.launch('new.jsonl', 1, 1, other_build))
        self.assertIn('Warning: ', text)
        self.assertIn('feedbeef', text)
        self.assertIn('OMP_NUM_THREADS', text)

    def test_an_older_file_without_a_newer_setting_still_fits(self):
        def older(line):
            if line['type'] == 'point':
                line['key'] = 'f' * 16
                del line['point']['overlap']
        text = self.compared(self.launch('old.jsonl', 1, 1, older), self.launch('new.jsonl', 1))
        self.assertEqual(self.outcomes(text), ['SAME'] * 3)

    def test_a_gate_does_not_pass_where_nothing_is_compared(self):
        def without_points(line):
            if line['type'] == 'point':
                line.clear()
        text = self.compared(self.launch('old.jsonl', 1, 1, without_points), self.launch('new.jsonl', 2), '--fail-on',
                             'slower=3%', code=4)
        self.assertIn('FAILED --fail-on slower=3%: ', text)

    def test_results_are_not_overwritten_by_their_comparison(self):
        old, new = self.launch('old.jsonl', 1), self.launch('new.jsonl', 2, 1.1)
        for results in (old, new):
            before = results.read_bytes()
            self.assert_refused(run('compare', old, new, '--markdown', results), 2, results.name)
            self.assertEqual(results.read_bytes(), before)

    def test_results_named_by_their_folder_are_not_overwritten(self):
        study, launches = self.folder / 'study', self.launches('launches', 10)
        study.mkdir()
        self.launch('study/results.jsonl', 1)
        for results in (study / 'results.jsonl', launches / 'launch-2/results.jsonl'):
            before = results.read_bytes()
            for names in ((study, launches), (launches, study)):
                self.assert_refused(run('compare', *names, '--markdown', results), 2, str(results))
            self.assertEqual(results.read_bytes(), before)

    def test_markdown(self):
        report = self.folder / 'report.md'
        self.compared(self.launch('old.jsonl', 1), self.launch('new.jsonl', 2, 1.1), '--markdown', report)
        rows = [line for line in report.read_text().splitlines() if line.startswith('|')]
        self.assertEqual(len(rows), 5)
        self.assertEqual({row.count('|') for row in rows}, {6})
        self.assertEqual(sum('SLOWER' in row for row in rows), 3)

    def test_folders_and_wrong_files(self):
        folder = self.folder / 'study'
        folder.mkdir()
        (folder / 'results.jsonl').write_text(self.real)
        self.assertIn('3 SAME', self.compared(folder, folder))
        self.assert_refused(run('compare', folder, self.folder / 'none.jsonl'), 2, 'none.jsonl')
        self.assert_refused(run('compare', folder, self.write('text.jsonl', 'hello\nworld\n')), 2, 'text.jsonl:1')
        self.assert_refused(run('compare', folder, self.write('deep.jsonl', '[' * 10**6 + '\n')), 2, 'deep.jsonl:1')


if __name__ == '__main__':
    program.main()
