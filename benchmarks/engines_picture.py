#!/usr/bin/env python3
"""Draws study E: engines_picture.py PICTURE.png < figures as JSON (engines_page.py). Needs matplotlib."""
import json
import sys

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

OURS, OTHERS, LATER = "#3b76c4", "#9aa4b2", "#e0a060"


def values_of(variants, key, scale):
    return [scale * (figures[key] or 0) for figures in variants.values()]


def bars(axes, variants, key, scale):
    """From the top down; ours in their own colour."""
    colours = [OURS if name.split()[0] in ("torch", "native") else OTHERS for name in variants]
    axes.barh(list(variants), values_of(variants, key, scale), color=colours)


def latency(axes, variants):
    """The median, with a line to the ninetieth percentile."""
    bars(axes, variants, "call_s", 1e3)
    for place, figures in enumerate(variants.values()):
        if figures["call_p90_s"]:
            axes.hlines(place, 1e3 * figures["call_s"], 1e3 * figures["call_p90_s"], color="#444444", linewidth=1)


def start_up(axes, variants):
    loads = values_of(variants, "load_s", 1)
    axes.barh(list(variants), loads, color=OTHERS)
    axes.barh(list(variants), values_of(variants, "prepare_s", 1), left=loads, color=LATER)


PANELS = [("CPU time of a call, ms", lambda axes, variants: bars(axes, variants, "cpu_per_patch_s", 1e3)),
          ("latency, ms: median, line to p90", latency),
          ("resident peak, MiB", lambda axes, variants: bars(axes, variants, "engine_peak_mib", 1)),
          ("start and load, compile (brown), s", start_up)]


def main():
    networks = json.load(sys.stdin)
    rows = max(len(variants) for variants in networks.values())
    picture, grid = pyplot.subplots(len(networks), len(PANELS), figsize=(14, len(networks) * (0.22 * rows + 0.8)),
                                    layout="constrained", squeeze=False)
    for line, (network, variants) in zip(grid, networks.items()):
        for axes, (title, draw) in zip(line, PANELS):
            draw(axes, variants)
            axes.invert_yaxis()
            axes.set_title(f"{network}: {title}", fontsize=9, loc="left")
            axes.tick_params(labelsize=8, labelleft=axes is line[0])
            axes.grid(axis="x", color="#dddddd")
            axes.set_axisbelow(True)
            for side in ("top", "right"):
                axes.spines[side].set_visible(False)
    picture.savefig(sys.argv[1], dpi=110)


if __name__ == "__main__":
    main()
