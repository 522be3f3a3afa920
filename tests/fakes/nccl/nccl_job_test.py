#!/usr/bin/env python3
"""Whole jobs whose rank k meets trouble in NCCL: each ends by itself, with its exit code and the cause.

usage: nccl_job_test.py <program> <mpirun> [options of mpirun]..
"""

import re
import subprocess
import sys
import unittest

PROGRAM, *MPIRUN = sys.argv[1:]
NUM_RANKS = 3
END_S = 60  # a job that has not ended by then hangs


class NcclJob(unittest.TestCase):
    def run_job(self, work, trouble, call="", rank=0, timeout_s=1):
        """Exit code and what was said."""
        command = [*MPIRUN, "-n", str(NUM_RANKS), PROGRAM, work, trouble, call, str(rank), str(timeout_s)]
        process = subprocess.Popen(command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        try:
            output, errors = process.communicate(timeout=END_S)
        except subprocess.TimeoutExpired:
            process.terminate()  # mpirun takes its ranks along
            output, errors = process.communicate(timeout=END_S)
            self.fail(f"rank {rank}, {trouble} at {call}: the job hangs\n{errors}")
        return process.returncode, output, errors


class Output(NcclJob):
    def assert_cause(self, errors, cause):
        """Whoever says something says this, and nothing else."""
        lines = [line for line in errors.splitlines() if re.match(r"rank \d+@", line)]
        self.assertTrue(lines, errors)
        for line in lines:
            self.assertRegex(line, cause, errors)

    def test_without_trouble(self):
        code, output, errors = self.run_job("output", "none", timeout_s=20)
        self.assertEqual((code, output), (0, "done, the largest is 2\n"), errors)

    def test_an_error_on_one_rank_ends_all_with_its_cause(self):
        for trouble in ("error", "async_error"):
            for call in ("ncclCommInitRankConfig", "ncclAllGather", "ncclAllReduce", "ncclGroupEnd"):
                for rank in (0, 2):
                    with self.subTest(trouble=trouble, call=call, rank=rank):
                        code, output, errors = self.run_job("output", trouble, call, rank)
                        self.assertEqual((code, output), (1, ""), errors)
                        self.assert_cause(errors, rf"rank {rank}@\S+: NCCL: .*a fake error")

    def test_what_never_ends_is_given_up(self):
        for trouble, call in (("stays_in_progress", "ncclCommInitRankConfig"), ("never_runs", "ncclAllReduce")):
            with self.subTest(trouble=trouble):
                code, output, errors = self.run_job("output", trouble, call, 1)
                self.assertEqual((code, output), (1, ""), errors)
                self.assert_cause(errors, r"rank \d@\S+: .* did not end within 1 s: a rank is missing")

    def test_a_rank_that_hangs_in_a_call_is_named(self):
        for rank in range(NUM_RANKS):
            for call in ("ncclCommInitRankConfig", "ncclAllReduce"):
                with self.subTest(rank=rank, call=call):
                    code, output, errors = self.run_job("output", "never_returns", call, rank)
                    self.assertEqual((code, output), (1, ""), errors)
                    self.assert_cause(errors, rf"no answer within \d s from rank {rank}@")

    def test_a_rank_that_is_stopped_in_a_call_is_named_by_the_watchdog(self):
        for rank in (0, 2):
            with self.subTest(rank=rank):
                code, output, errors = self.run_job("output", "stops", "ncclAllGather", rank, timeout_s=30)
                self.assertNotEqual(code, 0)
                self.assertEqual(output, "")
                self.assertRegex(errors, rf"no sign of life for 2 s from rank {rank}@")


class Borders(NcclJob):
    def assert_ends(self, said, trouble, call, rank, code=1, timeout_s=1):
        with self.subTest(trouble=trouble, call=call, rank=rank):
            ended, output, errors = self.run_job("borders", trouble, call, rank, timeout_s)
            self.assertEqual((ended, output), (code, ""), errors)
            self.assertRegex(errors, said)

    def test_without_trouble(self):
        code, output, errors = self.run_job("borders", "none", timeout_s=20)
        self.assertEqual((code, output), (0, "done\n"), errors)

    def test_an_error_on_one_rank_ends_all_with_its_cause(self):
        for trouble, call in (("error", "ncclSend"), ("error", "ncclGroupEnd"), ("async_error", "ncclGroupEnd")):
            for rank in range(NUM_RANKS):
                self.assert_ends(rf"rank {rank}@\S+: border rows by NCCL: NCCL: .*a fake error", trouble, call, rank)

    def test_what_never_ends_is_given_up(self):
        for trouble, call in (("stays_in_progress", "ncclGroupEnd"), ("never_runs", "ncclSend"),
                              ("never_runs", "ncclRecv")):
            self.assert_ends(r"rank \d@\S+: border rows by NCCL: .* did not end within 1 s", trouble, call, 1)

    def test_a_rank_that_hangs_in_a_call_says_so(self):
        for rank in (0, 1):
            self.assert_ends(rf"rank {rank}@\S+: border rows by NCCL: a call did not return within 2 s",
                             "never_returns", "ncclGroupEnd", rank)

    def test_a_rank_that_is_stopped_in_a_call_is_named_by_the_watchdog(self):
        self.assert_ends(r"no sign of life for 2 s from rank 1@", "stops", "ncclGroupEnd", 1, timeout_s=30)

    def test_a_rank_that_is_killed_in_a_call(self):
        self.assert_ends(r"rank 1 with PID \d+ on node \S+ exited on signal 9", "dies", "ncclGroupEnd", 1, code=137,
                         timeout_s=30)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
