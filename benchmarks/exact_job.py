#!/usr/bin/env python3
"""The exact job on a CPU by each of patchbench's ways, beside one whole forward call in PyTorch.

usage: exact_job.py PATCHBENCH [--networks dncnn,drunet] [--ways WORDS,..] [--height 1024] [--width 1024] [--patch 256]
                    [--band 64] [--rounds 3] [--page docs/performance.md]

One thread each, in turns; a round begins with another way each time. Processor seconds: patchbench's are those of a
repetition, image in to image out (rank 0), PyTorch's those of a warm call in inference mode and channels_last, in this
process with glibc's threshold for mapped memory raised, so that its maps are not returned and mapped again at every layer.
The ratio is patchbench's / PyTorch's of each round. Pixels are not compared here: tests/run/ does that. `--ways` takes
those whose names hold one of the words. `--page` puts a table of each network between <!-- NETWORK --> and
<!-- end of NETWORK --> of the page and draws the picture beside it (docs/images/) with matplotlib, of the environment that
peers.py sets up.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

TUNED = {"MALLOC_MMAP_THRESHOLD_": str(1 << 40), "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": "0"}
if not TUNED.items() <= os.environ.items():  # read when a process starts
    os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | TUNED)

import torch  # noqa: E402

import peers  # noqa: E402
from plain_networks import make_network  # noqa: E402

WHOLE = "PyTorch, whole"
WAYS = {  # of patchbench: engine, halo
    "torch, tiles with an exact halo": ("torch", "exact"),
    "torch, carried rows": ("torch", "carried"),
    "native, tiles with an exact halo": ("native", "exact"),
    "native, carried rows": ("native", "carried"),
}


class Whole:
    """PyTorch's side."""

    def __init__(self, network, arguments):
        torch.set_num_threads(1)
        self.model = make_network(network).to(memory_format=torch.channels_last)
        channels = 4 if network == "drunet" else 3
        image = torch.rand(1, channels, arguments.height, arguments.width)
        self.image = image.to(memory_format=torch.channels_last)
        self.seconds()

    @torch.inference_mode()
    def seconds(self):
        start = time.process_time()
        self.model(self.image)
        return time.process_time() - start


class Ours:
    """patchbench's side, one way."""

    def __init__(self, network, way, arguments):
        engine, halo = WAYS[way]
        settings = {
            "network": network, "weights": "seed:1", "engine": engine, "device": "cpu", "threads": 1, "halo": halo,
            "patch": arguments.band if halo == "carried" else arguments.patch, "batch": 1, "image-height": arguments.height,
            "image-width": arguments.width, "bounds": "false", "verify-mode": "off", "warmup-reps": 0, "stop-max-reps": 1,
            "remeasure": 0, "forward-calls": 0, "previews": 0,
        }
        self.command = [arguments.patchbench, "bench", "--json"]
        for key, value in settings.items():
            self.command += [f"--{key}", str(value)]

    def seconds(self):
        lines = subprocess.run(self.command, check=True, capture_output=True, text=True).stdout.splitlines()
        return next(record for record in map(json.loads, lines) if "samples" in record)["samples"]["ranks"][0]["cpu_s"][0]


def race(network, ways, arguments):
    """Way -> processor seconds of each round."""
    sides = {WHOLE: Whole(network, arguments)} | {way: Ours(network, way, arguments) for way in ways}
    seconds = {way: [] for way in sides}
    for number in range(arguments.rounds):
        first = number % len(sides)
        for way in [*sides][first:] + [*sides][:first]:
            seconds[way].append(sides[way].seconds())
            print(f"{network}, round {number + 1}: {way}: {seconds[way][-1]:.2f} s", flush=True)
    return seconds


def ratios(seconds, way):
    return [one / whole for one, whole in zip(seconds[way], seconds[WHOLE])]


def table(seconds):
    rows = ["| way | processor s | ratio |", "|---|---|---|"]
    rows += [f"| {way} | {statistics.median(seconds[way]):.2f} | {peers.spread(ratios(seconds, way))} |" for way in seconds]
    return "\n".join(rows)


def write_page(page, runs):
    text = page.read_text()
    for network, seconds in runs.items():
        text = peers.replace_between(text, network, table(seconds))
    page.write_text(text)
    figures = {network: {way: ratios(seconds, way) for way in seconds} for network, seconds in runs.items()}
    picture = page.parent / "images" / f"{page.stem}.png"
    subprocess.run([peers.set_up(), peers.HERE / "exact_job_picture.py", picture], input=json.dumps(figures), text=True,
                   check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patchbench")
    parser.add_argument("--networks", default="dncnn,drunet")
    parser.add_argument("--ways", default="")
    for name, default in {"height": 1024, "width": 1024, "patch": 256, "band": 64, "rounds": 3}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--page", type=pathlib.Path)
    arguments = parser.parse_args()
    ways = [way for way in WAYS if any(word in way for word in arguments.ways.split(","))]
    runs = {network: race(network, ways, arguments) for network in arguments.networks.split(",")}
    for network, seconds in runs.items():
        print(f"{network} {arguments.height} x {arguments.width}, n = {arguments.rounds}\n{table(seconds)}")
    if arguments.page:
        write_page(arguments.page, runs)


if __name__ == "__main__":
    main()
