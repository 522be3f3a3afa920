#!/usr/bin/env python3
"""patchbench beside what one would take instead: the same photograph, weights and threads, in turns.

usage: peers.py PATCHBENCH [--image data/photos/retina.jpg] [--edge 768] [--rounds 5] [--page docs/results/peers.md]

Sets its environment up first (.peers: peers_requirements.txt and the torch that patchbench is built on; needs a network
once). PATCHBENCH_PEERS names another environment; what it lacks is left out and named. Every denoising is a process of
its own, from its start to the file, and CPU time and memory are those that the kernel counts for that process. A round
starts each peer once, beginning with another one each time. Outputs are compared with the whole image in double
precision. `--page` puts table and picture into a page. Exit code 1 when an output of patchbench differs by more than
the tolerance.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
PROCESS = HERE / "peer_process.py"
SIGMA = 0.1
TOLERANCE = 1e-4  # largest difference of a sample in [0, 1] that counts as the same image
BASE = "PyTorch, whole"
# glibc gives each map of 128 KiB and more back to the kernel when it is freed, and takes it page by page the next time.
TUNED = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 36), "MALLOC_TOP_PAD_": str(1 << 26)}


class Peer:
    """One row: a name, the peer of peer_process.py or options of `patchbench denoise`, variables."""

    def __init__(self, name, process=None, ours=None, variables=None):
        self.name, self.process, self.ours, self.variables = name, process, ours, variables or {}


# Tiles as the frameworks take them, each with the context that the network needs.
TILES = ("--halo", "exact", "--patch", "256", "--batch", "1")


ROWS = [
    Peer(BASE, "pytorch"),
    Peer("PyTorch, whole, allocator tuned", "pytorch", variables=TUNED),
    Peer("tile loop: 256, margin 10", "tiles", variables=TUNED),
    Peer("MONAI sliding window: 256, overlap 0.25", "monai", variables=TUNED),
    Peer("deepinv.distributed: 256, overlap 64", "deepinv", variables=TUNED),
    Peer("ONNX Runtime, whole", "onnxruntime"),
    Peer("OpenVINO, whole", "openvino"),
    Peer("patchbench, tiles of 256, torch", ours=("--engine", "torch", *TILES, "--verify", "none")),
    Peer("patchbench, tiles of 256, native", ours=("--engine", "native", *TILES, "--verify", "none")),
    Peer("patchbench, no options but --verify none", ours=("--verify", "none")),
    Peer("patchbench, no options", ours=()),
]


def fail(words):
    sys.exit(f"error: {words}")


def torch_site():
    torch = pathlib.Path(os.environ.get("PATCHBENCH_TORCH") or next(ROOT.glob(".venv/lib/python3*/site-packages/torch"), ""))
    if not (torch / "version.py").is_file():
        fail("there is no torch in .venv: run launch/setup.sh, or set PATCHBENCH_TORCH=<torch folder>")
    return torch.resolve().parent


def set_up():
    """Python of the environment with the peers."""
    if "PATCHBENCH_PEERS" in os.environ:
        return pathlib.Path(os.environ["PATCHBENCH_PEERS"]) / "bin" / "python"
    environment, requirements = ROOT / ".peers", HERE / "peers_requirements.txt"
    python, mark = environment / "bin" / "python", environment / "installed"
    if mark.is_file() and mark.read_text() == requirements.read_text():
        return python
    site = torch_site()
    own = ROOT / ".venv" / "bin" / site.parent.name
    print(f"installing the peers into {environment}", flush=True)
    subprocess.run([own if own.exists() else site.parent.name, "-m", "venv", "--clear", environment], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r",
                    requirements], check=True)
    where = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], check=True,
                           capture_output=True, text=True).stdout.strip()
    (pathlib.Path(where) / "torch.pth").write_text(f"{site}\n")
    mark.write_text(requirements.read_text())
    return python


def run_counted(command, variables):
    """Its standard output, and what the kernel counted for it: seconds, CPU seconds, peak MiB."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as words:
        begin_s = time.perf_counter()
        process = subprocess.Popen([str(word) for word in command], stdout=out, stderr=words, env=variables)
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - begin_s
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        words.seek(0)
        if process.returncode != 0:
            raise RuntimeError(" ".join(words.read().decode(errors="replace").split())[-600:])
        counted = {"wall_s": wall_s, "cpu_s": usage.ru_utime + usage.ru_stime, "peak_mib": usage.ru_maxrss / 1024}
        return out.read().decode(), counted


