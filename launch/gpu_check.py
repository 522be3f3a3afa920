"""The steps of launch/gpu_check.sh, which says what it is for. Each step has a time limit and the whole has a budget; a
step that fails does not stop the next. Everything is kept in the folder of results, and one summary tells all."""

import argparse
import collections
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
BUDGET_S = 480  # of the whole, the summary included
RESERVE_S = 10  # for stopping a step and writing the summary
SKIPPED = 77  # exit code of a test program whose every test was skipped
MAX_BYTES = 200_000  # of the summary
Outcome = collections.namedtuple("Outcome", "name verdict seconds note output")


class Kit:
    """Where the parts lie: in a bundle or in a checkout with its build."""

    def __init__(self, folder):
        self.folder = folder
        self.is_bundle = (folder / "bin" / "env.sh").exists()
        self.program = folder / ("bin" if self.is_bundle else "build") / "patchbench"
        self.server = folder / ("bin" if self.is_bundle else "build/benchmarks") / "forward_server"
        tests = folder / ("tests" if self.is_bundle else "build/tests")
        self.has_mpirun = True  # until it is tried
        self.gpu_tests = sorted(file for file in tests.glob("gpu_*") if file.is_file() and os.access(file, os.X_OK))

    def ranks(self, number):
        """What starts a program on that many ranks; without mpirun, on one."""
        if not self.has_mpirun:
            return []
        return ["bash", str(self.folder / "launch" / "ranks.sh"), str(number)]


