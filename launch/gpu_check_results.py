"""Results of the studies and of the comparison with PyTorch as gpu_check.py finds them: whole, partial, damaged or not
there. Nothing here raises for what a file holds; what is missing is None."""

import collections
import csv
import json
import statistics


def at(entry, *keys):
    """What stands at a place of a JSON value; None where there is no such place."""
    for key in keys:
        if not isinstance(entry, dict):
            return None
        entry = entry.get(key)
    return entry


def listed(entry, key):
    """The list that stands there; an empty one where none does."""
    value = at(entry, key)
    return value if isinstance(value, list) else []


def number(value):
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def numbers(value):
    """The numbers of a list; none when it is no list."""
    return [each for each in value if number(each) is not None] if isinstance(value, list) else []


def median(values):
    return statistics.median(values) if values else None


class Study:
    """What one `patchbench run` left: points, what they say together, and what is wrong with the file."""

    def __init__(self, name, file):
        self.name, self.points, self.together, self.troubles = name, [], [], []
        try:
            lines = file.read_text(errors="replace").splitlines()
        except OSError as error:
            self.troubles.append(f"no results: {error.strerror}")
            return
        for place, line in enumerate(lines, 1):
            self.add(place, line)
        if not self.points:
            self.troubles.append("no point was measured")

    def add(self, place, line):
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        kind = at(entry, "type")
        if kind == "point":
            self.points.append(entry)
        elif kind == "study_summary":
            self.together.append(entry)
        elif not isinstance(kind, str):
            self.troubles.append(f"line {place} is damaged")


def label(point):
    """The program's, and what it leaves out."""
    settings = at(point, "point")
    parts = [str(at(point, "label"))]
    if at(settings, "cuda_graph"):
        parts.append("graph")
    if at(settings, "settled", "fused"):
        parts.append("fused")
    if at(settings, "last_batch") == "ragged":
        parts.append("ragged")
    if number(at(settings, "slots")) not in (None, 2):
        parts.append(f"{at(settings, 'slots')} slots")
    if at(settings, "overlap") is False:
        parts.append("in turn")
    if at(settings, "layout") == "contiguous":
        parts.append("contiguous")
    if at(settings, "weights") == "default":
        parts.append("photo")
    if at(settings, "batch") == "largest":
        parts.append("largest")
    return ", ".join(parts)


def allocations(point):
    """In the timed repetitions of all ranks; None where a rank does not say."""
    ranks = at(point, "samples", "ranks")
    counts = [number(at(rank, "allocations")) for rank in ranks] if isinstance(ranks, list) else []
    return sum(counts) if counts and None not in counts else None


def prediction_error(point):
    """Peak / what the plan predicted - 1."""
    peak, predicted = (number(at(point, "summary", key)) for key in ("allocated_peak_mib", "predicted_peak_mib"))
    return peak / predicted - 1 if peak is not None and predicted else None


def unhappy(points):
    """What must hold of every point beyond the program's own verdict, and does not."""
    bad = [point for point in points if at(point, "status") != "ok"]
    return [f"{label(point)}: {at(point, 'status')} {at(point, 'reason') or ''}".strip() for point in bad]


def busy_allocators(points):
    on_cuda = [point for point in points if at(point, "point", "settled", "device") == "cuda"]
    return [f"{label(point)}: {allocations(point)}" for point in on_cuda if allocations(point)]


def without(point, key):
    """What a point and its counterpart with another value of `key` share."""
    settings = at(point, "point")
    kept = {name: value for name, value in settings.items() if name != key} if isinstance(settings, dict) else {}
    if key == "fusion" and isinstance(kept.get("settled"), dict):  # follows from it
        kept["settled"] = {name: value for name, value in kept["settled"].items() if name != "fused"}
    return json.dumps(kept, sort_keys=True)