class Race:
    """The image and the network that all peers get, and how each is started."""

    def __init__(self, arguments, python, folder):
        self.arguments, self.python, self.folder = arguments, python, folder
        self.model, self.image = folder / "dncnn.onnx", folder / "noisy.npy"
        threads = str(arguments.threads)
        self.variables = os.environ | {name: threads for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
        self.variables |= {"PYTHONWARNINGS": "ignore", "PYTHONDONTWRITEBYTECODE": "1"}
        run = lambda *command: run_counted(command, self.variables)[0]
        run(arguments.patchbench, "networks", "--export", self.model, "--network", "dncnn")
        run(python, PROCESS, "--crop", arguments.image, "--edge", arguments.edge, "--sigma", SIGMA, "--out", self.image)
        self.runnable = run(python, PROCESS, "--list").split()
        self.processed = {halo: self.planned_share(run, halo) for halo in ("exact", "carried")}

    def planned_share(self, run, halo):
        """Processed by useful pixels of patchbench with this halo, as `plan` prints them."""
        study = self.folder / "study.yaml"
        edge = f"{{height: {self.arguments.edge}, width: {self.arguments.edge}}}"
        study.write_text(f"image: {edge}\nnetwork: dncnn\nengine: native\ndevice: cpu\nhalo: {halo}\nbatch: 1\n")
        lines = run(self.arguments.patchbench, "plan", study).splitlines()
        heading = next(line for line in lines if "processed/" in line)
        row = next(line for line in lines if "dncnn-native-" in line)
        return float(row[:heading.index("processed/") + len("processed/")].split()[-1])

    def process(self, name, variables, out):
        command = [self.python, PROCESS, name, "--model", self.model, "--image", self.image, "--out", out]
        text, counted = run_counted([*command, "--threads", self.arguments.threads], self.variables | variables)
        return json.loads(text.splitlines()[-1]) | counted

    def ours(self, options, out):
        command = [self.arguments.patchbench, "denoise", self.image, out, "--network", "dncnn", "--sigma", SIGMA]
        command += ["--device", "cpu", "--threads", self.arguments.threads, *options]
        text, counted = run_counted(command, self.variables)
        seconds = re.search(r"network ([0-9.]+) s", text)
        call = {"denoise_s": float(seconds[1]) if seconds else None, "denoise_cpu_s": None}
        return counted | call | {"processed": self.processed["exact" if "exact" in options else "carried"]}

    def run(self, row, out):
        out.unlink(missing_ok=True)
        return self.process(row.process, row.variables, out) if row.process else self.ours(row.ours, out)

    def difference(self, out, truth):
        """Largest, of a sample."""
        code = "import numpy, sys; a, b = map(numpy.load, sys.argv[1:]); print(abs(a.astype('f8') - b).max())"
        return float(run_counted([self.python, "-c", code, out, truth], self.variables)[0])


def race(arguments, python, folder):
    """name of a row -> its runs, one a round."""
    held = Race(arguments, python, folder)
    truth = folder / "truth.npy"
    held.process("double", TUNED, truth)
    rows = [row for row in ROWS if not row.process or row.process in held.runnable]
    for row in ROWS:
        if row not in rows:
            print(f"left out: {row.name}: not in {python}", flush=True)
    runs = {row.name: [] for row in rows}
    for index in range(arguments.rounds):
        first = index * 3 % len(rows)
        for row in rows[first:] + rows[:first]:
            out = folder / "out.npy"
            try:
                run = held.run(row, out)
            except (RuntimeError, OSError) as error:
                fail(f"{row.name}: {error}")
            runs[row.name].append(run | {"difference": held.difference(out, truth)})
            print(f"round {index + 1}: {row.name}: {run['wall_s']:.1f} s, CPU {run['cpu_s']:.1f} s", flush=True)
    return runs


def spread(values, digits=2):
    """Median [smallest, largest]."""
    low, middle, high = min(values), statistics.median(values), max(values)
    if len(values) == 1:
        return f"{middle:.{digits}f}"
    return f"{middle:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def ratios(runs, name, key):
    """Of each round, against the base of the same round."""
    return [run[key] / base[key] for run, base in zip(runs[name], runs[BASE])]


COLUMNS = ["what", "CPU time / PyTorch's", "wall time / PyTorch's", "CPU s", "wall s", "of it the call: CPU s", "wall s",
           "processed / useful pixels", "largest difference", "peak MiB"]


def row_of(runs, name):
    own = runs[name]
    values = lambda key: [run[key] for run in own]
    call = lambda key: "-" if None in values(key) else f"{statistics.median(values(key)):.1f}"
    difference = max(values("difference"))
    return [name, spread(ratios(runs, name, "cpu_s")), spread(ratios(runs, name, "wall_s")), spread(values("cpu_s"), 1),
            spread(values("wall_s"), 1), call("denoise_cpu_s"), call("denoise_s"),
            f"{own[0]['processed']:.2f}", f"{difference:.1e}" if difference <= TOLERANCE else f"**{difference:.1e}**",
            f"{max(values('peak_mib')):.0f}"]


def table(runs):
    rows = [COLUMNS, ["---"] * len(COLUMNS), *(row_of(runs, name) for name in runs)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def replace_between(text, marker, content):
    """What stands between <!-- marker --> and <!-- end of marker -->."""
    begin, end = f"<!-- {marker} -->", f"<!-- end of {marker} -->"
    if begin not in text or end not in text:
        fail(f"the page has no '{begin}' .. '{end}'")
    return text[: text.index(begin) + len(begin)] + f"\n{content}\n" + text[text.index(end) :]


def how_it_was_made(arguments):
    processor = re.search(r"model name\s*: (\S+)", pathlib.Path("/proc/cpuinfo").read_text())
    return (f"{arguments.edge} x {arguments.edge} pixels of `{pathlib.Path(arguments.image).name}`, noise of sigma {SIGMA}, "
            f"fp32, {arguments.threads} thread(s), {arguments.rounds} rounds in turns, {time.strftime('%Y-%m-%d')}; "
            f"{processor[1] if processor else 'unknown'} processor, {os.cpu_count()} virtual CPUs, load before the run "
            f"{arguments.load:.1f}.")


def write_page(page, how, runs, python):
    page.write_text(replace_between(page.read_text(), "table", f"{how}\n\n{table(runs)}"))
    picture = page.parent.parent / "images" / f"{page.stem}.png"
    values = json.dumps({name: {"cpu": ratios(runs, name, "cpu_s"), "peak": max(run["peak_mib"] for run in runs[name]),
                                "same": max(run["difference"] for run in runs[name]) <= TOLERANCE} for name in runs})
    subprocess.run([python, HERE / "peers_picture.py", picture], input=values, text=True, check=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patchbench", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--image", default=str(ROOT / "data" / "photos" / "retina.jpg"), help="photograph, or .npy")
    parser.add_argument("--edge", type=int, default=768, help="of its centre; deepinv needs more than 384 pixels")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--page", help="with <!-- table --> and <!-- end of table -->")
    parser.add_argument("--out", type=pathlib.Path, help="JSON of all runs")
    arguments = parser.parse_args()
    arguments.load = os.getloadavg()[0]
    if not pathlib.Path(arguments.image).is_file():
        fail(f"there is no image '{arguments.image}': data/get_photos.sh fetches the photographs, or name one with --image")
    return arguments


def main():
    arguments = parse_arguments()
    python = set_up()
    with tempfile.TemporaryDirectory() as folder:
        runs = race(arguments, python, pathlib.Path(folder))
    print(table(runs))
    if arguments.out:
        arguments.out.write_text(json.dumps(runs, indent=1))
    if arguments.page:
        write_page(pathlib.Path(arguments.page), how_it_was_made(arguments), runs, python)
    wrong = [name for name in runs if name.startswith("patchbench") and
             max(run["difference"] for run in runs[name]) > TOLERANCE]
    return f"error: not the whole image within {TOLERANCE}: {', '.join(wrong)}" if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
