"""One ctest entry, run by itself with a fault switched on: which case saw it, and how long that took."""

import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

# GoogleTest and Python's unittest, how each names a case that failed.
FAILED_CASE = re.compile(r"^\[  FAILED  \] ([^\s,]+)|^(?:FAIL|ERROR): (\S+)", re.MULTILINE)
SKIPPED = 77


@dataclasses.dataclass(frozen=True)
class Outcome:
    verdict: str  # passed, failed, hung, skipped
    seconds: float
    detail: str = ""
    output: str = ""


def run_test(test, fault_id, limit_s):
    """Runs what ctest would run. One that takes longer than `limit_s` hangs: it is ended with all that it started."""
    entries = [entry.split("=", 1) for entry in test["properties"].get("ENVIRONMENT", []) if entry]
    environment = dict(os.environ, **dict(entries))
    environment.pop("PATCHBENCH_MUTANT", None)
    if fault_id:
        environment.update(PATCHBENCH_MUTANT=fault_id, FAIL_FAST="1")  # the second is for the Python tests
        if len(test["command"]) == 1:  # ranks that stop at different cases would wait for each other
            environment["GTEST_FAIL_FAST"] = "1"
    mark = f"PATCHBENCH_MUTANT_TRIAL={os.getpid()}-{time.monotonic_ns()}"
    environment.update([mark.split("=", 1)])
    begin = time.monotonic()
    with tempfile.TemporaryFile(mode="w+", errors="replace") as output:
        process = subprocess.Popen(test["command"], cwd=test["properties"].get("WORKING_DIRECTORY"), env=environment,
                                   stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                   start_new_session=True)
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            code = None
        finally:  # also where this program is interrupted
            if process.poll() is None:
                end_group(process)
            end_marked(mark)
        output.seek(0)
        text = output.read()
    return judge(code, text, time.monotonic() - begin)


def judge(code, text, seconds):
    if code is None:
        return Outcome("hung", seconds, "did not end in time", text)
    if code == SKIPPED:
        return Outcome("skipped", seconds, text.strip().rsplit("\n", 1)[-1], text)
    if code == 0:
        return Outcome("passed", seconds, "", text)
    found = FAILED_CASE.search(text)
    ended = f"signal {-code}" if code < 0 else f"exit code {code}"
    return Outcome("failed", seconds, (found[1] or found[2]) if found else ended, text)


def end_group(process):
    """An mpirun that is asked to end takes its ranks along; one that does not is killed."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(5)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def end_marked(mark):
    """Ends what the trial left behind: processes that inherited its mark."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                os.kill(int(folder.name), signal.SIGKILL)
        except OSError:
            continue  # ended meanwhile, or another user's