def pairs(points, key, base):
    """[label, base s, its s, ratio, extremes] of points that differ from another in `key` alone, which is `base` there."""
    measured = [point for point in points if at(point, "status") == "ok" and numbers(at(point, "samples", "wall_s"))]
    bases = {without(point, key): point for point in measured if at(point, "point", key) == base}
    for point in measured:
        partner = bases.get(without(point, key))
        if partner is None or at(point, "point", key) == base:
            continue
        was, now = (numbers(at(each, "samples", "wall_s")) for each in (partner, point))
        if min(now) <= 0:
            continue
        yield [label(point), median(was), median(now), f"{median(was) / median(now):.3f}",
               f"{min(was) / max(now):.3f} .. {max(was) / min(now):.3f}"]


def fusion_remarks(points):
    """[label: what the program says of layers that ran unfused although they were to be fused]"""
    return [f"{label(point)}: {note}" for point in points for note in listed(at(point, "summary"), "notes")
            if isinstance(note, str) and note.startswith("fusion:")]


def memory_fits(studies):
    """[label, MiB at batch 0, MiB a window, largest deviation] of the straight lines through peaks over batches."""
    for study in studies:
        for together in study.together:
            for each in listed(together, "batch_memory"):
                fit = at(each, "fit")
                if isinstance(fit, dict):
                    yield [at(each, "label"), at(fit, "base_mib"), at(fit, "per_window_mib"),
                           at(fit, "largest_deviation")]


def largest_batches(studies):
    """[label, batch, limited by, predicted, how far off] of searches for the largest batch."""
    for study in studies:
        for together in study.together:
            for each in listed(together, "largest_batches"):
                yield [at(each, "label"), at(each, "search", "largest_batch"), at(each, "search", "limited_by"),
                       at(each, "predicted_batch"), at(each, "prediction_error")]


def beside_pytorch(file):
    """(comparisons, what is wrong with the file)"""
    try:
        results = json.loads(file.read_text(errors="replace"))
    except OSError as error:
        return [], f"no results: {error.strerror}"
    except ValueError as error:
        return [], f"the file is damaged: {error}"
    if not isinstance(results, list) or not all(isinstance(each, dict) for each in results):
        return [], "the file holds something else than comparisons"
    return results, ""


def beside_row(each):
    """[network, dtype, windows, ours, theirs, ratio, extremes, errors]"""
    batch = number(at(each, "batch"))
    rates = [batch / median(numbers(at(each, key))) if batch and median(numbers(at(each, key))) else None
             for key in ("patchbench_s", "pytorch_s")]
    return [at(each, "network"), at(each, "dtype"), f"{at(each, 'batch')} x {at(each, 'window_px')}²", *rates,
            number(at(each, "ratio")), number(at(each, "ratio_min")), number(at(each, "ratio_max")),
            number(at(each, "error_patchbench")), number(at(each, "error_pytorch")), number(at(each, "error_to_cpu"))]


def recorded_errors(file):
    """[test, precision, largest error] that a report of GoogleTest holds; none where there is no such report."""
    try:
        report = json.loads(file.read_text(errors="replace"))
    except (OSError, ValueError):
        return
    for suite in listed(report, "testsuites"):
        for test in listed(suite, "testsuite"):
            for key, value in test.items() if isinstance(test, dict) else ():
                if key.startswith("error_"):
                    yield [at(test, "name"), key.removeprefix("error_"), value]


# Kernels of src/device/cuda/convert.cu and part_count.cu: around a batch.
AROUND_A_BATCH = ("convert_array", "spread_pixels", "collect_pixels", "count_parts")


def kernels(output):
    """[name, calls, us in all] of the last forward call in the table that `ncu --csv` prints, the longest first: what
    follows the last conversion of a batch."""
    table = csv.DictReader(line for line in output.splitlines() if line.startswith('"'))
    measured = []
    for row in table:
        try:
            measured.append((row["Kernel Name"], float(row["Metric Value"].replace(",", "")) / 1000))
        except (KeyError, TypeError, ValueError, AttributeError):
            continue  # a line that was cut
    begin = max((i + 1 for i, (name, _) in enumerate(measured) if any(each in name for each in AROUND_A_BATCH)), default=0)
    times = collections.defaultdict(list)
    for name, us in measured[begin:]:
        times[name].append(us)
    return sorted(([name, len(each), sum(each)] for name, each in times.items()), key=lambda row: -row[2])
