#!/usr/bin/env python3
"""Does `patchbench compare` find a real slow-down, and none where there is none?

usage: compare_slowdown.py PATCHBENCH [--slower 0.10] [--launches 6] [--nice 0] [--out DIR]

Launches of one small study in turns: one left alone, one held up from outside. It is stopped and continued (SIGSTOP,
SIGCONT) again and again, so that of each 11 ms it runs 10: the program knows nothing of it, and its clock goes on. Who
comes first alternates, so that what else happens on the machine meets both sides. Then three comparisons:

  a launch and itself            must be SAME
  launches left alone, in halves must be neither FASTER nor SLOWER
  left alone and held up         must be SLOWER

Exit code 1 when one of them comes out otherwise. A machine with much other work needs more launches, or --nice -10.
"""
import argparse
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

STUDY = """
name: slowdown
weights: seed:1
device: cpu
threads: 1
bounds: off
save_images: false
image: {height: 128, width: 128}
halo: 8
patch: 64
verify.probes: 1
warmup: {reps: 2}
stop: {min_reps: 20, max_time_s: 3}
forward_calls: 0
groups:
  - {network: dncnn, batch: [1, 4]}
  - {network: unet, batch: 4}
"""
RUN_S = 0.01  # of the held-up process, between two stops


class Holder:
    """Stops a process for a share of the time that it runs."""

    def __init__(self, process, share):
        self.process, self.share = process, share
        self.ran_s = self.held_s = 0.0

    def pause(self, send, seconds):
        begin = time.perf_counter()
        os.kill(self.process.pid, send)
        time.sleep(seconds)
        return time.perf_counter() - begin

    def hold(self):
        while self.process.poll() is None:
            self.ran_s += self.pause(signal.SIGCONT, RUN_S)
            if self.process.poll() is None:
                # By what really passed: a sleep takes longer than asked for, and longer on a busy machine.
                self.held_s += self.pause(signal.SIGSTOP, max(0.0, self.share * self.ran_s - self.held_s))
                os.kill(self.process.pid, signal.SIGCONT)


def launch(options, study, name, share):
    """Runs the study; its results file, and by how much it was held up."""
    folder = options.out / name
    log = open(options.out / f'{name}.log', 'w')
    process = subprocess.Popen([options.patchbench, 'run', study, '--out', folder], stdout=log, stderr=log,
                               preexec_fn=lambda: os.nice(options.nice))
    holder = Holder(process, share)
    if share:
        holder.hold()
    if process.wait() != 0:
        sys.exit(f'{name} failed, see {log.name}')
    return folder / 'results.jsonl', holder.held_s / holder.ran_s if share else 0.0


def compare(options, title, old, new, allowed):
    """Prints what `compare` says of each point; whether every outcome is one of `allowed`."""
    result = subprocess.run([options.patchbench, 'compare', '--old', *map(str, old), '--new', *map(str, new)],
                            capture_output=True, text=True, check=True)
    rows = [line for line in result.stdout.splitlines() if re.search(r' (FASTER|SLOWER|SAME|UNSURE)$', line)]
    good = bool(rows) and all(row.split()[-1] in allowed for row in rows)
    print(f'{title}: {len(old)} and {len(new)} launches, expected {" or ".join(allowed)}: '
          f'{"as expected" if good else "NOT AS EXPECTED"}')
    print('\n'.join('  ' + row for row in rows), flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('patchbench', type=pathlib.Path)
    parser.add_argument('--slower', type=float, default=0.10)
    parser.add_argument('--launches', type=int, default=6)
    parser.add_argument('--nice', type=int, default=0)
    parser.add_argument('--out', type=pathlib.Path)
    options = parser.parse_args()
    options.patchbench = options.patchbench.resolve()
    options.out = options.out or pathlib.Path(tempfile.mkdtemp(prefix='patchbench-slowdown-'))
    options.out.mkdir(parents=True, exist_ok=True)
    study = options.out / 'study.yaml'
    study.write_text(STUDY)
    alone, held, shares = [], [], []
    for number in range(options.launches):
        for share in ([0, options.slower] if number % 2 == 0 else [options.slower, 0]):
            file, was = launch(options, study, f'{"held" if share else "alone"}{number}', share)
            (held if share else alone).append(file)
            if share:
                shares.append(was)
    print(f'held up by {100 * statistics.median(shares):.1f} % (median of {len(shares)} launches, '
          f'{100 * min(shares):.1f} to {100 * max(shares):.1f} %)')
    good = [compare(options, 'a launch and itself', alone[:1], alone[:1], ['SAME']),
            compare(options, 'left alone, in halves', alone[::2], alone[1::2], ['SAME', 'UNSURE']),
            compare(options, 'left alone and held up', alone, held, ['SLOWER'])]
    print(f'results: {options.out}')
    return 0 if all(good) else 1


if __name__ == '__main__':
    sys.exit(main())
