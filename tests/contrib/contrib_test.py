"""launch/contrib and the exports, in the hands of the programs that they are for: contrib_test.py PATCHBENCH MPIRUN..

ReFrame, JUBE and Google Benchmark's compare.py run for real over a tiny study (tests/contrib/setup.sh installs them;
without it those tests are skipped). The Ramble application is executed against a stand-in for Ramble's language, and its
expressions as Ramble uses them.
"""
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import ramble_stub

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
CONTRIB = REPOSITORY / 'launch/contrib'
VENV = HERE / '.venv'
DEBIAN = VENV / 'debian'
PROGRAM, *MPIRUN = sys.argv[1:]
NUM_RANKS = 2
# What mpirun's options say where a program starts mpirun by itself.
ONE_MACHINE = {'OMPI_MCA_rmaps_base_oversubscribe': '1', 'OMPI_MCA_hwloc_base_binding_policy': 'none'}
NOT_INSTALLED = 'no ReFrame, JUBE and compare.py; run tests/contrib/setup.sh (needs a network)'
installed = unittest.skipUnless((VENV / 'installed').exists(), NOT_INSTALLED)


def run(*command, cwd=None, env=None, timeout=200):
    result = subprocess.run([*map(str, command)], cwd=cwd, env={**os.environ, 'NO_COLOR': '1', **(env or {})},
                            capture_output=True, text=True, timeout=timeout)
    assert result.returncode == 0, result.stderr + result.stdout
    return result.stdout


def figures_of(text):
    """{name: (value, unit)} of the FOM lines."""
    lines = [line.split() for line in text.splitlines() if line.startswith('FOM ')]
    return {name: (float(value), unit) for _, name, value, unit in lines}


def verdict_of(text):
    """VALID, or INVALID where other work on this machine disturbed the figures."""
    return re.search(r'(?m)^RESULT: (VALID|INVALID)\b', text)[1]


class ContribTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix='patchbench-contrib-')
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = Path(temporary.name)
        cls.study = HERE / 'study.yaml'
        cls.outputs = [run(*MPIRUN, '-n', NUM_RANKS, PROGRAM, 'run', cls.study, '--out', cls.folder / f'run{i}')
                       for i in range(2)]
        cls.figures = figures_of(cls.outputs[0])
        assert cls.figures

    def labels(self):
        return list(dict.fromkeys(name.rsplit('.', 1)[0] for name in self.figures))

    def call_valid(self, results):
        """Exports leave out figures that other work on this machine disturbed; here they only have to agree."""
        lines = [json.loads(line) for line in results.read_text().splitlines()]
        for line in lines:
            if line['type'] == 'point':
                line['summary'].update(validity='VALID', reasons=[])
        results.write_text(''.join(json.dumps(line) + '\n' for line in lines))

    def keys(self):
        return list(dict.fromkeys(name.rsplit('.', 1)[1] for name in self.figures))

    @installed
    def test_reframe(self):
        report = self.folder / 'reframe.json'
        run(VENV / 'bin/reframe', '-C', HERE / 'reframe_settings.py', '-c', CONTRIB / 'reframe_patchbench.py',
            '-S', f'program={PROGRAM}', '-S', f'study={self.study}', '-S', f'num_tasks={NUM_RANKS}',
            '-S', 'settings=stop.min_reps=4,name=other', '--prefix', self.folder / 'reframe', '--keep-stage-files',
            '--report-file', report, '-r', cwd=self.folder, env={**ONE_MACHINE, 'TMPDIR': str(self.folder)})
        case, = json.loads(report.read_text())['runs'][0]['testcases']
        self.assertEqual((case['result'], case['num_tasks']), ('pass', NUM_RANKS))
        stdout, = (self.folder / 'reframe').glob('stage/**/rfm_job.out')
        expected = figures_of(stdout.read_text())
        measured = {name.rsplit(':', 1)[-1]: (values[0], values[4]) for name, values in case['perfvalues'].items()}
        self.assertEqual(measured, expected)
        self.assertEqual(measured.keys(), self.figures.keys())
        script, = (self.folder / 'reframe').glob('stage/**/rfm_job.sh')
        self.assertIn('--set stop.min_reps=4 --set name=other', script.read_text())

    @installed
    def test_jube(self):
        environment = {'PYTHONPATH': str(DEBIAN / 'usr/lib/python3/dist-packages'), 'PATCHBENCH': PROGRAM,
                       'PATCHBENCH_STUDY': str(self.study), 'PATCHBENCH_LAUNCHER': ' '.join([*MPIRUN, '-n'])}
        jube = [VENV / 'bin/python', '-W', 'ignore', DEBIAN / 'usr/bin/jube']
        run(*jube, 'run', CONTRIB / 'patchbench.yaml', '-o', self.folder / 'jube', cwd=self.folder, env=environment,
            timeout=400)
        table = run(*jube, 'result', '-a', self.folder / 'jube', '-s', 'csv', cwd=self.folder, env=environment)
        rows = list(csv.DictReader(line for line in table.splitlines() if ',' in line))
        self.assertEqual(len(rows), 8, 'ranks 1, 2; patch 128, 256; batch 1, 4')
        packages = sorted((self.folder / 'jube').rglob('stdout'))
        outputs = [figures_of(file.read_text()) for file in packages]
        for key in self.keys():
            column, = [name for name in rows[0] if name.split('[')[0] == key]
            self.assertEqual(sorted(float(row[column]) for row in rows),
                             sorted(value for figures in outputs for name, (value, _) in figures.items()
                                    if name.endswith('.' + key)))
        self.assertEqual(sorted(row['verdict'] for row in rows), sorted(verdict_of(file.read_text()) for file in packages))

    @installed
    def test_compare_py_of_google_benchmark(self):
        files = [self.folder / f'run{i}.json' for i in range(2)]
        for i, file in enumerate(files):
            self.call_valid(self.folder / f'run{i}/results.jsonl')
            run(PROGRAM, 'report', self.folder / f'run{i}', '--export', f'gbench={file}')
        compare = [VENV / 'bin/python', '-W', 'ignore', DEBIAN / 'usr/share/benchmark/compare.py', '--no-color']
        rows = [line.split() for line in run(*compare, 'benchmarks', *files).splitlines()]
        medians = [figures_of(output) for output in self.outputs]
        for label in self.labels():
            self.assertEqual(sum(row[0] == label for row in rows if row), 3, 'one row a repetition')
            row, = [row for row in rows if row and row[0] == label + '_median']
            times = [figures[label + '.pipeline_s'][0] for figures in medians]
            self.assertAlmostEqual(float(row[1]), times[1] / times[0] - 1, places=3)
            self.assertAlmostEqual(float(row[3]), times[0] * 1e6, delta=1 + times[0] * 10)
            self.assertTrue([row for row in rows if row and row[0] == label + '_pvalue'], 'the U test ran')
        self.assertIn('OVERALL_GEOMEAN', [row[0] for row in rows if row])

    def test_ramble(self):
        application, recorded = ramble_stub.load_application(CONTRIB / 'application.py')
        self.assertEqual(application.name, 'patchbench')
        variables = {each['name']: each['default'] for each in recorded.of('workload_variable')}
        executable, = recorded.of('executable')
        command = executable['template'].format(experiment_run_dir='/run', **variables)
        self.assertEqual(command.split(), ['patchbench', 'run', 'study.yaml', '--out', '/run/results', '--verbose'])
        context, = recorded.of('figure_of_merit_context')
        found, verdict = {}, None
        for line in self.outputs[0].splitlines(keepends=True):  # Ramble tries each expression at the start of each line
            point = re.match(context['regex'], line)
            for fom in recorded.of('figure_of_merit'):
                match = re.match(fom['fom_regex'], line)
                if match and fom.get('contexts'):
                    name = context['output_format'].format(**point.groupdict()) + '.' + fom['name']
                    found[name] = (float(match[fom['group_name']]), fom['units'])
                elif match:
                    verdict = match[fom['group_name']]
        self.assertEqual(found, self.figures)
        self.assertEqual(verdict, verdict_of(self.outputs[0]))
        success, = recorded.of('success_criteria')
        self.assertTrue(any(re.match(success['match'], line) for line in self.outputs[0].splitlines()))
        self.assertFalse(re.match(success['match'], 'RESULT: INVALID  why'))


if __name__ == '__main__':
    outcome = unittest.main(argv=sys.argv[:1], verbosity=2, exit=False).result
    if outcome.wasSuccessful() and outcome.skipped:
        print(f'skipped: {NOT_INSTALLED}')
        sys.exit(77)
    sys.exit(not outcome.wasSuccessful())
