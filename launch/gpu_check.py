"""The steps of launch/gpu_check.sh, which says what it is for, in the order of what is worth most: the budget may end
before they do. After each step the summary is written again, and now and then the archive: what is there when the
machine disappears stays."""

import argparse
import os
import pathlib
import shutil
import signal
import sys
import tarfile
import time

import gpu_check_results as results
import gpu_check_summary as summary
from gpu_check_steps import Kit, Steps, is_program, number_of_gpus

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
BUDGET_S = 560  # of the whole, the summary included
ARCHIVE_EVERY_S = 30
NETWORKS = ("drunet", "unet", "dncnn")
FIRST_TESTS = ("gpu_convert_test", "gpu_stream_test", "gpu_nccl_test", "gpu_nccl_exchange_test",
               "gpu_nccl_borders_test")
ENGINE_TEST = "gpu_engine_test"
ENGINE_PARTS = 4  # side by side, because most of its time is that of the CPU
ENGINE_LARGE = "*2To31*"  # takes tens of GiB of the device, so it runs alone
# configs/gpu_check/<name>.yaml, each a `patchbench run` of its own, so that one that fails costs its own part only.
FIRST_STUDIES = (("bf16", 130), ("graphs", 70), ("fusion", 110))
STUDY_OF_SEVERAL = ("borders", 45)  # where there is more than one GPU
LATER_STUDIES = (("reduced", 60), ("fp32", 90), ("photo", 40), ("slots", 45), ("largest", 60))


