"""A tiny study against what it is known to leave behind, whatever it measured blanked.

usage: study_test.py PATCHBENCH MPIRUN.. [--update]
Numbers that were measured become '#': every fraction in results.jsonl and results.csv. What stays is what must not
change by accident: keys, columns, their order, counts, statuses, texts. --update writes the golden files anew: read the
difference before it is committed.
"""
import csv
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
UPDATE = '--update' in sys.argv
PROGRAM, *MPIRUN = [word for word in sys.argv[1:] if word != '--update']
DIGEST = re.compile(r'^[0-9a-f]{40,64}$')
FRACTION = re.compile(r'-?\d+\.\d+(e[+-]?\d+)?|\b\d+e-\d+\b')
# What depends on the machine or the moment and is no fraction, or not always there.
MEASURED = {'slowest_rank', 'allocated_peak_rank', 'window_error', 'seam_error', 'notes', 'outlier_reps', 'outliers',
            'telemetry', 'drift', 'energy_j', 'energy_j_per_mpx', 'cpu_energy_j', 'cpu_energy_j_per_mpx'}


def blanked(value, key=''):
    if key in MEASURED:
        return '#'
    if isinstance(value, dict):
        return {name: blanked(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [blanked(each, key) for each in value]
    if isinstance(value, float) or key.endswith(('_mib', '_s')) and isinstance(value, int):
        return '#'
    if isinstance(value, str):
        return 'sha256' if DIGEST.match(value) else FRACTION.sub('#', value)
    return value


def named(text, folder):
    return text.replace(str(folder), 'FOLDER').replace('@' + socket.gethostname(), '@HOST')


def blanked_jsonl(text, folder):
    lines = [json.loads(line) for line in named(text, folder).splitlines()]
    lines[0]['environment'] = sorted(lines[0]['environment'])
    return ''.join(json.dumps(blanked(line), indent=1) + '\n' for line in lines)


def blanked_csv(text, folder):
    rows = list(csv.DictReader(named(text, folder).splitlines()))
    lines = [f'{column}: ' + ' | '.join(str(blanked(row[column], column)) for row in rows) for column in rows[0]]
    return '\n'.join(lines) + '\n'


class GoldenStudyTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix='patchbench-golden-')
        cls.folder = Path(cls.temporary.name)
        environment = {**os.environ, 'OMP_NUM_THREADS': '1', 'OMP_WAIT_POLICY': 'passive'}
        cls.result = subprocess.run(
            [*MPIRUN, '-n', '2', PROGRAM, 'run', HERE / 'study.yaml', '--out', cls.folder],
            capture_output=True, text=True, env=environment, timeout=200)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def compare(self, name, text):
        golden = HERE / name
        if UPDATE:
            golden.write_text(text)
        self.assertEqual(text, golden.read_text(), f'{name}: if the change is meant, run this test with --update')

    def test_one_point_of_four_does_not_fit(self):
        self.assertEqual(self.result.returncode, 5, self.result.stderr + self.result.stdout)
        self.assertIn('RESULT: VALID', self.result.stdout)

    def test_results_jsonl(self):
        self.compare('study.jsonl.txt', blanked_jsonl((self.folder / 'results.jsonl').read_text(), self.folder))

    def test_results_csv(self):
        self.compare('study.csv.txt', blanked_csv((self.folder / 'results.csv').read_text(), self.folder))

    def test_fom_lines(self):
        lines = [line for line in self.result.stdout.splitlines() if line.startswith(('FOM ', 'RESULT: '))]
        self.compare('study.fom.txt', '\n'.join(re.sub(r' -?[\d.e+-]+ ', ' # ', line) for line in lines) + '\n')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
