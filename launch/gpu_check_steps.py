"""Commands run one after the other within a budget, for gpu_check.py: each has a time limit, and one that fails does not
stop the next."""

import collections
import itertools
import os
import pathlib
import signal
import subprocess
import sys
import time

RESERVE_S = 15  # for stopping a step, the summary and the archive
SKIPPED = 77  # exit code of a test program whose every test was skipped
SHORTEST_S = 5  # a step with less time than this is not begun
Outcome = collections.namedtuple("Outcome", "name verdict seconds note output")


class Kit:
    """Where the parts lie: in a bundle or in a checkout with its build."""

    def __init__(self, folder):
        self.folder = folder
        self.is_bundle = (folder / "bin" / "env.sh").exists()
        self.program = folder / ("bin" if self.is_bundle else "build") / "patchbench"
        self.server = folder / ("bin" if self.is_bundle else "build/benchmarks") / "forward_server"
        self.tests = folder / ("tests" if self.is_bundle else "build/tests")
        self.studies = folder / "configs" / "gpu_check"  # beside the photograph that they name
        self.has_mpirun = True  # until it is tried

    def ranks(self, number):
        """What starts a program on that many ranks; without mpirun, on one."""
        if not self.has_mpirun:
            return []
        return ["bash", str(self.folder / "launch" / "ranks.sh"), str(number)]


class Steps:
    """Runs commands and keeps what came of them. `after` is called after each: it writes down how far everything is."""

    def __init__(self, folder, kit, budget_s, spent_s=0.0, pace=1.0):
        self.folder, self.kit, self.pace = folder, kit, pace
        self.start = time.monotonic() - spent_s
        self.end = self.start + budget_s - RESERVE_S * pace
        self.outcomes = []
        self.after = lambda: None

    def run(self, name, command, limit_s, expect_skip=False, optional=False):
        """Runs a command with its output in <name>.log; notes and returns what came of it."""
        limit_s = min(limit_s * self.pace, self.end - time.monotonic())
        if limit_s < SHORTEST_S * self.pace:
            return self.note(name, "skipped" if optional else "NOT RUN", 0, "no time was left", "")
        print(f"-- {name} (at most {limit_s:.0f} s)", file=sys.stderr, flush=True)
        start = time.monotonic()
        code, timed_out, output = self.call(self.folder / f"{name}.log", command, limit_s)
        return self.note(name, *judge(code, timed_out, expect_skip, limit_s, time.monotonic() - start), output)

    def call(self, log, command, limit_s):
        """(exit code, whether it was stopped, output). What it started is ended with it, whatever happens here."""
        with open(log, "w+b") as file:
            try:
                process = subprocess.Popen([str(word) for word in command], cwd=self.kit.folder, stdout=file,
                                           stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, start_new_session=True)
            except OSError as error:
                return 127, False, str(error)
            code = None
            try:
                code = wait(process, limit_s)
            finally:
                stop(process, 5 * self.pace)
            file.seek(0)
            return code, code is None, file.read().decode(errors="replace")

    def note(self, name, verdict, seconds=0, note="", output=""):
        self.outcomes.append(Outcome(name, verdict, seconds, note, output))
        print(f"-- {name}: {verdict} {note}", file=sys.stderr, flush=True)
        self.after()
        return self.outcomes[-1]

    def failed(self):
        return [outcome.name for outcome in self.outcomes if outcome.verdict in ("FAILED", "NOT RUN")]


def judge(code, timed_out, expect_skip, limit_s, seconds):
    """(verdict, seconds, note) of a command that ended."""
    if timed_out:
        return "FAILED", seconds, f"stopped after {limit_s:.0f} s"
    if code == SKIPPED:
        return "skipped" if expect_skip else "FAILED", seconds, "every test was skipped"
    if code < 0:
        return "FAILED", seconds, f"ended by signal {-code}"
    return ("FAILED", seconds, f"exit code {code}") if code else ("ok", seconds, "")


def wait(process, seconds):
    """The exit code, or None when it took longer."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


def stop(process, patience_s):
    """The step and all that it started: first so that results are flushed, then for good."""
    for kind in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, kind)
        except (ProcessLookupError, PermissionError):
            return
        wait(process, patience_s)


def number_of_gpus():
    """That CUDA shows to a program: all, or those of CUDA_VISIBLE_DEVICES up to the first entry that is none."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        entries = (entry.strip() for entry in chosen.split(","))
        return sum(1 for _ in itertools.takewhile(lambda entry: entry not in ("", "-1"), entries))
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=30).stdout
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return sum(line.startswith("GPU") for line in listed.splitlines())


def is_program(path):
    return pathlib.Path(path).is_file() and os.access(path, os.X_OK)
