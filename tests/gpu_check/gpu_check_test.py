#!/usr/bin/env python3
"""gpu_check.py on a fake kit (fake_kit.py): whatever becomes of a step, the summary is there, names it, and holds what
the other steps found."""

import itertools
import json
import os
import pathlib
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import unittest.mock

import fake_kit

LAUNCH = pathlib.Path(__file__).resolve().parents[2] / "launch"
sys.path.insert(0, str(LAUNCH))
import gpu_check_results as results  # noqa: E402
import gpu_check_summary as summary  # noqa: E402
from gpu_check_steps import Outcome, number_of_gpus  # noqa: E402

PACE = 0.02  # of the limits: a minute becomes 1.2 s
END_S = 120
# As `ncu --csv` prints them: what was tried first, a conversion, one forward call, and a line that was cut.
KERNELS = """==PROF== Connected to process 1
"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
"0","tried","gpu__time_duration.sum","ns","90,000"
"1","collect_pixels","gpu__time_duration.sum","ns","700"
"2","conv","gpu__time_duration.sum","ns","2,500"
"3","relu","gpu__time_duration.sum","ns","500"
"4","conv","gpu__time_duration.sum","ns","2,500"
"5","co"""


class GpuCheckTest(unittest.TestCase):
    def setUp(self):
        # The step of a check that was killed may still write.
        folder = tempfile.TemporaryDirectory(prefix="gpu-check-", ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.kit, self.out = self.folder / "kit", self.folder / "out"
        fake_kit.make_kit(self.kit)
        self.page, self.said = "", ""

    def command(self, *options, device="cpu"):
        return [sys.executable, LAUNCH / "gpu_check.py", "--kit", self.kit, "--out", self.out, "--device", device,
                *options]

    def check(self, ways="", *options, pace=0.3, device="cpu"):
        """The exit code; the page and what was said are kept."""
        path = f"{self.folder / 'tools'}:{os.environ['PATH']}"
        done = subprocess.run(self.command("--pace", str(pace), *options, device=device), capture_output=True,
                              text=True, timeout=END_S, env=os.environ | {"FAKE_KIT": ways, "PATH": path})
        self.said = done.stdout
        self.page = (self.out / "gpu_check_summary.md").read_text()
        self.assertNotIn("Traceback", done.stderr)
        self.assertNotIn("could not be written", self.page + done.stderr)
        return done.returncode

    def failed(self):
        """Names behind the last line's `FAILED:`."""
        last = self.said.strip().splitlines()[-1]
        self.assertRegex(last, r"^GPU CHECK: (ok|FAILED: )")
        return [] if last == "GPU CHECK: ok" else last.partition("FAILED: ")[2].split(", ")

    def assert_others_stand(self, page):
        for words in ("## Steps", "## Machine", "## Studies", "## Side by side", "## Memory", "## Beside plain PyTorch",
                      "| machine | ok |"):
            self.assertIn(words, page)

    def test_all_is_well(self):
        self.assertEqual(self.check(), 0, self.page)
        self.assertEqual(self.failed(), [])
        self.assertNotIn("borders |", self.page.replace("gpu_nccl_borders", ""), "a study of several GPUs")
        self.assert_others_stand(self.page)
        for words in ("| drunet-bf16-1 | ok | 123.4 | 271.8 | 41 | 77 | 35.5 | 0.97 | 1980 | 0 | 0.001 | 1024 "
                      "| +2.4 % | memory |",
                      "| drunet-graphs-1, graph | 0.5 | 0.25 .. 0.6 | 2.25 | 0.02 |",
                      "| fusion, beside off |", "| drunet-fusion-1, fused | 0.5 | 0.5 | 1.000 |",
                      "drunet-fusion-1, fused: fusion: 1 of 8 kinds of layer ran unfused (conv: wrong by 0.3)\n",
                      "| IsNearTheCpu/drunet | bf16 | 12345.000000e-6 |",
                      "| drunet | 40 | 52 | +1.3 % |", "| drunet | 77 | memory | 75 | -2.6 % |",
                      "| drunet | bf16 | 4 x 320² | 200 | 100 | 2 | 1.5 | 2.5 | 0.001 | 0.002 | 0.003 |"):
            self.assertIn(words, self.page)

    def test_what_is_said_fits_12000_characters_and_holds_every_figure(self):
        self.check()
        self.assertLess(len(self.said), 12_000)
        for study in fake_kit.STUDIES:
            self.assertIn(f"drunet-{study}-1", self.said)
        for words in ("123 272 41 77 35.5", ", beside_pytorch ", "drunet bf16 4 x 320²"):
            self.assertIn(words, self.said)

    def test_the_archive_holds_everything_but_pages(self):
        self.check()
        with tarfile.open(self.out / "gpu_check.tar.gz") as archive:
            names = archive.getnames()
        for name in ("gpu_check_summary.md", "check.log", "study_bf16/results.jsonl", "beside_pytorch.json"):
            self.assertIn(f"out/{name}", names)
        self.assertTrue((self.out / "study_bf16" / "report.html").exists())
        self.assertNotIn("out/study_bf16/report.html", names)

    def test_a_program_that_crashes_or_is_killed_costs_its_own_step_only(self):
        steps = ["version", "check", "device", *fake_kit.TEST_STEPS]
        for way, note in (("crash", "exit code 3"), ("killed", "ended by signal 9")):
            with self.subTest(way=way):
                self.assertEqual(self.check(",".join(f"{step}={way}" for step in steps)), 1)
                self.assertEqual(self.failed(), steps)
                self.assert_others_stand(self.page)
                for step in steps:
                    self.assertIn(f"| {step} | FAILED |", self.page)
                self.assertIn(note, self.page)
                self.assertIn("drunet-bf16-1", self.page)

    def test_results_of_each_study_that_are_broken_partial_or_missing(self):
        """All in one check, one study in each way and one whole; then each study in another way."""
        ways = (("crash", "no results"), ("missing", "no results"), ("garbage", "line 1 is damaged"),
                ("empty", "no point was measured"), ("partial", "is damaged"), ("killed", "is damaged"),
                ("other", "line 1 is damaged"))
        self.assertEqual(len(fake_kit.STUDIES), len(ways) + 1)
        for first in (0, 4):
            *broken, whole = fake_kit.STUDIES[first:] + fake_kit.STUDIES[:first]
            with self.subTest(broken=broken):
                pairs = list(zip(broken, ways))
                self.assertEqual(self.check(",".join(f"study_{study}={way}" for study, (way, _) in pairs)), 1)
                for study, (_, note) in pairs:
                    self.assertIn(f"results_{study}", self.failed())
                    self.assertRegex(self.page, rf"\| results_{study} \| FAILED \| 0 \| .*{note}")
                self.assertIn(f"drunet-{whole}-1", self.page)
                self.assertNotIn(f"results_{whole}", self.failed())
                self.assert_others_stand(self.page)

    def test_what_a_study_measured_before_it_broke_is_kept(self):
        self.check("study_fp32=partial")
        self.assertRegex(self.page, r"\| drunet-first-0 \| ok \| 123.4 .*\n(.*\n)*### study_slots")
        self.assertEqual(len(results.Study("x", self.out / "study_fp32" / "results.jsonl").points), 1)

    def test_broken_partial_and_missing_comparisons_with_pytorch(self):
        for way, note in (("crash", "no results"), ("missing", "no results"), ("garbage", "damaged"),
                          ("empty", "damaged"), ("partial", "damaged"), ("other", "damaged")):
            with self.subTest(way=way):
                self.assertEqual(self.check(f"beside_pytorch={way}"), 1)
                self.assertIn("results_beside_pytorch", self.failed())
                self.assertRegex(self.page, rf"\| results_beside_pytorch \| FAILED \| 0 \| .*{note}")
                self.assert_others_stand(self.page)
                self.assertIn("drunet-bf16-1", self.page)

    def test_a_step_that_hangs_is_ended_and_the_next_ones_run(self):
        steps = ("check", "gpu_nccl_test", "gpu_engine_test_2", "study_bf16", "study_largest", "beside_pytorch",
                 "profile_unet")
        self.assertEqual(self.check(",".join(f"{step}=hang" for step in steps), pace=PACE), 1)
        for step in steps:
            self.assertRegex(self.page, rf"\| {step} \| FAILED \| [0-9.]+ \| stopped after \d+ s \|")
        for words in ("| gpu_stream_test | ok |", "| gpu_engine_test_1 | ok |", "| gpu_engine_test_large | ok |",
                      "| study_fp32 | ok |", "drunet-fp32-1"):
            self.assertIn(words, self.page)
        hung = [int(pid) for pid in (self.kit / "hung").read_text().split()]
        self.assertEqual(len(hung), len(steps))
        for pid in hung:
            self.assertFalse(pathlib.Path(f"/proc/{pid}").exists(), "a step goes on beside the next ones")

    def test_results_that_come_too_late_are_not_those_of_an_earlier_check(self):
        self.check()
        self.assertEqual(self.check("study_bf16=late,beside_pytorch=late", pace=PACE), 1)
        self.assertNotIn("drunet-bf16-1", self.page)
        self.assertNotIn("4 x 320²", self.page)
        self.assertIn("drunet-graphs-1", self.page)

    def test_test_programs_that_are_not_there_are_named(self):
        for name in fake_kit.TESTS:
            (self.kit / "build" / "tests" / name).unlink()
        self.assertEqual(self.check(), 1)
        self.assertEqual(self.failed(), list(fake_kit.TESTS))

    def test_a_gpu_test_that_is_new_is_run(self):
        fake_kit.make_program(self.kit / "build" / "tests" / "gpu_new_test", "fake_kit.end('crash')")
        self.assertEqual(self.check(), 1)
        self.assertEqual(self.failed(), ["gpu_new_test"])

    def test_tests_that_are_all_skipped_pass_on_the_cpu_alone(self):
        self.assertEqual(self.check(",".join(f"{test}=skip" for test in fake_kit.TEST_STEPS)), 0)
        self.assertIn("| gpu_engine_test_1 | skipped |", self.page)

    def make_tools(self, *profilers):
        """What a machine with two GPUs has. A profiler prints what it was told, and a table of kernels."""
        listed = 'print("GPU 0: a fake\\nGPU 1: a fake" if "-L" in sys.argv else "name, driver_version")'
        fake_kit.make_program(self.folder / "tools" / "nvidia-smi", listed)
        run = "import os; rest = sys.argv[next(i for i, word in enumerate(sys.argv) if '/build/' in word):]"
        for tool in (*profilers, "compute-sanitizer"):
            fake_kit.make_program(self.folder / "tools" / tool,
                                  f"{run}; print({tool!r}, *sys.argv[1:]); print({KERNELS!r}, flush=True); "
                                  "os.execv(rest[0], rest)")

    def test_two_gpus_with_their_tools(self):
        self.make_tools("nsys", "ncu")
        self.assertEqual(self.check(device="cuda"), 0, self.page)
        for step in ("gpu_nccl_test_2_ranks", "gpu_nccl_exchange_test_2_ranks", "gpu_nccl_borders_test_2_ranks",
                     "study_borders", "sanitizer", "profile_unet"):
            self.assertIn(f"| {step} | ok |", self.page)
        self.assertIn("nsys profile", (self.out / "profile_unet.log").read_text())
        (self.folder / "tools" / "nsys").unlink()
        self.assertEqual(self.check("gpu_nccl_test=skip,sanitizer=x,gpu_convert_test=crash", device="cuda"), 1)
        self.assertEqual(self.failed(), ["gpu_convert_test", "gpu_nccl_test", "gpu_nccl_test_2_ranks", "sanitizer"])
        self.assertIn("ncu --clock-control none", (self.out / "profile_unet.log").read_text())
        self.assertRegex(self.page, r"### profile_unet\n\n3 kernels, 5.5 us in all.\n(.*\n)+\| conv \| 2 \| 5 \| 90.9 % \|")

    def test_what_there_was_no_time_for_is_named(self):
        self.assertEqual(self.check("", "--budget", "1006", "--spent", "1000", pace=0.3), 1)
        self.assertRegex(self.page, r"\| study_bf16 \| NOT RUN \| 0 \| no time was left \|")

    def test_the_summary_is_written_after_each_step(self):
        process = subprocess.Popen(self.command("--pace", "0.3"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   text=True, env=os.environ | {"FAKE_KIT": "gpu_engine_test_1=late"})
        page, deadline = "", time.monotonic() + END_S
        while "drunet-graphs-1" not in page and time.monotonic() < deadline:
            time.sleep(0.05)
            file = self.out / "gpu_check_summary.md"
            page = file.read_text() if file.exists() else ""
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=END_S)
        self.assertIn("not over yet", page)
        self.assertIn("GPU CHECK: FAILED: gpu_check", said)
        self.assertIn("drunet-graphs-1", said)
        self.assertTrue((self.out / "gpu_check.tar.gz").exists())

    def test_what_a_check_that_is_cut_leaves(self):
        """Killed with no chance to clean up: two files, and what was said."""
        logs = self.folder / "logs"
        process = subprocess.Popen(self.command("--pace", str(PACE), "--logs", logs), stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True, env=os.environ | {"FAKE_KIT": ""})
        archive, names, deadline = self.out / "gpu_check.tar.gz", [], time.monotonic() + END_S
        while "out/study_bf16/results.jsonl" not in names and time.monotonic() < deadline:
            time.sleep(0.02)
            if archive.exists():
                with tarfile.open(archive) as opened:
                    names = opened.getnames()
        process.kill()
        said, _ = process.communicate(timeout=END_S)
        self.assertIn("out/gpu_check_summary.md", names)
        self.assertIn("drunet-bf16-1; 123 272 41 77", said)
        self.assertLessEqual({file.name for file in self.out.iterdir()},
                             {"gpu_check.tar.gz", "gpu_check.tar.part", "gpu_check_summary.md", "gpu_check_summary.part"})
        self.assertTrue((logs / "check.log").exists())

    def test_gpus_that_are_hidden_are_not_counted(self):
        self.make_tools()
        for chosen, count in (("0,1", 2), ("1", 1), ("", 0), ("-1", 0), ("2,-1,3", 1), ("GPU-a, GPU-b,GPU-c", 3),
                              (None, 2)):
            known = {} if chosen is None else {"CUDA_VISIBLE_DEVICES": chosen}
            path = f"{self.folder / 'tools'}:{os.environ['PATH']}"
            with unittest.mock.patch.dict(os.environ, known | {"PATH": path}):
                self.assertEqual(number_of_gpus(), count, chosen)


class SectionsTest(unittest.TestCase):
    """Values of any kind at any place of a point: nothing raises, and other points keep their row."""

    @staticmethod
    def places(value, path=()):
        if isinstance(value, dict):
            for key, inner in value.items():
                yield path + (key,)
                yield from SectionsTest.places(inner, path + (key,))

    @staticmethod
    def with_value(point, path, value):
        changed = dict(point)
        if len(path) == 1:
            changed[path[0]] = value
        else:
            changed[path[0]] = SectionsTest.with_value(point[path[0]], path[1:], value)
        return changed

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpu-check-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_every_value_of_a_point_may_be_of_any_kind(self):
        whole = fake_kit.point(0, "whole")
        for path, value in itertools.product(self.places(whole), (None, "text", 1, -2.5, True, [], [None], {}, [{}])):
            study = results.Study("study", pathlib.Path("/nowhere"))
            study.points = [whole, self.with_value(fake_kit.point(1, "odd", cuda_graph=True), path, value)]
            text = "".join(summary.guarded("x", write, [study]) for write in (
                summary.studies_text, summary.comparisons_text, summary.memory_text, summary.brief_points,
                summary.brief_comparisons, summary.brief_memory))
            self.assertNotIn("could not be written", text, (path, value))
            self.assertIn("drunet-whole-0 | ok | 123.4", text)
            self.assertIsInstance(results.unhappy(study.points) + results.busy_allocators(study.points), list)

    def test_every_value_of_what_points_say_together_may_be_of_any_kind(self):
        together = json.loads(fake_kit.study_lines("bf16")[3])
        for key in ("batch_memory", "largest_batches"):
            for value in (None, "text", 1, [], [None], [{}], [{"fit": 1, "search": "x"}], {}):
                study = results.Study("study", pathlib.Path("/nowhere"))
                study.together = [together | {key: value}]
                self.assertNotIn("could not be written", summary.guarded("x", summary.memory_text, [study]))

    def test_a_report_of_tests_may_hold_anything(self):
        file = self.folder / "report.json"
        self.assertEqual(list(results.recorded_errors(file)), [])
        for text in ("", "{[", "[]", "3", '{"testsuites": 3}', '{"testsuites": [3, {"testsuite": [null, {"name": 1}]}]}'):
            file.write_text(text)
            self.assertEqual(list(results.recorded_errors(file)), [], text)

    def test_the_short_text_is_cut_where_it_matters_least(self):
        class Steps:
            folder = pathlib.Path("/nowhere")
            outcomes = [Outcome(f"step {i}", "FAILED", 1.0, "exit code 3", "much was said " * 1000) for i in range(30)]

            def failed(self):
                return [each.name for each in self.outcomes]

        study = results.Study("study", pathlib.Path("/nowhere"))
        study.points = [fake_kit.point(i, "many") for i in range(140)]
        text = summary.brief(Steps(), [study], "x" * 500)
        self.assertNotIn("## Failures", text)  # so much did not fit
        self.assertEqual(len(text), summary.MAX_SAID)
        for words in ("step 0 FAILED", "step 29 FAILED", "drunet-many-0;", "drunet-many-139;", "x" * 500):
            self.assertIn(words, text)
        page = summary.page(Steps(), "cuda", [study], 1.0, True)
        self.assertLessEqual(len(page.encode()), summary.MAX_BYTES)
        self.assertTrue(page.startswith("# GPU check: FAILED: step 0,"))

    def test_the_short_text_has_room_for_a_whole_check(self):
        """As many points, pairs and lines as the studies of configs/gpu_check give, all steps passed."""
        class Steps:
            folder = self.folder
            outcomes = [Outcome(f"results_gpu_step_{i}", "ok", 10.0, "", "much was said") for i in range(36)]

        (self.folder / "beside_pytorch.json").write_text(json.dumps(fake_kit.comparisons() * 12))
        study = results.Study("study", pathlib.Path("/nowhere"))
        study.points = [fake_kit.point(i, "p256-h32-b16-bf16", batch=i) for i in range(50)]
        study.points += [fake_kit.point(i, "p256-h32-b16-bf16", batch=i, fusion="on") for i in range(28)]
        study.together = json.loads(fake_kit.study_lines("bf16")[3]), {"largest_batches": []}
        study.together[0]["batch_memory"] *= 9
        text = summary.brief(Steps(), [study])
        self.assertLess(len(text), summary.MAX_SAID - 500)  # with what is printed behind it
        for words in ("Times as fast", "drunet-p256-h32-b16-bf16-27+fused 1.000 [0.833 .. 1.200]", "MiB",
                      "drunet at 0: 40 a window: 52 +1.3 %", "largest batch drunet 77 memory predicted 75 -2.6 %",
                      "drunet bf16 4 x 320² 200 100 2 1.5 2.5", "drunet-p256-h32-b16-bf16-49; 123 272 41 77 35.5 0.97"):
            self.assertIn(words, text)

    def test_numbers_are_readable(self):
        values = ((14336.5, "14336"), (0.00123456, "0.001235"), (123.456, "123.5"), (None, "-"), (7, "7"))
        for value, text in values:
            self.assertEqual(summary.cell(value), text)

    def test_a_section_that_fails_says_so_and_costs_no_other(self):
        def fails():
            raise KeyError("allocations")
        self.assertIn("could not be written: KeyError: 'allocations'", summary.guarded("Studies", fails))


if __name__ == "__main__":
    unittest.main(verbosity=2)
