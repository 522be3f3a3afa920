"""What the tests of this folder share: other programs' readers (setup.sh installs them), and one launch of denoise.

usage: *_test.py PATCHBENCH MPIRUN..     (without the readers the test is skipped, exit code 77)
"""
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
if not (HERE / '.venv/installed').exists():
    print('skipped: tests/readers/setup.sh has not been run')
    sys.exit(77)
if Path(sys.prefix) != HERE / '.venv':
    python = HERE / '.venv/bin/python'
    os.execv(python, [str(python), *sys.argv])

sys.path.insert(0, str(HERE.parent / 'e2e'))
import program  # noqa: E402


def denoise(photo, out, *more, ranks=3):
    """What it printed."""
    return program.run('denoise', photo, out, '--halo', '8', '--patch', '48', '--batch', '2', '--sigma', '0.1', '--device', 'cpu',
                       '--verify', '1', *more, ranks=ranks, code=0).stdout


def run_study(text, folder):
    """The first point's notes; the study lies and writes in `folder`."""
    (folder / 'study.yaml').write_text(text)
    program.run('run', folder / 'study.yaml', '--out', folder / 'out', code=0)
    return program.points(folder / 'out')[0]['summary']['notes']
