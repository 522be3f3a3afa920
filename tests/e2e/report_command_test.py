"""patchbench report: pages, tables and exports of results, and --csv-style of run."""
import csv
import io
import json
import tempfile
from pathlib import Path

import program
from program import run

STUDY = """
name: pair
weights: seed:1
device: cpu
patch: 32
halo: 8
batch: [1, 2]
warmup.reps: 0
stop: {min_reps: 2, max_time_s: 0}
save_images: false
image: {height: 96, width: 64}
"""


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


class Report(program.ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory(prefix='patchbench-cli-')
        cls.addClassCleanup(folder.cleanup)
        cls.study = Path(folder.name) / 'pair.yaml'
        cls.study.write_text(STUDY)
        for attempt in range(5):  # until other work on this machine leaves its points VALID
            cls.out = Path(folder.name) / f'attempt{attempt}' / 'real'
            cls.result = run('run', cls.study, '--out', cls.out, '--csv-style', 'reference', ranks=2, code=0)
            if 'RESULT: VALID' in cls.result.stdout:
                break
        cls.real = (cls.out / 'results.jsonl').read_text()

    def setUp(self):
        super().setUp()
        self.file = self.write('results.jsonl', self.real)

    def report(self, *arguments, code=0):
        return run('report', *arguments, code=code).stdout

    def test_without_options_the_page_is_beside_the_results(self):
        self.assertIn('report.html', self.report(self.file))
        self.assertEqual([each.name for each in self.folder.iterdir() if each != self.file], ['report.html'])

    def test_every_output_at_once_and_nothing_else(self):
        names = ['a.csv', 'a.html', 'a.md', 'bmf.json', 'gbench.json', 'github.json', 'bigger.json',
                 'chrome.json']
        files = {name: self.folder / name for name in names}
        text = self.report(self.file, '--html', files['a.html'], '--csv', files['a.csv'], '--markdown', files['a.md'],
                           '--export', f'bmf={files["bmf.json"]}', '--export', f'gbench={files["gbench.json"]}',
                           '--export', f'github={files["github.json"]}',
                           '--export', f'github-bigger={files["bigger.json"]}',
                           '--export', f'chrome={files["chrome.json"]}')
        self.assertEqual(sorted(each.name for each in self.folder.iterdir()), sorted([*names, 'results.jsonl']))
        for name, file in files.items():
            self.assertIn(str(file), text)
            self.assertGreater(file.stat().st_size, 100)
            if name.endswith('.json'):
                json.loads(file.read_text())

    def test_standard_output_holds_the_text_and_nothing_else(self):
        self.assertEqual(len(rows(self.report(self.file, '--csv', '-'))), 2)
        verdict = self.result.stdout.splitlines()[-1]
        self.assert_valid(verdict)
        self.assertTrue(self.report(self.file, '--markdown', '-').startswith(verdict + '\n'))
        self.assertEqual(len(json.loads(self.report(self.file, '--export', 'bmf=-'))), 2)
        self.report(self.file, '--csv', self.folder / 'a.csv', '--markdown', '-')
        self.assertTrue((self.folder / 'a.csv').exists())

    def test_the_tables_agree_with_the_fom_lines(self):
        foms = dict(line.split()[1:3] for line in self.result.stdout.splitlines() if line.startswith('FOM '))
        self.assertTrue(foms)
        tidy = {row['label']: row for row in rows(self.report(self.file, '--csv', '-'))}
        bmf = json.loads(self.report(self.file, '--export', 'bmf=-'))
        github = {entry['name']: entry['value'] for name in ('github', 'github-bigger')
                  for entry in json.loads(self.report(self.file, '--export', f'{name}=-'))}
        for name, value in foms.items():
            label, key = name.rsplit('.', 1)
            for figure in (float(tidy[label][key]), bmf[label][key]['value'], github[name]):
                self.assertEqual(f'{figure:.6g}', value)
        self.assertEqual(len(github), len(foms))

    def test_reference_style_from_run_and_from_report(self):
        text = (self.out / 'results.csv').read_text()
        self.assertEqual(self.report(self.file, '--csv', '-', '--csv-style', 'reference'), text)
        tidy = rows(self.report(self.file, '--csv', '-'))
        for row, ours in zip(rows(text), tidy, strict=True):
            self.assertEqual((row['batch_size'], row['height'], row['width'], row['num_pixels']),
                             (ours['settled.batch'], '96', '64', '6144'))
            self.assertAlmostEqual(float(row['avg_time_ms']), 1000 * float(ours['pipeline_mean_s']))
            self.assertEqual(row['avg_memory_mb'], ours['allocated_peak_mib'])

    def test_points_that_are_not_valid_are_named_beside_tables_without_a_verdict(self):
        self.invalid = self.folder / 'invalid.jsonl'
        self.invalid.write_text(self.file.read_text().replace('"validity":"VALID"', '"validity":"INVALID"'))
        for style, is_said in (('tidy', False), ('reference', True), ('frameworks', True)):
            said = run('report', self.invalid, '--csv', self.folder / 'out.csv', '--csv-style', style, code=0).stderr
            self.assertEqual('that are not VALID' in said, is_said, style)

    def test_several_files_and_folders(self):
        text = self.report(self.out, self.file, '--csv', '-')
        self.assertEqual([row['file'] for row in rows(text)], ['real'] * 2 + [self.folder.name] * 2)
        self.assertEqual(len(json.loads(self.report(self.out, self.file, '--export', 'bmf=-'))), 4)
        self.assertIn('### real\n', self.report(self.out, self.file, '--markdown', '-'))

    def test_what_is_not_valid_is_named_and_left_out(self):
        lines = [json.loads(line) for line in self.real.splitlines()]
        lines[1]['summary']['validity'] = 'INVALID'
        self.file.write_text(''.join(json.dumps(line) + '\n' for line in lines))
        result = run('report', self.file, '--export', 'bmf=-', code=0)
        self.assertEqual(len(json.loads(result.stdout)), 1)
        self.assertIn(f'{lines[1]["label"]}: INVALID', result.stderr)
        lines[2]['summary']['validity'] = 'INVALID'
        self.file.write_text(''.join(json.dumps(line) + '\n' for line in lines))
        result = run('report', self.file, '--export', 'github=-', code=4)
        self.assertEqual(json.loads(result.stdout), [])
        self.assertIn('no point is VALID', result.stderr)
        self.report(self.file, '--export', 'chrome=-')  # of all points

    def test_refusals_leave_no_file(self):
        other = self.folder / 'a.csv'
        for arguments, words in (((self.file, '--export', 'xml=a.json'), ('xml', 'gbench')),
                                 ((self.file, '--export', 'bmf'), ('FORMAT=FILE',)),
                                 ((self.file, '--csv', '-', '--markdown', '-'), ('(-)',)),
                                 ((self.file, '--csv', other, '--markdown', './a.csv'), ('a.csv',)),
                                 ((self.file, '--csv', self.file), ('results.jsonl', 'input')),
                                 ((self.file, '--csv', other, '--csv-style', 'wide'), ('wide', 'reference')),
                                 ((self.file, '--csv', other, '--markdown', self.folder / 'no' / 'a.md'), ('no',)),
                                 ((self.folder / 'none.jsonl', '--csv', other), ('none.jsonl',)),
                                 ((self.write('text.jsonl', 'hello\nworld\n'), '--csv', other), ('text.jsonl:1',)),
                                 ((self.study,), (self.study.name, 'results.jsonl'))):
            self.assert_refused(run('report', *arguments, cwd=self.folder), 2, *words)
            self.assertFalse(other.exists(), arguments)
        run('report', self.file, '--csv-style', 'reference', code=2)  # --csv is missing
        self.assert_refused(run('run', self.study, '--csv-style', 'wide', cwd=self.folder), 2, 'wide', 'reference')


if __name__ == '__main__':
    program.main()
