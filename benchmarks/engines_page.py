#!/usr/bin/env python3
"""Tables and picture of study E (configs/engines.yaml) from its results.

usage: engines_page.py results/engines/results.jsonl... [--page docs/studies/engines.md]

Prints a table for each network. `--page` puts them between <!-- table --> and <!-- end of table --> of the page and draws
the picture beside it (docs/images/engines.png) with matplotlib, of the environment that peers.py sets up. What the page
says about the figures stays as it is.
"""
import argparse
import json
import pathlib
import subprocess
import sys

import peers

COLUMNS = ["engine", "median ms [95 %]", "p90", "p99", "mean ms [95 %]", "CPU ms a call", "CPU / torch's", "share of a core %",
           "resident peak MiB", "start and load s", "compile, first call s", "largest difference to fp64"]


def variant_of(point):
    """`torch`, `pytorch compile bf16`: what differs between the rows of a network."""
    settings = point["point"]
    options = settings["worker"]["options"]
    dtype = "" if settings["dtype"] == "fp32" else settings["dtype"]
    return " ".join(word for word in (settings["engine"], options, dtype) if word)


def read_points(files):
    """network -> variant -> its point, in the order of the study."""
    networks = {}
    for file in files:
        for line in pathlib.Path(file).read_text().splitlines():
            point = json.loads(line)
            if point["type"] == "point" and point["status"] == "ok":
                networks.setdefault(point["point"]["network"], {})[variant_of(point)] = point
    return networks


def number(value, digits=1, scale=1.0):
    return "-" if value is None else f"{scale * value:.{digits}f}"


def with_interval(summary, key):
    low, high = (number(summary[f"{key}_{end}_s"], scale=1e3) for end in ("low", "high"))
    middle = number(summary[f"{key}_s"], scale=1e3)
    return middle if low == "-" else f"{middle} [{low}, {high}]"


def row_of(variant, point, base):
    summary = point["summary"]
    cpu_s, base_s = summary["cpu_per_patch_s"], base and base["summary"]["cpu_per_patch_s"]
    difference = point["verification"].get("fp64_error")  # results of earlier versions lack it
    return [variant, with_interval(summary, "call"), number(summary["call_p90_s"], scale=1e3),
            number(summary["call_p99_s"], scale=1e3), with_interval(summary, "call_mean"), number(cpu_s, scale=1e3),
            number(cpu_s / base_s if cpu_s and base_s else None, 2), number(summary["cpu_percent"], 0),
            number(summary["engine_peak_mib"], 0), number(summary["load_s"], 2), number(summary["prepare_s"], 2),
            "-" if difference is None else f"{difference:.1e}"]


def table(variants):
    rows = [COLUMNS, ["---"] * len(COLUMNS)]
    rows += [row_of(name, point, variants.get("torch")) for name, point in variants.items()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def tables(networks):
    return "\n\n".join(f"**{network}**\n\n{table(variants)}" for network, variants in networks.items())


def write_page(page, networks):
    page.write_text(peers.replace_between(page.read_text(), "table", f"\n{tables(networks)}\n"))
    picture = page.parent.parent / "images" / f"{page.stem}.png"
    keys = ("call_s", "call_p90_s", "cpu_per_patch_s", "engine_peak_mib", "load_s", "prepare_s")
    figures = {network: {name: {key: point["summary"][key] for key in keys} for name, point in variants.items()}
               for network, variants in networks.items()}
    subprocess.run([peers.set_up(), peers.HERE / "engines_picture.py", picture], input=json.dumps(figures), text=True,
                   check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", type=pathlib.Path)
    parser.add_argument("--page", type=pathlib.Path)
    arguments = parser.parse_args()
    for file in arguments.results:
        if not file.is_file():
            peers.fail(f"there is no file '{file}': patchbench run configs/engines.yaml writes results/engines/results.jsonl")
    networks = read_points(arguments.results)
    if not networks:
        peers.fail(f"{arguments.results[0]} has no point with status ok")
    print(tables(networks))
    if arguments.page:
        write_page(arguments.page, networks)


if __name__ == "__main__":
    sys.exit(main())
