#!/usr/bin/env python3
"""The exact job on a CPU: an image through `patchbench bench` with `halo: carried`, beside one whole forward call in PyTorch.

usage: carried_rows.py PATCHBENCH [--networks dncnn,drunet] [--height 1024] [--width 1024] [--band 64] [--rounds 3]

One thread each, in turns; who goes first alternates. Processor seconds: patchbench's are those of a repetition, image in
to image out (rank 0), PyTorch's those of a warm call in inference mode and channels_last, in this process with
glibc's threshold for mapped memory raised, so that its maps are not returned and mapped again at every layer. The ratio is
patchbench's / PyTorch's of each round. Pixels are not compared here: tests/run/carried_rows_test.cpp does that.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

TUNED = {"MALLOC_MMAP_THRESHOLD_": str(1 << 40), "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": "0"}
if not TUNED.items() <= os.environ.items():  # read when a process starts
    os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | TUNED)

import torch  # noqa: E402

from plain_networks import make_network  # noqa: E402


class Whole:
    """PyTorch's side."""

    def __init__(self, network, height, width):
        torch.set_num_threads(1)
        self.model = make_network(network).to(memory_format=torch.channels_last)
        channels = 4 if network == "drunet" else 3
        self.image = torch.rand(1, channels, height, width).to(memory_format=torch.channels_last)
        self.seconds()

    @torch.inference_mode()
    def seconds(self):
        start = time.process_time()
        self.model(self.image)
        return time.process_time() - start


class Carried:
    """patchbench's side."""

    def __init__(self, network, arguments):
        settings = {
            "network": network, "weights": "seed:1", "engine": "native", "device": "cpu", "threads": 1, "halo": "carried",
            "patch": arguments.band, "image-height": arguments.height, "image-width": arguments.width, "bounds": "false",
            "verify-mode": "off", "warmup-reps": 0, "stop-max-reps": 1, "remeasure": 0, "forward-calls": 0, "previews": 0,
        }
        self.command = [arguments.patchbench, "bench", "--json"]
        for key, value in settings.items():
            self.command += [f"--{key}", str(value)]

    def seconds(self):
        lines = subprocess.run(self.command, check=True, capture_output=True, text=True).stdout.splitlines()
        return next(record for record in map(json.loads, lines) if "samples" in record)["samples"]["ranks"][0]["cpu_s"][0]


def compare(network, arguments):
    sides = [Carried(network, arguments), Whole(network, arguments.height, arguments.width)]
    rounds = []
    for number in range(arguments.rounds):
        order = sides if number % 2 == 0 else sides[::-1]
        seconds = {type(side): side.seconds() for side in order}
        rounds.append((seconds[Carried], seconds[Whole]))
    ratios = [carried / whole for carried, whole in rounds]
    carried, whole = (statistics.median(side) for side in zip(*rounds))
    print(
        f"{network} {arguments.height} x {arguments.width}, bands of {arguments.band}: carried {carried:.2f} s, PyTorch whole "
        f"{whole:.2f} s, ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}, n = {len(ratios)})"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("patchbench")
    parser.add_argument("--networks", default="dncnn,drunet")
    for name, default in {"height": 1024, "width": 1024, "band": 64, "rounds": 3}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    arguments = parser.parse_args()
    for network in arguments.networks.split(","):
        compare(network, arguments)


if __name__ == "__main__":
    main()
