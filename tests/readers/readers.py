"""What the tests of this folder share: other programs' readers (setup.sh installs them), and one launch of denoise.

usage: *_test.py PATCHBENCH MPIRUN..     (without the readers the test is skipped, exit code 77)
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
if not (HERE / '.venv/installed').exists():
    print('skipped: tests/readers/setup.sh has not been run')
    sys.exit(77)
if Path(sys.prefix) != HERE / '.venv':
    python = HERE / '.venv/bin/python'
    os.execv(python, [str(python), *sys.argv])

PROGRAM, *MPIRUN = sys.argv[1:]


def denoise(photo, out, *more, ranks=3):
    """What it printed."""
    result = subprocess.run([*MPIRUN, '-n', str(ranks), PROGRAM, 'denoise', photo, out, '--halo', '8', '--patch', '48', '--batch',
                             '2', '--sigma', '0.1', '--device', 'cpu', '--verify', '1', *more], capture_output=True, text=True, timeout=200)
    assert result.returncode == 0, result.stderr + result.stdout
    return result.stdout


def run_study(text, folder):
    """The first point's notes; the study lies and writes in `folder`."""
    (folder / 'study.yaml').write_text(text)
    result = subprocess.run([PROGRAM, 'run', folder / 'study.yaml', '--out', folder / 'out'], capture_output=True, text=True, timeout=200)
    assert result.returncode == 0, result.stderr + result.stdout
    return json.loads((folder / 'out/results.jsonl').read_text().splitlines()[1])['summary']['notes']


class ReadersTest(unittest.TestCase):
    """Each test has an empty folder of its own."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix='patchbench-readers-')
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)


def main():
    unittest.main(argv=sys.argv[:1], verbosity=2)
