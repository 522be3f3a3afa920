"""What gpu_check.py says: a page with everything, and the same in short for a standard output of which only the last
12,000 characters may be kept. Each section is guarded: one that cannot be written says why, and costs no other."""

import re
import time

import gpu_check_results as results

MAX_BYTES = 200_000  # of the page
MAX_SAID = 11_900  # characters of the short text with what is printed behind it
POINT_KEYS = ("patches_per_s", "forward_tflops", "forward_of_matmul_percent", "forward_of_conv_percent",
              "forward_of_memory_percent", "efficiency", "sm_clock_mhz", "power_cap_s", "window_error",
              "allocated_peak_mib")
POINT_HEADINGS = ["patches/s", "forward TFLOP/s", "% matmul", "% conv", "% memory", "forward/pipeline", "SM MHz",
                  "power cap s", "window error", "peak MiB"]

# What points are compared in: heading, setting, its value in the counterpart.
COMPARISONS = (("graphs, beside none", "cuda_graph", False), ("fusion, beside off", "fusion", "off"),
               ("copies in turn, beside overlap", "overlap", True), ("slots, beside 2", "slots", 2),
               ("layout, beside channels_last", "layout", "channels_last"))


def cell(value, digits=4):
    if value is None:
        return "-"
    text = str(value)
    if isinstance(value, float):
        text = f"{value:.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.{digits}g}"
    return " ".join(text.replace("|", "/").split())


def table(headings, rows):
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join("| " + " | ".join(cell(value) for value in row) + " |\n" for row in lines) + "\n"


def block(text, most):
    """The end of an output: that is where the reason stands."""
    return "```\n" + text.strip()[-most:].replace("```", "'''") + "\n```\n\n"


def guarded(title, write, *arguments):
    """A section, or in its place why it could not be written."""
    try:
        return f"## {title}\n\n" + write(*arguments)
    except Exception as error:  # whatever a damaged file holds: the other sections must stand
        return f"## {title}\n\nThis section could not be written: {type(error).__name__}: {error}\n\n"


def percent(value):
    return None if value is None else f"{100 * value:+.1f} %"


def point_row(point):
    figures = [results.number(results.at(point, "summary", key)) for key in POINT_KEYS]
    return [results.label(point), results.at(point, "status"), *figures,
            percent(results.prediction_error(point)), results.at(point, "summary", "bottleneck", "class")]


def more_of_point(point):
    walls = results.numbers(results.at(point, "samples", "wall_s"))
    spread = f"{min(walls):.4g} .. {max(walls):.4g}" if walls else None
    keys = ("pipeline_s", "prepare_s", "seam_error", "psnr_denoised_db", "device_used_mib")
    figures = [results.number(results.at(point, "summary", key)) for key in keys]
    return [results.label(point), figures[0], spread, *figures[1:], results.allocations(point),
            results.at(point, "verification", "outcome"), results.at(point, "summary", "validity")]


def studies_text(studies):
    text = ""
    for study in studies:
        text += f"### {study.name}\n\n" + "".join(f"{trouble}\n\n" for trouble in study.troubles)
        if study.points:
            text += table(["point", "status", *POINT_HEADINGS, "off prediction", "bottleneck"],
                          [point_row(point) for point in study.points])
            text += table(["point", "pipeline s", "min .. max", "prepare s", "seam error", "PSNR dB", "device used MiB",
                           "allocations", "verified", "validity"],
                          [more_of_point(point) for point in study.points])
            text += "".join(f"{remark}\n\n" for remark in results.fusion_remarks(study.points))
    return text or "No study has ended yet.\n\n"


def comparisons_text(studies):
    points = [point for study in studies for point in study.points]
    text = "Above 1 the point is faster than its counterpart.\n\n"
    for title, key, base in COMPARISONS:
        rows = list(results.pairs(points, key, base))
        if rows:
            text += table([title, "counterpart s", "s", "ratio", "extremes"], rows)
    return text


def memory_text(studies):
    text = table(["peak over batches", "MiB at 0", "MiB a window", "largest deviation"],
                 [[*row[:3], percent(results.number(row[3]))] for row in results.memory_fits(studies)])
    return text + table(["largest batch", "found", "limited by", "predicted", "off"],
                        [[*row[:4], percent(results.number(row[4]))] for row in results.largest_batches(studies)])


def beside_text(folder):
    comparisons, trouble = results.beside_pytorch(folder / "beside_pytorch.json")
    headings = ["network", "dtype", "windows", "patchbench windows/s", "PyTorch windows/s", "ratio", "min", "max",
                "error", "PyTorch's error", "error to the CPU"]
    return (
        "Forward calls alone, batch resident, same weights and windows, timed in turns; ratio = PyTorch's time / "
        "patchbench's, above 1 patchbench is faster. Errors are relative to PyTorch in fp32 on the same device, and "
        "for one window to PyTorch in fp32 on the CPU.\n\n"
        + (f"{trouble}\n\n" if trouble else "")
        + table(headings, [results.beside_row(each) for each in comparisons])
    )


def errors_text(folder):
    reports = sorted(folder.glob("gpu_engine_test*.json"))
    rows = [row for report in reports for row in results.recorded_errors(report)]
    return table(["test", "precision", "largest error"], rows) if rows else "None was recorded.\n\n"


