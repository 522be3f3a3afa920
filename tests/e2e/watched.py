"""Runs patchbench with a library beneath it that writes down the system calls on the files of a test.

`python3 some_test.py <patchbench> <library tests/support/faulty_system.cpp> <mpirun and its options>`
"""
import sys
from pathlib import Path

SYSTEM = str(Path(sys.argv.pop(2)).resolve())

import program


class Call:
    def __init__(self, line):
        self.process, self.name, self.path, *new = line.split()
        self.new = new[0] if new else None


class WatchedTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.journal = self.folder / 'journal'

    def run_watched(self, *arguments, ranks=0, code=None, **faults):
        """CompletedProcess, and the calls that it made on files of this test."""
        self.journal.unlink(missing_ok=True)
        variables = {'LD_PRELOAD': SYSTEM, 'FAULTY_JOURNAL': self.journal, **faults}
        watched = ['env', *(f'{name}={value}' for name, value in variables.items())]
        result = program.run(*arguments, ranks=ranks, before=watched, code=code)
        return result, [Call(line) for line in self.journal.read_text().splitlines()]
