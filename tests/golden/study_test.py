"""A tiny study against what it is known to leave behind, whatever it measured blanked.

usage: study_test.py PATCHBENCH MPIRUN.. [--update]
What stays is what must not change by accident: keys, columns, their order, counts, statuses, texts. --update writes the
golden files anew: read the difference before it is committed.

Blanked, as '#', is by its key whatever a clock, a counter or the machine decides, and whether it is there at all: see
MEASURED. Nothing is recognised by how it looks, except in the terminal's text, where every word that is a number goes.
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

HERE = Path(__file__).resolve().parent
UPDATE = '--update' in sys.argv
PROGRAM, *MPIRUN = [word for word in sys.argv[1:] if word != '--update']

# Keys, at any depth, below which nothing is the same on every machine and at every moment.
MEASURED = {
    'samples', 'memory', 'telemetry', 'bounds', 'bottleneck', 'quality', 'notes', 'outlier_reps', 'slowest_rank', 'allocated_peak_rank',
    'window_error', 'seam_error', 'mean_shift', 'rms_change', 'errors', 'why', 'git_sha', 'git_dirty', 'started_at', 'command_line', 'compiler', 'build_type',
    'libraries', 'variables', 'host_processor', 'host', 'binding', 'device_name', 'affinity', 'num_cores', 'processor_limit', 'threads', 'memory_mib',
    'sha256', 'weights_sha256', 'version', 'wall_s', 'copy_gb_per_s', 'ridge_flop_per_byte', 'stage_shares', 'jumps',
    'fastest',
}
# Of the figures of a point, what follows from the plan alone. All others are measured.
PLANNED = {'repetitions', 'predicted_peak_mib', 'pixels_per_forward'}
# Times, rates, memory and quality: there for a point that was measured, absent for the others, whatever the moment.
# Of the rest (stages too short for the clock, energy, ..) not even that is sure.
CERTAIN = {
    'patches_per_s', 'useful_mpx_per_s', 'processed_mpx_per_s', 'images_per_s', 'tflops', 'pipeline_s',
    'pipeline_low_s', 'pipeline_high_s', 'pipeline_mean_s', 'pipeline_sd_s', 'pipeline_min_s', 'pipeline_p90_s',
    'pipeline_p95_s', 'pipeline_p99_s', 'forward_s', 'forward_patches_per_s', 'efficiency', 'job_s',
    'allocated_peak_mib', 'reserved_peak_mib', 'host_peak_mib', 'psnr_noisy_db', 'psnr_denoised_db', 'ssim_noisy',
    'ssim_denoised',
}
METRICS = set()  # all figures of a point: `patchbench run --explain`
NUMBER = re.compile(r'[\[(]?[+-]?\d+(\.\d+)?(e[+-]?\d+)?[\])%,;]*')


def blanked(key, value):
    if key in MEASURED:
        return '#'
    if key in METRICS and key not in PLANNED:
        return '#' if key not in CERTAIN or value not in (None, '') else value
    return value


def plain(text, folder, hosts, devices):
    """`text` without names of this machine and without amounts of memory."""
    text = str(text).replace(str(folder), 'FOLDER')
    for host in hosts:
        text = text.replace(host, 'HOST')
    for device in devices:
        text = text.replace(device, 'PROCESSOR')
    text = re.sub(r'ranks? [\d, -]+@HOST', 'RANKS@HOST', text)
    return re.sub(r'[\d.]+ MiB', '# MiB', text)


def leaves(value, key='', path=''):
    """(path, value) of everything in a JSON value, blanked."""
    value = blanked(key, value)
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if not children:
        yield path, value
        return
    for name, child in children:
        yield from leaves(child, key if isinstance(value, list) else name, f'{path}.{name}' if path else str(name))


def side_by_side(records):
    """One line a name, with its value in each record; '-' where a record lacks it."""
    names = dict.fromkeys(name for record in records for name in record)
    return [f'{name}: ' + ' | '.join(str(record.get(name, '-')) for record in records) for name in names]


class GoldenStudyTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix='patchbench-golden-')
        cls.addClassCleanup(cls.temporary.cleanup)
        for attempt in range(3):  # until other work on this machine leaves what was measured VALID
            cls.folder = Path(cls.temporary.name) / f'attempt{attempt}'
            environment = {**os.environ, 'OMP_NUM_THREADS': '1', 'OMP_WAIT_POLICY': 'passive'}
            cls.result = subprocess.run(
                [*MPIRUN, '-n', '2', PROGRAM, 'run', HERE / 'study.yaml', '--out', cls.folder],
                capture_output=True, text=True, env=environment, timeout=200)
            assert cls.result.returncode == 5, cls.result.stderr + cls.result.stdout  # one point does not fit
            cls.lines = [json.loads(line) for line in (cls.folder / 'results.jsonl').read_text().splitlines()]
            if not any(line.get('status') == 'ok' and line['summary']['validity'] == 'INVALID' for line in cls.lines):
                break
        glossary = subprocess.run([PROGRAM, 'run', '--explain'], capture_output=True, text=True, check=True).stdout
        METRICS.update(re.findall(r'^\| `(\w+)`', glossary, re.MULTILINE))
        ranks = cls.lines[0]['environment']['ranks']
        # Longest first: a name may be part of another.
        cls.hosts = sorted({rank['host'] for rank in ranks}, key=len, reverse=True)
        cls.devices = sorted({rank['device_name'] or 'cpu' for rank in ranks}, key=len, reverse=True)

    def plain(self, text):
        return plain(text, self.folder, self.hosts, self.devices)

    def compare(self, name, lines):
        golden = HERE / name
        text = ''.join(line.rstrip() + '\n' for line in lines)
        if UPDATE:
            golden.write_text(text)
        self.assertEqual(text, golden.read_text(), f'{name}: if the change is meant, run this test with --update')

    def test_results_jsonl(self):
        def rows(kind):
            records = [dict(leaves(line)) for line in self.lines if line['type'] == kind]
            return side_by_side([{name: self.plain(value) for name, value in record.items()} for record in records])
        types = [line['type'] for line in self.lines]
        self.compare('study.jsonl.txt', [', '.join(types)] +
                     [line for kind in dict.fromkeys(types) for line in ('', *rows(kind))])

    def test_results_csv(self):
        with open(self.folder / 'results.csv', newline='') as file:
            records = [{column: self.plain(blanked(column, cell)) for column, cell in row.items()}
                       for row in csv.DictReader(file)]
        self.compare('study.csv.txt', side_by_side(records))

    def test_terminal(self):
        """Numbers blanked, columns one blank apart; without what comes and goes with the load: notes on ranks, limits."""
        text = re.sub(r'(What limits them\n)(  .*\n)+', r'\1', self.plain(self.result.stdout))
        lines = [line for line in text.splitlines() if not re.search('is the slowest|not measured alone', line)]
        words = [['#' if NUMBER.fullmatch(word) else '-' if set(word) == {'-'} else word for word in line.split()]
                 for line in lines]
        self.compare('study.terminal.txt', [re.sub(r'\d+@HOST', '#@HOST', ' '.join(line)) for line in words])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