def failed_tests(output, most=20):
    """What GoogleTest printed of each test that failed, the first `most` of them."""
    case = r"^\[ RUN      \] (?:(?!^\[ RUN|^\[       OK).)*?^\[  FAILED  \][^\n]*\n"
    found = re.findall(case, output, re.MULTILINE | re.DOTALL)
    return "".join(case if len(case) < 2500 else case[:2400] + " ...\n" for case in found[:most])


def steps_text(steps):
    return table(["step", "outcome", "s", "note"],
                 [[each.name, each.verdict, round(each.seconds, 1), each.note[:2000]] for each in steps.outcomes])


def outputs_text(steps):
    outputs = {each.name: each.output for each in steps.outcomes}
    return block(outputs.get("machine", "") + outputs.get("check", ""), 8000)


def profile_text(outcome):
    """ncu's kernels of one forward call added up by name; of nsys, the end of what it printed."""
    rows = results.kernels(outcome.output)
    if not rows:
        return block(outcome.output, 6000)
    total = sum(us for _, _, us in rows)
    text = f"{sum(calls for _, calls, _ in rows)} kernels, {total:.1f} us in all.\n\n"
    return text + table(["kernel", "calls", "us", "share"], [[*row, f"{100 * row[2] / total:.1f} %"] for row in rows])


def profiles_text(steps):
    texts = [f"### {each.name}\n\n" + profile_text(each)
             for each in steps.outcomes if each.name.startswith("profile") and each.verdict == "ok"]
    return "".join(texts) or "Neither nsys nor ncu was there, or they did not end.\n\n"


def failures_text(steps):
    text = ""
    for each in steps.outcomes:
        if each.verdict == "FAILED" and each.output:
            text += f"### {each.name}\n\n" + block(failed_tests(each.output), 30_000) + block(each.output, 8000)
    return text or "None.\n\n"


def headline(steps, is_over):
    failed = steps.failed()
    return ("" if is_over else "not over yet; ") + ("FAILED: " + ", ".join(failed) if failed else "everything passed")


def page(steps, device, studies, seconds, is_over):
    """Everything, within MAX_BYTES."""
    text = f"# GPU check: {headline(steps, is_over)}\n\n"
    text += f"{time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}, device {device}, {seconds:.0f} s.\n\n"
    text += guarded("Steps", steps_text, steps) + guarded("Machine", outputs_text, steps)
    text += guarded("Studies", studies_text, studies) + guarded("Side by side", comparisons_text, studies)
    text += guarded("Memory", memory_text, studies)
    text += guarded("Beside plain PyTorch in Python", beside_text, steps.folder)
    text += guarded("Errors of the GPU's networks against the CPU", errors_text, steps.folder)
    text += guarded("Failures", failures_text, steps) + guarded("Kernels", profiles_text, steps)
    content = text.encode()
    if len(content) > MAX_BYTES:
        text = content[: MAX_BYTES - 100].decode(errors="ignore") + "\n\nCut here; the logs hold all.\n"
    return text


def lines(rows):
    return "".join(" ".join(cell(value, 3) for value in row) + "\n" for row in rows) + "\n"


def brief_steps(steps):
    passed = ", ".join(f"{each.name} {each.seconds:.0f}" for each in steps.outcomes if each.verdict == "ok")
    others = [[each.name, each.verdict, round(each.seconds, 1), each.note[:120]]
              for each in steps.outcomes if each.verdict != "ok"]
    return f"ok, with seconds: {passed}\n" + lines(others)


def brief_points(studies):
    """The status only where a point is not ok."""
    headings = "point; " + ", ".join(POINT_HEADINGS) + ", off prediction, bottleneck\n"
    rows = [point_row(point) for study in studies for point in study.points]
    named = [str(row[0]).replace(", ", "+") + ("" if row[1] == "ok" else f" {row[1]}") + ";" for row in rows]
    return headings + lines([[name, *row[2:]] for name, row in zip(named, rows)])


def brief_comparisons(studies):
    """Only how many times as fast a point is as its counterpart, at the median and at the extremes."""
    points = [point for study in studies for point in study.points]
    rows = [[kind, str(row[0]).replace(", ", "+"), row[3], f"[{row[4]}]"]
            for kind, key, base in COMPARISONS for row in results.pairs(points, key, base)]
    return lines(rows)


def brief_memory(studies):
    fits = [[row[0], "at 0:", row[1], "a window:", row[2], percent(results.number(row[3]))]
            for row in results.memory_fits(studies)]
    largest = [["largest batch", row[0], *row[1:3], "predicted", row[3], percent(results.number(row[4]))]
               for row in results.largest_batches(studies)]
    return lines(fits + largest)


def brief_failures(steps):
    outputs = [(each.name, each.output) for each in steps.outcomes if each.verdict == "FAILED" and each.output]
    share = 2000 // max(len(outputs), 1)
    return "".join(f"{name}: ...{output.strip()[-share:]}\n" for name, output in outputs) + "\n"


def brief_beside(folder):
    comparisons, trouble = results.beside_pytorch(folder / "beside_pytorch.json")
    return trouble + lines([results.beside_row(each) for each in comparisons])


def brief(steps, studies, behind=""):
    """The page in short and `behind`, at most MAX_SAID characters: what does not fit is cut from the front, so what
    matters most stands last."""
    text = guarded("Failures", brief_failures, steps) + guarded("Times as fast", brief_comparisons, studies)
    text += guarded("Beside PyTorch", brief_beside, steps.folder) + guarded("Memory, MiB", brief_memory, studies)
    text += guarded("Points", brief_points, studies) + guarded("Steps", brief_steps, steps)
    return (text + behind)[-MAX_SAID:]
