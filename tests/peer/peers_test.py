#!/usr/bin/env python3
"""benchmarks/peers.py: its arithmetic and its page, and a round on a tiny image with the peers that are installed.

usage: peers_test.py PATCHBENCH. The environment is that of the engine pytorch (launch/engines.sh), which lacks most peers.
"""
import array
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / 'benchmarks' / 'peers.py'
ENVIRONMENT = pathlib.Path(os.environ.get('PATCHBENCH_ENGINES', ROOT / '.engines')) / 'pytorch'
PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
sys.path.insert(0, str(SCRIPT.parent))
sys.dont_write_bytecode = True

import peers  # noqa: E402


def run_of(cpu_s, wall_s, difference=0.0):
    return {'cpu_s': cpu_s, 'wall_s': wall_s, 'denoise_s': 1.0, 'denoise_cpu_s': None, 'processed': 1.25, 'peak_mib': 100.4, 'difference': difference}


RUNS = {peers.BASE: [run_of(4, 5), run_of(8, 8), run_of(5, 6)],
        'other': [run_of(2, 10), run_of(8, 4, 0.25), run_of(4, 6)]}


class Arithmetic(unittest.TestCase):
    def test_ratios_are_those_of_the_same_round(self):
        self.assertEqual(peers.ratios(RUNS, 'other', 'cpu_s'), [0.5, 1.0, 0.8])
        self.assertEqual(peers.spread([0.5, 1.0, 0.8]), '0.80 [0.50, 1.00]')
        self.assertEqual(peers.spread([0.5]), '0.50')

    def test_an_output_that_is_not_the_whole_image_is_marked(self):
        lines = peers.table(RUNS).splitlines()
        self.assertEqual(len(lines), 4)
        self.assertIn('| **2.5e-01** |', lines[3], 'the largest of the rounds')
        self.assertIn('| 0.0e+00 |', lines[2])
        self.assertEqual({line.count('|') for line in lines}, {len(peers.COLUMNS) + 1})

    def test_only_what_is_between_the_marks_is_replaced(self):
        page = 'a\n<!-- table -->\nold\n<!-- end of table -->\nb\n'
        self.assertEqual(peers.replace_between(page, 'table', 'new'),
                         'a\n<!-- table -->\nnew\n<!-- end of table -->\nb\n')
        with self.assertRaises(SystemExit):
            peers.replace_between('no marks', 'table', 'new')

    def test_the_committed_page_has_the_marks(self):
        peers.replace_between((ROOT / 'docs' / 'results' / 'peers.md').read_text(), 'table', '')

    def test_every_requirement_is_pinned(self):
        lines = (SCRIPT.parent / 'peers_requirements.txt').read_text().splitlines()
        for line in lines:
            self.assertTrue(line.startswith('#') or line.count('==') == 1, line)

    def test_cpu_time_and_memory_are_those_of_the_process(self):
        work = 'import time; x = bytearray(200 << 20)\nwhile time.process_time() < 0.3: pass'
        _, counted = peers.run_counted([sys.executable, '-c', work], None)
        self.assertGreater(counted['cpu_s'], 0.25)
        self.assertGreater(counted['peak_mib'], 200)
        _, idle = peers.run_counted([sys.executable, '-c', ''], None)
        self.assertLess(idle['peak_mib'], 150, 'not that of an earlier one')
        with self.assertRaisesRegex(RuntimeError, 'its last words'):
            peers.run_counted([sys.executable, '-c', 'raise SystemExit("its last words")'], None)


def write_npy(file, shape, values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}".ljust(117) + '\n'
    file.write_bytes(b'\x93NUMPY\x01\x00' + len(header).to_bytes(2, 'little') + header.encode() +
                     array.array('f', values).tobytes())


class Round(unittest.TestCase):
    @unittest.skipUnless((ENVIRONMENT / 'bin' / 'python').exists(), 'launch/engines.sh --only pytorch')
    def test_installed_peers_give_the_whole_image(self):
        with tempfile.TemporaryDirectory() as folder:
            image, out = pathlib.Path(folder) / 'image.npy', pathlib.Path(folder) / 'runs.json'
            write_npy(image, (64, 64, 3), (((7 * i) % 64) / 64 for i in range(64 * 64 * 3)))
            done = subprocess.run([sys.executable, SCRIPT, PROGRAM, '--image', image, '--edge', '64', '--rounds', '1',
                                   '--out', out], env={**os.environ, 'PATCHBENCH_PEERS': str(ENVIRONMENT)},
                                  capture_output=True, text=True, timeout=500, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            runs = json.loads(out.read_text())
        self.assertIn('left out: MONAI', done.stdout)
        own = [row.name for row in peers.ROWS if row.name.startswith('patchbench')]
        self.assertEqual(len(own), 4)
        for name in (peers.BASE, *own):
            run, = runs[name]
            self.assertLess(run['difference'], peers.TOLERANCE, name)
            self.assertGreater(run['difference'], 0, 'the truth is in double precision')
            self.assertGreater(run['cpu_s'], 0)
            self.assertEqual(run['processed'], 1.0)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
