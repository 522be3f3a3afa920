#!/usr/bin/env python3
"""Plants faults in a copy of the program, one build for all of them, and says which of them no test notices.

Each fault of faults/<layer>.toml is switched on by PATCHBENCH_MUTANT=<id> while the tests run that should catch it;
before, the same tests must pass without any fault. Ends with `mutants: N planted, N caught, N survived (explained N)`;
exit code 1 when less than 95 % are caught or one survives that is not explained.
"""

import argparse
import concurrent.futures
import contextlib
import os
import pathlib
import re
import sys
import threading

from faults import Refused, check_faults, load_faults
from tree import build, list_tests, make_tree, targets_of
from trial import run_test

LEAST_CAUGHT = 0.95
CAUGHT, SURVIVED, MUTE = "caught", "survived", "mute"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the faults and stop")
    parser.add_argument("--check", action="store_true", help="only whether each fault still fits its source exactly once")
    parser.add_argument("--only", metavar="REGEX", help="faults whose id matches")
    parser.add_argument("--smoke", action="store_true", help="a selection over all layers with fast tests")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N",
                        help="faults tried at the same time (default: one a processor)")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2],
                        help="the project (default: the one of this file)")
    return parser.parse_args()


class Trials:
    """The tests of a build, each run without faults at most once. May be used by several threads."""

    def __init__(self, tests):
        self.tests = tests
        self.control = {}
        self.locks = {}

    def names_for(self, pattern):
        """The quick ones first, as far as that is known."""
        def cost(name):
            labels = self.tests[name]["properties"].get("LABELS", [])
            known = self.control[name].seconds if name in self.control else 0
            return [label in labels for label in ("cli", "mpi")], known
        return sorted((name for name in self.tests if re.fullmatch(pattern, name)), key=cost)

    def setups_of(self, name):
        """Tests that make what this one needs."""
        needed = set(self.tests[name]["properties"].get("FIXTURES_REQUIRED", []))
        return [other for other, test in self.tests.items()
                if needed & set(test["properties"].get("FIXTURES_SETUP", []))]

    @contextlib.contextmanager
    def alone(self, name):
        """Nobody else runs this test, what sets it up, or what ctest keeps apart from it: they may share files."""
        shared = {name, *self.setups_of(name), *self.tests[name]["properties"].get("RESOURCE_LOCK", [])}
        with contextlib.ExitStack() as held:
            for lock in sorted(shared):  # in one order, so that nobody waits for each other
                held.enter_context(self.locks.setdefault(lock, threading.Lock()))
            yield

    def run_control(self, name):
        """Without any fault, once; a test that fails so can say nothing."""
        if name not in self.control:
            for setup in self.setups_of(name):
                self.run_control(setup)
            self.control[name] = run_test(self.tests[name], None, self.tests[name]["properties"].get("TIMEOUT", 600))
        return self.control[name]

    def attempt(self, fault):
        """One of CAUGHT (with the test and its outcome), SURVIVED, and MUTE (with the reason why nothing can be said)."""
        why, is_heard = "", False
        for name in self.names_for(fault.tests):
            with self.alone(name):
                control = self.run_control(name)
                if control.verdict == "passed":
                    is_heard = True
                    if seen := self.try_with(fault, name):
                        return CAUGHT, *seen
            if control.verdict == "skipped":
                why = f"all its tests are skipped here ({control.detail})"
            elif control.verdict != "passed":
                return MUTE, name, f"{name} fails without any fault: {control.detail}\n{control.output[-3000:]}"
        return (SURVIVED, None, None) if is_heard else (MUTE, None, why)

    def try_with(self, fault, name):
        """The step (the test, or what sets it up) that fails with `fault`, and its outcome; None where none does."""
        for step in [*self.setups_of(name), name]:
            longest = self.tests[step]["properties"].get("TIMEOUT", 600)
            outcome = run_test(self.tests[step], fault.id, min(longest, 30 + 5 * self.control[step].seconds))
            if outcome.verdict in ("failed", "hung"):
                return step, outcome
        return None


def spread(faults, jobs):
    """In such an order that faults which are neighbours, and have the same tests, are not tried at the same time."""
    stride = -(-len(faults) // jobs)
    return [fault for first in range(stride) for fault in faults[first::stride]]


def check_tests(faults, trials):
    for fault in faults:
        if not trials.names_for(fault.tests):
            raise Refused(f"{fault.id}: no test is called '{fault.tests}'")


def measure(faults, all_faults, root, jobs):
    """Builds and tries all of `faults`; those that survived, and those of which nothing can be said, with the reason."""
    tree = make_tree(root, faults)
    build(tree, ["help"], quiet=True)  # configures: what tests there are is known then
    tests = list_tests(tree)
    check_tests(all_faults, Trials(tests))
    chosen = [test for name, test in tests.items() if any(re.fullmatch(fault.tests, name) for fault in faults)]
    chosen += [tests[setup] for test in chosen for setup in Trials(tests).setups_of(test["name"])]
    build(tree, targets_of(chosen, tree))
    trials = Trials(list_tests(tree))
    survivors, mute = [], []
    faults = spread(faults, jobs)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for fault, (verdict, name, found) in zip(faults, pool.map(trials.attempt, faults)):
            if verdict == MUTE:
                mute.append(f"{fault.id}: {found}")
                print(f"MUTE      {fault.id}: {found.splitlines()[0]}", flush=True)
            elif verdict == SURVIVED:
                survivors.append(fault)
                print(f"SURVIVED  {fault.id}: {fault.survives or fault.why}", flush=True)
            else:
                hung = " (a hang)" if found.verdict == "hung" else ""
                print(f"caught    {fault.id:40} {found.seconds:6.1f} s  {name}: {found.detail}{hung}", flush=True)
                if fault.survives:
                    print(f"          {fault.id} is said to survive: take that out of its list")
    return survivors, mute


def select(faults, arguments):
    if arguments.only:
        faults = [fault for fault in faults if re.search(arguments.only, fault.id)]
    if arguments.smoke:
        faults = [fault for fault in faults if fault.smoke]
    if not faults:
        raise Refused("no fault is selected: --list shows them")
    return faults


def main():
    arguments = parse_arguments()
    root = arguments.root.resolve()
    try:
        all_faults = load_faults(root / "tests" / "mutants" / "faults")
        check_faults(all_faults, root)
        faults = select(all_faults, arguments)
        if arguments.list:
            for fault in faults:
                print(f"{fault.id:40} {fault.places[0].file:44} {fault.tests}\n    {fault.why}")
        if arguments.list or arguments.check:
            print(f"mutants: {len(faults)} faults, each fits its source once")
            return 0
        survivors, mute = measure(faults, all_faults, root, arguments.jobs)
    except Refused as refusal:
        print(f"mutants: {refusal}", file=sys.stderr)
        return 1
    explained = sum(1 for fault in survivors if fault.survives)
    caught = len(faults) - len(survivors) - len(mute)
    for reason in mute:
        print(f"mutants: {reason}", file=sys.stderr)
    print(f"mutants: {len(faults)} planted, {caught} caught, {len(survivors)} survived (explained {explained})" +
          (f", {len(mute)} without a test that can speak" if mute else ""))
    return 0 if not mute and caught >= LEAST_CAUGHT * len(faults) and explained == len(survivors) else 1


if __name__ == "__main__":
    sys.exit(main())
