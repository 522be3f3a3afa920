#!/usr/bin/env python3
"""Two builds of patchbench on the same points, in turns: is anything slower or larger than before?

usage: before_after.py BEFORE AFTER [--engines torch,auto] [--networks dncnn,unet,drunet] [--dtypes fp32,bf16]
                       [--sizes 128x1,128x4,256x1,512x1] [--rounds 5] [--out table.md]

BEFORE and AFTER are executables `patchbench`. A size is a patch and a batch; its image is one batch. BEFORE runs its default
engine, AFTER each of `--engines`. Each turn is one process with one thread that runs all points; who goes first alternates.
The ratio is AFTER's / BEFORE's of each round: below 1, it became faster or smaller. Time: processor seconds of a repetition
after a warm-up, image in to image out. Memory: the engine's peak as its counting allocator has it, and the largest resident
set of the point. Points that one of the two refuses are listed.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

STUDY = """
name: before_after
network: [{networks}]
weights: seed:1
device: cpu
dtype: [{dtypes}]
threads: 1
halo: none
bounds: false
verify: {{mode: off}}
warmup: {{reps: 1}}
stop: {{min_reps: 1, max_reps: 1}}
forward_calls: 0
save_images: false
groups:
{groups}
"""


def write_study(arguments, path):
    groups = []
    for size in arguments.sizes.split(","):
        patch, batch = map(int, size.split("x"))
        groups.append(f"  - {{patch: {patch}, batch: {batch}, image: {{height: {patch}, width: {patch * batch}}}}}")
    path.write_text(STUDY.format(networks=arguments.networks, dtypes=arguments.dtypes, groups="\n".join(groups)))


class Build:
    def __init__(self, executable, engine):
        self.executable, self.engine = executable, engine

    def measure(self, study):
        """(network, dtype, patch, batch) -> (processor s, allocated MiB, resident MiB)"""
        with tempfile.TemporaryDirectory() as folder:
            command = [self.executable, "run", study, "--out", f"{folder}/results"]
            if self.engine:
                command += ["--set", f"engine={self.engine}"]
            finished = subprocess.run(command, capture_output=True, text=True)
            results = pathlib.Path(folder, "results", "results.jsonl")
            if not results.exists():
                raise RuntimeError(f"{' '.join(map(str, command))}: {finished.stdout}{finished.stderr}")
            records = [json.loads(line) for line in results.read_text().splitlines()]
        return dict(map(values_of, (record for record in records if "samples" in record)))


def values_of(record):
    point, memory = record["point"], record["memory"]["ranks"][0]
    key = (point["network"], point["dtype"], point["patch"], point["batch"])
    return key, (record["samples"]["ranks"][0]["cpu_s"][0], memory["allocated_peak_mib"], memory["host_peak_mib"])


def text_of(ratios):
    if None in ratios:
        return "-"
    return f"{statistics.median(ratios):.2f} [{min(ratios):.2f}, {max(ratios):.2f}]"


def ratios_of(before, after, index):
    return [a[index] / b[index] if a[index] and b[index] else None for b, a in zip(before, after)]


def table_of(measured, engines):
    before = measured["before"]
    lines = ["| network | dtype | patch | batch | engine | time | allocated | resident |", "|---|---|---|---|---|---|---|---|"]
    for key in before[0]:
        for engine in engines:
            rounds = measured[engine]
            if any(key not in points for points in rounds):
                lines.append("| {} | {} | {} | {} | {} | refused | | |".format(*key, engine))
                continue
            sides = [points[key] for points in before], [points[key] for points in rounds]
            words = [text_of(ratios_of(*sides, index)) for index in range(3)]
            lines.append("| " + " | ".join(map(str, (*key, engine, *words))) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--engines", default="torch,auto")
    parser.add_argument("--networks", default="dncnn,unet,drunet")
    parser.add_argument("--dtypes", default="fp32,bf16")
    parser.add_argument("--sizes", default="128x1,128x4,256x1,512x1")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()

    engines = arguments.engines.split(",")
    builds = {"before": Build(arguments.before, None)} | {engine: Build(arguments.after, engine) for engine in engines}
    measured = {name: [] for name in builds}
    with tempfile.TemporaryDirectory() as folder:
        study = pathlib.Path(folder, "before_after.yaml")
        write_study(arguments, study)
        for number in range(arguments.rounds):
            for name in [*builds] if number % 2 == 0 else [*builds][::-1]:
                measured[name].append(builds[name].measure(study))
                print(f"round {number + 1}: {name}: {len(measured[name][-1])} points", flush=True)
    table = table_of(measured, engines)
    print(table)
    if arguments.out:
        arguments.out.write_text(table)


if __name__ == "__main__":
    main()
