#!/usr/bin/env python3
"""What a second core gains: forward calls of the engines native and torch with one thread, with two, and in two processes
at once, as two ranks have them.

usage: .venv/bin/python benchmarks/second_core.py build [--networks drunet,dncnn,unet] [--batch N] [--edge PX] [--rounds N]

All in turns, by the clock: run it on a machine with nothing else running. A gain is calls a second by those of one thread
alone, 2 at best; printed as median [smallest, largest] of the rounds. The product of two matrices that stay in a core's
cache, in two processes at once, says what the machine's second core can give: on a virtual machine it may be the same
core (then 1 to 1.3), and figures say nothing about the engines.
"""

import argparse
import concurrent.futures
import pathlib
import statistics
import sys
import tempfile

import torch

import beside_pytorch as plain
from plain_networks import NETWORKS, make_network

ENGINES = ("native", "torch")
PRODUCTS = """
import sys, time, torch
torch.set_num_threads(1)
a = torch.rand(384, 384)
print("ready", flush=True)
for line in sys.stdin:
    start = time.perf_counter()
    for _ in range(int(line.split()[1])):
        a @ a
    print(time.perf_counter() - start, flush=True)
"""


class Products(plain.Process):
    def __init__(self):
        super().__init__([sys.executable, "-W", "ignore", "-c", PRODUCTS])
        self.process.stdout.readline()


def start_server(arguments, engine, threads, network, folder):
    server = plain.Process([arguments.build / "benchmarks/forward_server", "--engine", engine, "--threads", str(threads)])
    server.ask("load", network, folder / "weights.pth", "fp32", folder / "samples.npy", plain.SIGMA)
    return server


class Subject:
    """Processes that do the same with one thread, twice, and with two (None: cannot)."""

    def __init__(self, one, other, threaded):
        self.one, self.other, self.threaded = one, other, threaded
        one.seconds(1)
        self.calls = max(1, round(1 / one.seconds(1)))
        self.gains = {"ranks": []} | ({"threads": []} if threaded else {})

    def at_once(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return max(pool.map(lambda process: process.seconds(self.calls), (self.one, self.other)))

    def measure(self):
        alone = self.one.seconds(self.calls)
        if self.threaded:
            self.gains["threads"].append(alone / self.threaded.seconds(self.calls))
        self.gains["ranks"].append(2 * alone / self.at_once())

    def end(self):
        for process in filter(None, (self.one, self.other, self.threaded)):
            process.process.kill()


def text_of(gains):
    return f"{statistics.median(gains):.2f} [{min(gains):.2f}, {max(gains):.2f}]"


def compare(network, arguments, folder):
    samples, _ = plain.make_windows(network, arguments)
    plain.save_npy(folder / "samples.npy", samples)
    torch.save(make_network(network).state_dict(), folder / "weights.pth")
    subjects = {"products": Subject(Products(), Products(), None)}
    for engine in ENGINES:
        servers = [start_server(arguments, engine, threads, network, folder) for threads in (1, 1, 2)]
        subjects[engine] = Subject(*servers)
    for index in range(arguments.rounds):
        for name in list(subjects)[:: -1 if index % 2 else 1]:
            subjects[name].measure()
    for name, subject in subjects.items():
        texts = [f"{kind} {text_of(gains)}" for kind, gains in sorted(subject.gains.items(), reverse=True)]
        print(f"{network:<7} batch {arguments.batch} {name:<9} {', '.join(texts)}", flush=True)
        subject.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--edge", type=int, default=256, help="pixels; a multiple of 8")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    for network in arguments.networks.split(","):
        with tempfile.TemporaryDirectory() as folder:
            compare(network, arguments, pathlib.Path(folder))


if __name__ == "__main__":
    main()
