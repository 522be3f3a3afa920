"""A study of three points on several ranks, one of which meets a fault at a stage (PATCHBENCH_FAULT)."""
import os
import re
import time
from pathlib import Path

import program

STUDY = """
name: faulty
weights: seed:1
device: cpu
bounds: off
previews: 0
watchdog_s: 2
patch: 32
halo: 8
batch: 1
threads: 1
forward_calls: 0
warmup.reps: 0
stop: {min_reps: 2, max_time_s: 0}
image: {height: 64, width: 64}
groups:
  - {network: dncnn}
  - {network: unet}
  - {network: dncnn, sigma: 0.2}
"""
# How often a rank of two comes to a stage in a point: two windows in each of two passes; what is written is an image.
VISITS = {'gather': 4, 'forward': 4, 'output': 4, 'exchange': 2, 'read': 1, 'write': 1}
ENDS_WITHIN_S = float(os.environ.get('ENDS_WITHIN_S', 10))  # the watchdog's two seconds included
HANGS_S = 60


def in_second_point(stage, action):
    return f'{stage}:{action}:{VISITS[stage] + 1}'


class Outcome:
    def __init__(self, code, output, errors, seconds):
        self.code, self.output, self.errors, self.seconds = code, output, errors, seconds


class FaultyTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / 'out'
        self.study = self.write('faulty.yaml', STUDY)

    def rank(self, *, fault=None, options=(), wrapper=(), name=program.PROGRAM, study=None):
        """Words that start one rank."""
        set_fault = ['env', f'PATCHBENCH_FAULT={fault}'] if fault else []
        return [*set_fault, *wrapper, name, 'run', str(study or self.study), '--out', str(self.out), *options]

    def launch(self, *ranks):
        """Outcome of a job of these ranks; `seconds` count from the moment at which the first point is finished."""
        words = list(program.MPIRUN)
        for number, rank in enumerate(ranks):
            words += [*([':'] if number else []), '-n', '1', *rank]
        process = self.start(words)
        finished = time.monotonic()
        while process.poll() is None and not self.points():
            finished = time.monotonic()
            time.sleep(0.05)
        output, errors = process.communicate(timeout=HANGS_S)
        return Outcome(process.returncode, output, errors, time.monotonic() - finished)

    def points(self):
        return program.points(self.out)

    def states(self):
        return [point['status'] for point in self.points()]

    def leftovers(self):
        """Processes that name this test's folder."""
        found = []
        for entry in Path('/proc').glob('[0-9]*/cmdline'):
            try:
                if str(self.folder).encode() in entry.read_bytes():
                    found.append(entry.parent.name)
            except OSError:  # it ended meanwhile
                pass
        return found

    def assert_ended(self, outcome, code, *words, goes_on=False):
        """`goes_on`: the study does, for as long as it takes."""
        said = outcome.errors + outcome.output
        self.assertEqual(outcome.code, code, said)
        if not goes_on:
            self.assertLess(outcome.seconds, ENDS_WITHIN_S, said)
        for word in words:
            self.assertRegex(said, word)
        deadline = time.monotonic() + 2  # what mpirun has killed is not yet gone
        while self.leftovers() and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(self.leftovers(), [], 'processes are left')
        print(f'\n  ended after {outcome.seconds:.1f} s with {outcome.code}: {self.cause(said, words)}', flush=True)

    @staticmethod
    def cause(said, words):
        lines = [line.strip() for line in said.splitlines() if words and re.search(words[0], line)]
        return lines[0] if lines else ''

    def assert_goes_on(self, ranks=2):
        """--resume finishes the study, keeps the finished points as they are, and leaves nothing half-written."""
        before = {point['index']: point for point in self.points() if point['status'] == 'ok'}
        outcome = self.launch(*[self.rank(options=['--resume'])] * ranks)
        self.assertEqual(outcome.code, 0, outcome.errors)
        after = {point['index']: point for point in self.points()}
        self.assertEqual(len(after), 3)
        for index, point in before.items():
            self.assertEqual(after[index], point)
        self.assertEqual([file.name for file in self.folder.rglob('*.part')], [])