class Check:
    """All steps on one kit."""

    def __init__(self, steps, device, gpus, out):
        self.steps, self.kit, self.folder, self.out = steps, steps.kit, steps.folder, out
        self.device, self.is_cpu, self.gpus = device, device == "cpu", gpus
        self.ranks = 1 if self.is_cpu else max(gpus, 1)
        self.studies = []

    def run_all(self):
        first = [(self.study, *study) for study in FIRST_STUDIES]
        later = [(self.study, *study) for study in LATER_STUDIES]
        several = [(self.study, *STUDY_OF_SEVERAL)] if self.gpus > 1 else []
        engine = (self.engine_test, 150)
        others = (self.tests, self.other_tests(), 60)
        for part, *arguments in [(self.machine,), (self.tests, FIRST_TESTS, 60), *first, engine, *later[:2],
                                 *several, (self.beside_pytorch,), others, *later[2:], (self.sanitizer,), (self.profiles,),
                                 (self.judge,)]:
            try:
                part(*arguments)
            except Exception as error:  # a fault of this script must not cost the steps that follow
                self.steps.note(part.__name__, "FAILED", note=f"gpu_check.py: {type(error).__name__}: {error}")

    def machine(self):
        if self.is_cpu:
            self.steps.run("machine", ["nproc"], 30)
        else:
            fields = "name,driver_version,memory.total,memory.used,clocks.max.sm,power.limit,ecc.mode.current"
            self.steps.run("machine", ["nvidia-smi", f"--query-gpu={fields},mig.mode.current", "--format=csv"], 30)
        self.steps.run("version", [self.kit.program, "--version"], 90)
        self.kit.has_mpirun = self.steps.run("mpirun", [*self.kit.ranks(self.ranks), "true"], 60).verdict == "ok"
        check = [*self.kit.ranks(self.ranks), self.kit.program, "check", "--device", self.device]
        self.steps.run("check", check, 90)
        device = [sys.executable, self.kit.folder / "launch" / "gpu_check_device.py", self.folder / "device.json"]
        self.steps.run("device", device, 60)

    def other_tests(self):
        """GPU tests that are known nowhere here."""
        found = {file.name for file in self.kit.tests.glob("gpu_*") if is_program(file)}
        return sorted(found - {*FIRST_TESTS, ENGINE_TEST})

    def tests(self, names, limit_s):
        """Under mpirun, which programs without MPI do not notice; what needs several ranks, on all GPUs as well."""
        for name in names:
            program = self.kit.tests / name
            if not is_program(program):
                self.steps.note(name, "FAILED", note=f"{program} is missing")
                continue
            for ranks in [1, self.gpus] if self.gpus > 1 and "nccl" in name else [1]:
                step = name + (f"_{ranks}_ranks" if ranks > 1 else "")
                command = [*self.kit.ranks(ranks), program, f"--gtest_output=json:{self.folder / step}.json"]
                self.steps.run(step, command, limit_s, expect_skip=self.is_cpu)

    def engine_test(self, limit_s):
        """In parts side by side, and then its test of large batches."""
        if not is_program(self.kit.tests / ENGINE_TEST):
            self.steps.note(ENGINE_TEST, "FAILED", note=f"{self.kit.tests / ENGINE_TEST} is missing")
            return
        names = [f"{ENGINE_TEST}_{part + 1}" for part in range(ENGINE_PARTS)]
        commands = {name: self.engine_command(name, f"-{ENGINE_LARGE}", part, ENGINE_PARTS)
                    for part, name in enumerate(names)}
        self.steps.run_together(commands, limit_s, expect_skip=self.is_cpu)
        name = f"{ENGINE_TEST}_large"
        self.steps.run(name, self.engine_command(name, ENGINE_LARGE), limit_s, expect_skip=self.is_cpu)

    def engine_command(self, name, chosen, part=0, parts=1):
        threads = max((os.cpu_count() or 1) // parts, 1)
        return ["env", f"OMP_NUM_THREADS={threads}", f"GTEST_TOTAL_SHARDS={parts}", f"GTEST_SHARD_INDEX={part}",
                self.kit.tests / ENGINE_TEST, f"--gtest_filter={chosen}",
                f"--gtest_output=json:{self.folder / name}.json"]

    def study(self, name, limit_s):
        out = self.folder / f"study_{name}"
        shutil.rmtree(out, ignore_errors=True)  # of an earlier check
        config = self.kit.studies / f"{name}.yaml"
        tiny = ["--set", "preset=tiny"] if self.is_cpu else []
        command = [*self.kit.ranks(self.ranks), self.kit.program, "run", config, "--out", out, *tiny]
        outcome = self.steps.run(f"study_{name}", command, limit_s)
        if outcome.verdict == "NOT RUN":
            return
        self.studies.append(results.Study(f"study_{name}", out / "results.jsonl"))
        if self.studies[-1].troubles:
            self.steps.note(f"results_{name}", "FAILED", note="; ".join(self.studies[-1].troubles))
        else:
            self.steps.after()
        print(summary.brief_points(self.studies[-1:]), flush=True)  # for whoever is left with the output alone

    def beside_pytorch(self):
        file = self.folder / "beside_pytorch.json"
        script = self.kit.folder / "benchmarks" / "beside_pytorch.py"
        command = [sys.executable, "-W", "ignore", script, self.kit.server, "--device", self.device, "--out", file]
        if self.is_cpu:
            command += ["--dtypes", "fp32", "--batch", "1", "--edge", "32", "--rounds", "2"]
        if self.steps.run("beside_pytorch", command, 120).verdict != "NOT RUN":
            trouble = results.beside_pytorch(file)[1]
            if trouble:
                self.steps.note("results_beside_pytorch", "FAILED", note=trouble)

    def sanitizer(self):
        tool = shutil.which("compute-sanitizer")
        if tool is None or self.is_cpu:
            self.steps.note("sanitizer", "skipped", note="on the CPU" if self.is_cpu else "no compute-sanitizer")
            return
        command = [tool, "--error-exitcode", "9", self.kit.tests / "gpu_convert_test"]
        self.steps.run("sanitizer", command, 60, optional=True)

    def profiles(self):
        """Kernel names and times of one forward a network, by whichever profiler is there."""
        tools = {"nsys": ["profile", "--trace=cuda", "--stats=true", "--force-overwrite=true"],
                 "ncu": ["--clock-control", "none", "--metrics", "gpu__time_duration.sum", "--print-units", "base",
                         "--print-kernel-base", "function", "--target-processes", "application-only", "--csv"]}
        found = next((name for name in tools if shutil.which(name)), None)
        for network in NETWORKS:
            name = f"profile_{network}"
            if found is None and not self.is_cpu:
                self.steps.note(name, "skipped", note="neither nsys nor ncu")
                continue
            out = self.folder / name
            study = [self.kit.program, "run", self.kit.studies / "profile.yaml", "--out", out,
                     "--set", f"network={network}"]
            report = ["--output", f"{out}.nsys-rep"] if found == "nsys" else []
            tool = [] if self.is_cpu else [found, *tools[found], *report]
            tiny = ["--set", "preset=tiny"] if self.is_cpu else []
            shutil.rmtree(out, ignore_errors=True)
            self.steps.run(name, [*tool, *study, *tiny], 45, optional=True)

    def judge(self):
        """What must hold of every point beyond the program's own verdict."""
        points = [point for study in self.studies for point in study.points]
        bad, busy = results.unhappy(points), results.busy_allocators(points)
        self.steps.note("points_ok", "FAILED" if bad or not points else "ok",
                        note="; ".join(bad) or f"{len(points)} points")
        self.steps.note("nothing_allocated_in_a_repetition", "FAILED" if busy else "ok", note="; ".join(busy))


def write_summary(check, is_over=False):
    """Whole or not at all: whoever reads it meanwhile finds the one before."""
    file = check.out / "gpu_check_summary.md"
    part = file.with_suffix(".part")
    try:
        seconds = time.monotonic() - check.steps.start
        part.write_text(summary.page(check.steps, check.device, check.studies, seconds, is_over))
        os.replace(part, file)
    except OSError as error:
        print(f"gpu_check: the summary could not be written: {error}", file=sys.stderr, flush=True)


def write_archive(check):
    """All files of the steps and the summary in gpu_check.tar.gz, without the pages, which would be nearly all of its
    bytes and are made from results.jsonl; whole or not at all, as the summary."""
    file = check.out / "gpu_check.tar.gz"
    part = check.out / "gpu_check.tar.part"
    page = check.out / "gpu_check_summary.md"
    try:
        with tarfile.open(part, "w:gz", compresslevel=3) as archive:
            for each in sorted({*check.folder.iterdir(), *([page] if page.exists() else [])}):
                if each not in (file, part):
                    archive.add(each, arcname=f"{check.out.name}/{each.name}",
                                filter=lambda entry: None if entry.name.endswith(".html") else entry)
        os.replace(part, file)
    except OSError as error:
        print(f"gpu_check: the archive could not be written: {error}", file=sys.stderr, flush=True)


class Keeper:
    """Keeps what there is after a step: the summary always, the archive when the last one is old."""

    def __init__(self, check):
        self.check, self.archived = check, check.steps.start

    def __call__(self):
        write_summary(self.check)
        if time.monotonic() - self.archived >= ARCHIVE_EVERY_S * self.check.steps.pace:
            write_archive(self.check)
            self.archived = time.monotonic()


def parse_arguments():
    parser = argparse.ArgumentParser(prog="launch/gpu_check.sh")
    parser.add_argument("--kit", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--pace", type=float, default=1.0, help=argparse.SUPPRESS)  # of all limits, for tests
    parser.add_argument("--spent", type=float, default=0.0, help=argparse.SUPPRESS)  # seconds of the budget
    parser.add_argument("--out", type=pathlib.Path, default=REPOSITORY / "results" / "gpu_check",
                        help="folder of the summary and the archive")
    parser.add_argument("--logs", type=pathlib.Path, help="folder of all other files (default: that of --out)")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--budget", type=float, default=BUDGET_S, help="seconds for everything")
    return parser.parse_args()


def prepare(out, logs):
    """Empty enough folders, and what all steps find in their environment."""
    for folder in (out, logs):
        folder.mkdir(parents=True, exist_ok=True)
        for stale in ("beside_pytorch.json", "device.json", "gpu_*.json", "gpu_check.tar.gz", "gpu_check_summary.md"):
            for file in folder.glob(stale):
                file.unlink()
    os.environ.setdefault("OMPI_MCA_btl_vader_single_copy_mechanism", "none")  # containers often forbid it
    os.environ.setdefault("NCCL_DEBUG", "INFO")
    os.environ.setdefault("NCCL_DEBUG_FILE", f"{logs}/nccl.%h.%p.log")


def finish(check):
    failed = check.steps.failed()
    write_summary(check, is_over=True)
    write_archive(check)
    verdict = f"GPU CHECK: {'FAILED: ' + ', '.join(failed) if failed else 'ok'}"
    print(summary.brief(check.steps, check.studies, f"{check.out / 'gpu_check_summary.md'}\n{verdict}"), flush=True)
    return 1 if failed else 0


def end_early(number, _):
    raise SystemExit(128 + number)


def main():
    arguments = parse_arguments()
    out = arguments.out.resolve()
    logs = (arguments.logs or out).resolve()
    prepare(out, logs)
    steps = Steps(logs, Kit(arguments.kit.resolve()), arguments.budget, arguments.spent, arguments.pace)
    gpus = 0 if arguments.device == "cpu" else number_of_gpus()
    check = Check(steps, arguments.device, gpus, out)
    steps.after = Keeper(check)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end_early)
    try:
        check.run_all()
    except (SystemExit, KeyboardInterrupt) as end:
        steps.note("gpu_check", "FAILED", note=f"ended from outside ({end!r})")
    sys.exit(finish(check))


if __name__ == "__main__":
    main()