class Steps:
    """Runs commands one after the other within the budget."""

    def __init__(self, folder, kit, budget_s):
        self.folder, self.kit = folder, kit
        self.end = time.monotonic() + budget_s - RESERVE_S
        self.outcomes = []

    def run(self, name, command, limit_s, expect_skip=False):
        """Runs a command with its output in <name>.log; notes and returns what came of it."""
        limit_s = min(limit_s, self.end - time.monotonic())
        if limit_s < 5:
            return self.note(name, "NOT RUN", 0, "no time was left", "")
        print(f"-- {name} (at most {limit_s:.0f} s)", file=sys.stderr, flush=True)
        start = time.monotonic()
        code, timed_out, output = self.call(self.folder / f"{name}.log", command, limit_s)
        seconds = time.monotonic() - start
        if timed_out:
            return self.note(name, "FAILED", seconds, f"stopped after {limit_s:.0f} s", output)
        if code == SKIPPED:
            return self.note(name, "skipped" if expect_skip else "FAILED", seconds, "every test was skipped", output)
        return self.note(name, "FAILED" if code else "ok", seconds, f"exit code {code}" if code else "", output)

    def call(self, log, command, limit_s):
        with open(log, "w+b") as file:
            try:
                process = subprocess.Popen(
                    [str(word) for word in command],
                    cwd=self.kit.folder,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                return 127, False, str(error)
            code = wait(process, limit_s)
            timed_out = code is None
            if timed_out:
                stop(process)
            file.seek(0)
            return code, timed_out, file.read().decode(errors="replace")

    def note(self, name, verdict, seconds, note, output):
        self.outcomes.append(Outcome(name, verdict, seconds, note, output))
        print(f"-- {name}: {verdict} {note}", file=sys.stderr, flush=True)
        return self.outcomes[-1]

    def failed(self):
        return [outcome.name for outcome in self.outcomes if outcome.verdict in ("FAILED", "NOT RUN")]


def wait(process, seconds):
    """The exit code, or None when it took longer."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


def stop(process):
    """The step and all that it started: first so that results are flushed, then for good."""
    for kind, seconds in ((signal.SIGTERM, 5), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, kind)
        except ProcessLookupError:
            return
        wait(process, seconds)


def number_of_gpus():
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=30).stdout
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return sum(line.startswith("GPU") for line in listed.splitlines())


def run_gpu_tests(steps, gpus, device):
    """Under mpirun, which programs without MPI do not notice; what needs several ranks, on all GPUs as well."""
    kit = steps.kit
    if not kit.gpu_tests:
        steps.note("gpu_tests", "FAILED", 0, "there are no GPU test programs", "")
    for program in kit.gpu_tests:
        counts = [1, gpus] if gpus > 1 and "nccl" in program.name else [1]
        for ranks in counts:
            name = program.name + (f"_{ranks}_ranks" if ranks > 1 else "")
            steps.run(name, [*kit.ranks(ranks), program], 90, expect_skip=device == "cpu")


def run_all(steps, arguments, gpus):
    kit, cpu = steps.kit, arguments.device == "cpu"
    ranks = 1 if cpu else max(gpus, 1)
    if cpu:
        steps.run("machine", ["nproc"], 30)
    else:
        fields = "name,driver_version,memory.total,memory.used,clocks.max.sm,power.limit,ecc.mode.current"
        steps.run("machine", ["nvidia-smi", f"--query-gpu={fields},mig.mode.current", "--format=csv"], 30)
    steps.run("version", [kit.program, "--version"], 90)
    kit.has_mpirun = steps.run("mpirun", [*kit.ranks(ranks), "true"], 60).verdict == "ok"
    steps.run("check", [*kit.ranks(ranks), kit.program, "check", "--device", arguments.device], 90)
    run_gpu_tests(steps, gpus, arguments.device)
    beside = [sys.executable, "-W", "ignore", kit.folder / "benchmarks" / "beside_pytorch.py", kit.server]
    beside += ["--device", arguments.device, "--out", steps.folder / "beside_pytorch.json"]
    if cpu:
        beside += ["--dtypes", "fp32", "--batch", "1", "--edge", "32", "--rounds", "2"]
    steps.run("beside_pytorch", beside, 120)
    config = REPOSITORY / "configs" / ("gpu_check_cpu.yaml" if cpu else "gpu_check.yaml")
    study = ["run", config, "--out", steps.folder / "study"]
    steps.run("study", [*kit.ranks(ranks), kit.program, *study], 240)


def read_points(steps):
    """Points of the study as far as it came."""
    points = []
    try:
        with open(steps.folder / "study" / "results.jsonl") as file:
            for line in file:
                entry = json.loads(line)
                if entry["type"] == "point":
                    points.append(entry)
    except (OSError, ValueError) as error:
        steps.note("study_results", "FAILED", 0, str(error), "")
    return points


def allocations(point):
    return sum(rank["allocations"] for rank in point["samples"]["ranks"])


def judge_points(steps, points):
    """What must hold of every point beyond the program's own verdict."""
    others = [point for point in points if point["status"] != "ok"]
    bad = [f"{point['label']}: {point['status']} {point['reason'] or ''}" for point in others]
    steps.note("points_ok", "FAILED" if bad or not points else "ok", 0, "; ".join(bad) or f"{len(points)} points", "")
    noisy = [
        f"{point['label']}: {allocations(point)}"
        for point in points
        if point["point"]["settled"]["device"] == "cuda" and allocations(point) > 0
    ]
    steps.note("nothing_allocated_in_a_repetition", "FAILED" if noisy else "ok", 0, "; ".join(noisy), "")


def without_overlap(point):
    """What a point with overlap and its counterpart without share."""
    settings = {key: value for key, value in point["point"].items() if key != "overlap"}
    return json.dumps(settings, sort_keys=True)


def overlap_rows(points):
    measured = [point for point in points if point["status"] == "ok"]
    overlapped = {without_overlap(point): point for point in measured if point["point"]["overlap"]}
    for point in measured:
        partner = overlapped.get(without_overlap(point))
        if point["point"]["overlap"] or partner is None:
            continue
        off, on = (each["samples"]["wall_s"] for each in (point, partner))
        ratio = statistics.median(off) / statistics.median(on)
        yield [partner["label"], statistics.median(off), statistics.median(on), f"{ratio:.3f}",
               f"{min(off) / max(on):.3f} .. {max(off) / min(on):.3f}"]


def cell(value):
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def table(headings, rows):
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join("| " + " | ".join(cell(value) for value in row) + " |\n" for row in lines) + "\n"


def point_row(point):
    summary = point["summary"]
    keys = ("patches_per_s", "useful_mpx_per_s", "tflops", "pipeline_s", "efficiency", "allocated_peak_mib",
            "predicted_peak_mib", "device_used_mib", "window_error", "psnr_denoised_db")
    figures = [summary[key] for key in keys]
    spread = point["samples"]["wall_s"]
    figures[3] = f"{cell(figures[3])} [{min(spread):.4g}, {max(spread):.4g}]" if spread else None
    label = point["label"] + ("" if point["point"]["overlap"] else ", in turn")
    return [label, point["status"], *figures, allocations(point), point["verification"]["outcome"],
            summary["validity"]]


def study_text(points):
    headings = ["point", "status", "patches/s", "useful Mpx/s", "TFLOP/s", "pipeline s [min, max]", "forward/pipeline",
                "peak MiB", "predicted MiB", "device used MiB", "window error", "PSNR dB", "allocations", "verified",
                "validity"]
    text = "## Study\n\n" + table(headings, [point_row(point) for point in points])
    text += "## Copies beside the network, or in turn with it\n\nAbove 1 the overlap gains.\n\n"
    return text + table(["point", "in turn s", "overlapped s", "ratio", "extremes"], overlap_rows(points))


def beside_text(folder):
    try:
        results = json.loads((folder / "beside_pytorch.json").read_text())
    except (OSError, ValueError) as error:
        return f"## Beside plain PyTorch\n\nNo figures: {error}\n\n"
    rows = []
    for each in results:
        ours, theirs = (each["batch"] / statistics.median(each[key]) for key in ("patchbench_s", "pytorch_s"))
        rows.append([each["network"], each["dtype"], f"{each['batch']} x {each['window_px']}²", ours, theirs,
                     f"{each['ratio']:.3f}", f"{each['ratio_min']:.3f} .. {each['ratio_max']:.3f}",
                     f"{each['error_patchbench']:.1e}", f"{each['error_pytorch']:.1e}"])
    return (
        "## Beside plain PyTorch in Python\n\nForward calls alone, batch resident, same weights and windows, timed in "
        "turns; ratio = PyTorch's time / patchbench's, above 1 patchbench is faster. Errors are relative to PyTorch in "
        "fp32.\n\n"
        + table(["network", "dtype", "batch", "patchbench windows/s", "PyTorch windows/s", "ratio", "extremes",
                 "error", "PyTorch's error"], rows)
    )


def failed_tests(output, most=20):
    """What GoogleTest printed of each test that failed, the first `most` of them."""
    case = r"^\[ RUN      \] (?:(?!^\[ RUN|^\[       OK).)*?^\[  FAILED  \][^\n]*\n"
    found = re.findall(case, output, re.MULTILINE | re.DOTALL)
    return "".join(case if len(case) < 2500 else case[:2400] + " ...\n" for case in found[:most])


def block(text, most):
    """The end of an output: that is where the reason stands."""
    return "```\n" + text.strip()[-most:].replace("```", "'''") + "\n```\n\n"


def summary_text(steps, arguments, points, seconds):
    failed = steps.failed()
    text = f"# GPU check: {'FAILED: ' + ', '.join(failed) if failed else 'everything passed'}\n\n"
    text += f"{time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}, device {arguments.device}, {seconds:.0f} s.\n\n"
    text += table(["step", "outcome", "s", "note"],
                  [[each.name, each.verdict, round(each.seconds, 1), each.note[:2000].replace("|", "/")]
                   for each in steps.outcomes])
    outputs = {each.name: each.output for each in steps.outcomes}
    text += "## Machine\n\n" + block(outputs.get("machine", "") + outputs.get("check", ""), 8000)
    text += study_text(points) + beside_text(steps.folder)
    for each in steps.outcomes:
        if each.verdict == "FAILED" and each.output:
            text += f"## Output of {each.name}, which failed\n\n"
            text += block(failed_tests(each.output), 30_000) + block(each.output, 8000)
    content = text.encode()
    if len(content) > MAX_BYTES:
        text = content[: MAX_BYTES - 100].decode(errors="ignore") + "\n\nCut here; the logs hold all.\n"
    return text


def parse_arguments():
    parser = argparse.ArgumentParser(prog="launch/gpu_check.sh")
    parser.add_argument("--kit", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=pathlib.Path, default=REPOSITORY / "results" / "gpu_check")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--budget", type=float, default=BUDGET_S, help="seconds for everything")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    start = time.monotonic()
    folder = arguments.out.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for stale in ("beside_pytorch.json", "study/results.jsonl"):
        (folder / stale).unlink(missing_ok=True)
    os.environ.setdefault("OMPI_MCA_btl_vader_single_copy_mechanism", "none")  # containers often forbid it
    steps = Steps(folder, Kit(arguments.kit.resolve()), arguments.budget)
    gpus = 0 if arguments.device == "cpu" else number_of_gpus()
    run_all(steps, arguments, gpus)
    points = read_points(steps)
    judge_points(steps, points)
    summary = folder / "gpu_check_summary.md"
    summary.write_text(summary_text(steps, arguments, points, time.monotonic() - start))
    print(summary)
    failed = steps.failed()
    print(f"GPU CHECK: {'FAILED: ' + ', '.join(failed) if failed else 'ok'}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
