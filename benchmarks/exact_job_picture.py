#!/usr/bin/env python3
"""Draws what exact_job.py measured: exact_job_picture.py PICTURE.png < figures as JSON. Needs matplotlib."""
import json
import sys

import peers_picture
from matplotlib import pyplot


def main():
    networks = json.load(sys.stdin)
    ways = max(map(len, networks.values()))
    picture, charts = pyplot.subplots(1, len(networks), figsize=(10, 0.42 * ways + 1), sharey=True, layout="constrained",
                                      squeeze=False)
    for chart, (network, figures) in zip(charts[0], networks.items()):
        kinds = {way: {"same": True} for way in figures}
        peers_picture.bars(chart, kinds, figures, f"{network}: processor time / one whole call in PyTorch")
        chart.axvline(1, color="#444444", linewidth=0.8)
    charts[0][0].invert_yaxis()  # all, as they share it
    picture.savefig(sys.argv[1], dpi=110)


if __name__ == "__main__":
    main()
