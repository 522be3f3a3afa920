"""Scaling studies in one launch: real ranks, simulated ranks, work that is taken when a rank is ready."""
import program
from program import run

REAL = """
  - weights: seed:1
    device: cpu
    threads: 1
    patch: 32
    halo: 8
    batch: 1
    ranks: [1, 2]
    image: {height: 96, width: 64}
    verify.probes: 1
    forward_calls: 1
"""
SIMULATED = """
  - engine: timed
    timed: {base_s: 0.002, per_window_s: 0.001}
    patch: 32
    halo: 8
    batch: 2
    ranks: [1, 2, 4, all]
    image: {height: 512, width: 64, channels: 1}
"""
STUDY = 'name: scaling\nsave_images: false\nwarmup.reps: 0\nstop: {min_reps: 6, max_time_s: 0}\ngroups:'


class Scaling(program.ProgramTest):
    def study(self, text, *arguments, ranks, code=0):
        """The lines of results.jsonl, and stdout."""
        study = self.write('study.yaml', text)
        out = self.folder / 'out'
        result = run('run', study, '--out', out, *arguments, ranks=ranks, code=code)
        return program.lines(out), result.stdout

    def test_real_and_simulated_ranks_in_one_launch(self):
        lines, text = self.study(STUDY + REAL + SIMULATED, ranks=8)
        points = [line for line in lines if line['type'] == 'point']
        self.assertEqual([point['status'] for point in points], ['ok'] * 6)
        self.assertEqual([point['point']['settled']['num_ranks'] for point in points], [1, 2, 1, 2, 4, 8])
        self.assertEqual([point['summary']['simulated'] for point in points], [False] * 2 + [True] * 4)
        for point in points:
            self.assertEqual(point['verification']['outcome'], 'passed')
            self.assertEqual(point['label'].startswith('simulated-'), point['summary']['simulated'])
            self.assertEqual(len(point['samples']['ranks']), point['point']['settled']['num_ranks'])
            self.assertIn('core', point['binding'])
        real, simulated = lines[-2]['scalings']
        self.assertEqual([(each['kind'], each['simulated']) for each in (real, simulated)],
                         [('strong', False), ('strong', True)])
        self.assertEqual([point['ideal'] for point in simulated['points']], [1, 2, 4, 8])
        self.assertEqual([point['bound'] for point in simulated['points']], [1, 2, 4, 8])
        for point in simulated['points']:
            self.assertEqual(len(point['ranks']), point['num_ranks'])
            self.assertGreaterEqual(point['beyond_bound'], 0)
        self.assert_valid(text.splitlines()[-1])
        self.assertRegex(text.splitlines()[-1], r'^RESULT: \w+  4 of 6 points SIMULATED')
        for words in ('Strong scaling of dncnn', 'Strong scaling of simulated-dncnn'):
            self.assertIn(words, text)

    def test_the_base_is_the_fewest_ranks_whatever_they_are(self):
        lines, text = self.study(STUDY + SIMULATED, '--set', 'ranks=[2, 4, 8]', ranks=8)
        points = lines[-2]['scalings'][0]['points']
        self.assertEqual([point['num_ranks'] for point in points], [2, 4, 8])
        self.assertEqual([point['ideal'] for point in points], [1, 2, 4])
        self.assertEqual([point['bound'] for point in points], [1, 2, 4])
        self.assertEqual([points[0]['speedup'], points[0]['efficiency']], [1, 1])
        for point in points:
            self.assertAlmostEqual(point['efficiency'], point['speedup'] / point['ideal'])

    def test_all_is_refused_where_it_was_named_before(self):
        lines, _ = self.study(STUDY + SIMULATED, ranks=4)
        self.assertEqual([line['status'] for line in lines if line['type'] == 'point'], ['ok'] * 3 + ['refused'])

    def test_the_same_pixels_a_rank(self):
        lines, text = self.study(STUDY + SIMULATED, '--set', 'image.height_per_rank=128', '--set', 'ranks=[1, 2, 3]', ranks=3)
        heights = [line['point']['settled']['image_height_px'] for line in lines if line['type'] == 'point']
        self.assertEqual(heights, [128, 256, 384])
        weak, = lines[-2]['scalings']
        self.assertEqual((weak['kind'], [point['bound'] for point in weak['points']]), ('weak', [1, 2, 3]))
        self.assertIn('Weak scaling of', text)

    def test_a_slow_rank_gets_less_when_batches_are_taken(self):
        arguments = ('--set', 'schedule=[contiguous, dynamic]', '--set', 'ranks=2', '--set', 'timed.slow_rank=1',
                     '--set', 'timed.slow_factor=50', '--set', 'stop.min_reps=1')
        lines, text = self.study(STUDY + SIMULATED, *arguments, ranks=2)
        contiguous, dynamic = [line for line in lines if line['type'] == 'point']
        self.assertEqual([rank['num_windows'] for rank in contiguous['samples']['ranks']], [16, 16])
        windows = [rank['num_windows'] for rank in dynamic['samples']['ranks']]
        self.assertEqual(sum(windows), 32)
        self.assertLess(windows[1], windows[0])
        self.assertEqual(dynamic['verification']['outcome'], 'passed')
        self.assertIn('2, dynamic', text)

    def test_call_times_come_from_a_results_file(self):
        self.study(STUDY + REAL, '--set', 'ranks=1', '--set', 'batch=[1, 2]', ranks=0)
        measured = self.folder / 'measured.jsonl'
        (self.folder / 'out/results.jsonl').rename(measured)
        same_work = ('--set', 'image.channels=3', '--set', f'timed.results={measured}', '--set', 'ranks=1')
        lines, text = self.study(STUDY + SIMULATED, *same_work, ranks=0)
        self.assertRegex(lines[1]['point']['timed']['table'], r'^1:0\.\d+,2:0\.\d+$')
        self.assertIn('(T(b) = table 1:0.', text)
        study = self.write('other.yaml', STUDY + SIMULATED)
        self.assert_refused(run('plan', study, *same_work, '--set', 'patch=64'), 2, 'timed.results', 'dncnn-p32-h8-b1')
        self.assert_refused(run('plan', study, *same_work, '--set', 'batch=8'), 2, f'timed.results = {measured}',
                            'batch 2', 'batch 8')

    def test_the_file_of_call_times_is_never_replaced(self):
        self.study(STUDY + REAL, '--set', 'ranks=1', '--set', 'batch=[1, 2]', ranks=0)
        measured = self.folder / 'out/results.jsonl'
        before = measured.read_bytes()
        result = run('run', self.write('study.yaml', STUDY + SIMULATED), '--out', self.folder / 'out', '--set',
                     'image.channels=3', '--set', f'timed.results={measured}', '--set', 'ranks=1')
        self.assert_refused(result, 2, f"'{measured}'", 'inputs are never modified')
        self.assertEqual(measured.read_bytes(), before)

    def test_simulated_results_do_not_compare_with_measured_ones(self):
        self.study(STUDY + SIMULATED, '--set', 'ranks=1', ranks=0)
        (self.folder / 'out/results.jsonl').rename(self.folder / 'simulated.jsonl')
        self.study(STUDY + REAL, '--set', 'ranks=1', ranks=0)
        result = run('compare', self.folder / 'simulated.jsonl', self.folder / 'out/results.jsonl')
        self.assert_refused(result, 2, 'OLD', 'engine timed', 'NEW')


if __name__ == '__main__':
    program.main()
