#!/usr/bin/env python3
"""The exchange between three hosts that are network namespaces of this machine, set beside their link: needs root.

usage: benchmarks/exchange_hosts.py PATCHBENCH MPIRUN..      prints a Markdown table, a row an image size
Devices are simulated (engine timed), one rank a host, so that nearly all that happens is the exchange. The hosts share
this machine's cores: their link is memory, and its speed is that of whatever else runs here.
"""
import json
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / 'tests' / 'cluster'))
import hosts  # noqa: E402 (found through the line above)

STUDY = """
name: exchange
engine: timed
timed.per_window_s: 0.0001
network: dncnn
image: {noise_sigma: 0}
zip:
  image.height: [512, 1024, 2048, 4096]
  image.width: [512, 1024, 2048, 4096]
batch: 1
patch: 256
halo: 16
timeline: 0
stop: {min_reps: 15, max_time_s: 0}
"""


def row_of(point):
    figures = point['summary']
    edge = point['point']['settled']['image_height_px']
    return (f"| {edge} x {edge} | {figures['exchanged_mib']:.1f} | {1e3 * figures['stage_exchange_s']:.1f} "
            f"| {figures['exchange_gb_per_s']:.2f} | {figures['link_gb_per_s']:.2f} | {figures['exchange_of_link_percent']:.0f} % |")


def main():
    program, *mpirun = sys.argv[1:]
    hosts.run_isolated()
    os.environ.update(OMP_NUM_THREADS='1', OMP_WAIT_POLICY='passive')
    with tempfile.TemporaryDirectory() as folder:
        study, out = Path(folder) / 'study.yaml', Path(folder) / 'out'
        study.write_text(STUDY)
        three = hosts.Hosts(['pb-node1', 'pb-node2', 'pb-node3'])
        # Each host takes the cores for its own: ranks that wait would keep the others from working.
        ran = three.mpirun(1, [*mpirun, '--mca', 'mpi_yield_when_idle', '1'], program, 'run', study, '--out', out)
        three.close()
        if ran.returncode != 0:
            sys.exit(ran.stderr)
        lines = [json.loads(line) for line in (out / 'results.jsonl').read_text().splitlines()]
    print('| image, px | MiB a pass | exchange ms | GB/s | link GB/s | of the link |\n|---|---|---|---|---|---|')
    for point in lines:
        if point['type'] == 'point':
            print(row_of(point))


if __name__ == '__main__':
    main()
