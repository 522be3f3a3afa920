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
        return self.run_together({name: command}, limit_s, expect_skip, optional)[0]

    def run_together(self, commands, limit_s, expect_skip=False, optional=False):
        """Runs the named commands side by side. What they started is ended with them, whatever happens here."""
        limit_s = min(limit_s * self.pace, self.end - time.monotonic())
        if limit_s < SHORTEST_S * self.pace:
            return [self.note(name, "skipped" if optional else "NOT RUN", 0, "no time was left") for name in commands]
        started = []
        try:
            for name, command in commands.items():
                print(f"-- {name} (at most {limit_s:.0f} s)", file=sys.stderr, flush=True)
                started.append(Started(name, command, self.folder / f"{name}.log", self.kit.folder))
            while not all([each.is_over(limit_s) for each in started]):
                time.sleep(0.02)
        finally:
            for each in started:
                each.stop(5 * self.pace)
        return [self.note(each.name, *judge(each.code, each.timed_out, expect_skip, limit_s, each.seconds),
                          each.output()) for each in started]

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


class Started:
    """A command that runs, or did."""

    def __init__(self, name, command, log, folder):
        self.name, self.log, self.start = name, log, time.monotonic()
        self.process, self.code, self.end, self.timed_out, self.trouble = None, 127, None, False, ""
        try:
            with open(log, "wb") as file:
                self.process = subprocess.Popen([str(word) for word in command], cwd=folder, stdout=file,
                                                stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, start_new_session=True)
        except OSError as error:
            self.trouble = str(error)

    def is_over(self, limit_s):
        """Whether it ended, or `limit_s` passed since its start. Notes when."""
        if self.process is None or self.end is not None:
            return True
        self.code = self.process.poll()
        self.timed_out = self.code is None and time.monotonic() - self.start >= limit_s
        if self.code is None and not self.timed_out:
            return False
        self.end = time.monotonic()
        return True

    @property
    def seconds(self):
        return (self.end or self.start) - self.start

    def stop(self, patience_s):
        if self.process is not None:
            stop(self.process, patience_s)

    def output(self):
        return self.trouble or self.log.read_bytes().decode(errors="replace")


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
