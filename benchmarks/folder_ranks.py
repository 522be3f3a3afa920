#!/usr/bin/env python3
"""A folder of small images through `patchbench denoise` on one rank and on several.

usage: folder_ranks.py PATCHBENCH [--images 300] [--edge 128] [--ranks 2] [--rounds 3] [--mpirun "mpirun --bind-to core"]

One thread a rank, in turns; who goes first alternates. Wall time is that of mpirun, its start and end included. The ratio is
that of a round: several ranks / one. Processor time is that of each rank: where two ranks take much more of it together than
one, or less than their wall time, the machine has no core for each. The outputs must have the same bytes, or the exit code
is 1.
"""

import argparse
import os
import random
import re
import resource
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path


def png(edge, seed):
    """A colour gradient with noise, 8 bits."""
    noise = random.Random(seed)

    def sample(x, y, channel):
        return min(255, max(0, round(60 + 130 * (x + y) / (2 * edge) + 20 * channel + noise.gauss(0, 12))))

    rows = b"".join(b"\0" + bytes(sample(x, y, c) for x in range(edge) for c in range(3)) for y in range(edge))

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", edge, edge, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")


def run_as_rank(folder, command):
    """What mpirun starts: the program, whose processor time goes into a file."""
    code = subprocess.run(command).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    Path(folder, os.environ["OMPI_COMM_WORLD_RANK"]).write_text(f"{used.ru_utime + used.ru_stime}")
    return code


def denoise(arguments, folder, ranks):
    """Wall time, processor time of each rank, seconds of start-up, and the outputs."""
    outputs, times = folder / f"out{ranks}", Path(tempfile.mkdtemp(dir=folder))
    command = [*arguments.mpirun.split(), "-n", str(ranks), sys.executable, __file__, "--as-rank", str(times), arguments.patchbench,
               "denoise", str(folder / "in"), f"{outputs}/", "--device", "cpu", "--threads", "1", "--sigma", "0.05"]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    wall_s = time.monotonic() - start
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    start_up_s = float(re.search(r"start-up ([\d.]+) s", done.stdout)[1])
    cpu_s = [float((times / str(rank)).read_text()) for rank in range(ranks)]
    return wall_s, cpu_s, start_up_s, {file.name: file.read_bytes() for file in outputs.iterdir()}


def measure(arguments, folder):
    (folder / "in").mkdir()
    for number in range(arguments.images):
        (folder / "in" / f"{number:04}.png").write_bytes(png(arguments.edge, number))
    ratios = []
    for number in range(arguments.rounds):
        order = [1, arguments.ranks] if number % 2 == 0 else [arguments.ranks, 1]
        found = {ranks: denoise(arguments, folder, ranks) for ranks in order}
        for ranks, (wall_s, cpu_s, start_up_s, _) in sorted(found.items()):
            each = ", ".join(f"{seconds:.1f}" for seconds in cpu_s)
            print(f"round {number + 1}, {ranks} rank(s): wall {wall_s:.1f} s, start-up {start_up_s:.1f} s, processor time of each rank {each} s")
        if found[1][3] != found[arguments.ranks][3] or len(found[1][3]) != arguments.images:
            sys.exit("the outputs differ")
        ratios.append(found[arguments.ranks][0] / found[1][0])
    print(f"{arguments.images} images of {arguments.edge} x {arguments.edge}: {arguments.ranks} ranks take {statistics.median(ratios):.2f} "
          f"of one rank's wall time ({min(ratios):.2f} to {max(ratios):.2f}, n = {len(ratios)}); the same bytes")


def main():
    if sys.argv[1:2] == ["--as-rank"]:
        sys.exit(run_as_rank(sys.argv[2], sys.argv[3:]))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("patchbench")
    parser.add_argument("--images", type=int, default=300)
    parser.add_argument("--edge", type=int, default=128)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mpirun", default="mpirun --bind-to core")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="patchbench-folder-") as folder:
        measure(arguments, Path(folder))


if __name__ == "__main__":
    main()
