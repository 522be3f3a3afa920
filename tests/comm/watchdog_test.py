#!/usr/bin/env python3
"""Jobs whose ranks are stopped, killed or left alone: each must end by itself, with a message that says why.

usage: comm_watchdog_test.py <program> <mpirun> [options of mpirun]..
"""

import os
import re
import signal
import subprocess
import sys
import time
import unittest

PROGRAM, *MPIRUN = sys.argv[1:]
NUM_RANKS = 3
TIMEOUT_S = 2  # of the watchdogs
END_S = 60  # a job that has not ended by then hangs


class Job:
    """A started job whose ranks wait; `pids` by rank."""

    def __init__(self, mode, timeout_s, num_ranks=NUM_RANKS):
        command = [*MPIRUN, "-n", str(num_ranks), PROGRAM, mode, str(timeout_s)]
        # A pipe of our own: communicate() would close Popen's, and rank 0 take that for a line.
        stdin, self.stdin = os.pipe()
        self.process = subprocess.Popen(command, text=True, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        os.close(stdin)
        self.pids = {}
        while len(self.pids) < num_ranks:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError("the job ended early: " + self.process.stderr.read())
            for rank, pid in re.findall(r"ready (\d+) (\d+)", line):
                self.pids[int(rank)] = int(pid)

    def signal(self, number, *ranks):
        for rank in ranks or self.pids:
            os.kill(self.pids[rank], number)

    def end(self, line=""):
        """Lets rank 0 read a line, when one is given, and waits: exit code and stderr."""
        try:
            os.write(self.stdin, line.encode())
            _, errors = self.process.communicate(timeout=END_S)
        finally:
            self.process.kill()
            os.close(self.stdin)
        return self.process.returncode, errors


class WatchdogTest(unittest.TestCase):
    def test_a_stopped_rank_is_named_and_ends_the_job(self):
        for stopped in (0, 2):
            with self.subTest(stopped=stopped):
                job = Job("wait", TIMEOUT_S)
                job.signal(signal.SIGSTOP, stopped)
                code, errors = job.end()
                self.assertNotEqual(code, 0)
                self.assertRegex(errors, rf"rank \d@\S+ .* rank {stopped}@\S+ \(pid {job.pids[stopped]}\):")
                self.assertEqual(errors.count("patchbench: "), 1, errors)

    def test_several_stopped_ranks_are_all_named(self):
        job = Job("wait", TIMEOUT_S)
        job.signal(signal.SIGSTOP, 0, 2)
        code, errors = job.end()
        self.assertNotEqual(code, 0)
        self.assertRegex(errors, r"rank 1@\S+ .* rank 0@\S+ .*, rank 2@")

    def test_a_rank_that_stops_while_the_others_finalise_is_named(self):
        job = Job("finalise", TIMEOUT_S)
        time.sleep(TIMEOUT_S / 2)  # the others are in MPI_Finalize by then
        job.signal(signal.SIGSTOP, NUM_RANKS - 1)
        code, errors = job.end()
        self.assertNotEqual(code, 0)
        self.assertRegex(errors, rf"rank \d@\S+ .* rank {NUM_RANKS - 1}@")

    def test_a_killed_rank_ends_the_job(self):
        job = Job("wait", TIMEOUT_S)
        job.signal(signal.SIGKILL, 1)
        code, _ = job.end()
        self.assertNotEqual(code, 0)

    def test_a_job_that_was_suspended_as_a_whole_lives_on(self):
        job = Job("wait", TIMEOUT_S)
        job.signal(signal.SIGSTOP)
        time.sleep(2 * TIMEOUT_S)
        job.signal(signal.SIGCONT)
        time.sleep(TIMEOUT_S)  # long enough for a watcher that counts wrongly
        self.assertEqual(job.end("go on\n"), (0, ""))

    def test_a_rank_that_left_is_not_missed(self):
        job = Job("leave", TIMEOUT_S)
        time.sleep(2 * TIMEOUT_S)
        self.assertEqual(job.end("go on\n"), (0, ""))

    def test_without_a_time_out_nobody_is_watched(self):
        job = Job("wait", 0)
        job.signal(signal.SIGSTOP, 1)
        time.sleep(2 * TIMEOUT_S)
        job.signal(signal.SIGCONT, 1)
        self.assertEqual(job.end("go on\n"), (0, ""))


class SessionTest(unittest.TestCase):
    def run_program(self, command, **environment):
        return subprocess.run(command, text=True, capture_output=True, timeout=END_S, stdin=subprocess.DEVNULL,
                              env=os.environ | environment)

    def test_an_error_on_one_rank_ends_all_with_its_exit_code(self):
        done = self.run_program([*MPIRUN, "-n", str(NUM_RANKS), PROGRAM, "throw"])
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("the last rank has a trouble of its own", done.stderr)

    def test_the_launcher_and_mpi_agree_under_mpirun(self):
        done = self.run_program([*MPIRUN, "-n", str(NUM_RANKS), PROGRAM, "size"], SLURM_STEP_NUM_TASKS="1")
        self.assertEqual(done.stdout, f"size {NUM_RANKS} {NUM_RANKS}\n", done.stderr)

    def test_one_rank_needs_no_launcher(self):
        self.assertEqual(self.run_program([PROGRAM, "size"]).stdout, "size -1 1\n")

    def test_independent_copies_are_seen(self):
        for variable in ("PMI_SIZE", "SLURM_STEP_NUM_TASKS"):
            done = self.run_program([PROGRAM, "size"], **{variable: "4"})
            self.assertEqual(done.stdout, "size 4 1\n", done.stderr)
        # An allocation is not a launch, and nonsense is no count.
        done = self.run_program([PROGRAM, "size"], SLURM_NTASKS="4", PMI_SIZE="many")
        self.assertEqual(done.stdout, "size -1 1\n", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
