#!/usr/bin/env python3
"""Draws what peers.py measured: peers_picture.py PICTURE.png < figures as JSON. Needs matplotlib."""
import json
import statistics
import sys

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

OURS, OTHERS, ELSE = "#3b76c4", "#9aa4b2", "#e0c9b0"


def colour(name, figures):
    if name.startswith("patchbench"):
        return OURS
    return OTHERS if figures["same"] else ELSE


def bars(axes, figures, values, title):
    """Bars from the top down, with the spread of the rounds."""
    names = list(figures)
    middles = [statistics.median(values[name]) for name in names]
    ends = [[middle - min(values[name]) for name, middle in zip(names, middles)],
            [max(values[name]) - middle for name, middle in zip(names, middles)]]
    axes.barh(names, middles, xerr=ends, color=[colour(name, figures[name]) for name in names],
              error_kw={"elinewidth": 1, "capsize": 2, "ecolor": "#444444"})
    axes.set_title(title, fontsize=10, loc="left")
    axes.grid(axis="x", color="#dddddd")
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def main():
    figures = json.load(sys.stdin)
    picture, (left, right) = pyplot.subplots(1, 2, figsize=(10, 0.38 * len(figures) + 1), sharey=True, layout="constrained")
    bars(left, figures, {name: one["cpu"] for name, one in figures.items()}, "CPU time of the process / PyTorch's (whole)")
    left.axvline(1, color="#444444", linewidth=0.8)
    bars(right, figures, {name: [one["peak"]] for name, one in figures.items()}, "peak memory of the process, MiB")
    left.invert_yaxis()  # both, as they share it
    picture.supxlabel("light brown: not the image that the network gives for the whole", fontsize=9, color="#666666")
    picture.savefig(sys.argv[1], dpi=110)


if __name__ == "__main__":
    main()
