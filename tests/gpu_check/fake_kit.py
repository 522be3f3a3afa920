"""A kit for gpu_check.py whose programs do as they are told: everything well, or one step in one of the ways in which a
step fails. FAKE_KIT in the environment: "<step>=<way>,..", with the names of gpu_check.py's steps."""

import json
import os
import pathlib
import signal
import sys
import time

TESTS = ("gpu_convert_test", "gpu_stream_test", "gpu_nccl_test", "gpu_nccl_exchange_test", "gpu_nccl_borders_test",
         "gpu_engine_test")
TEST_STEPS = (*TESTS[:-1], *(f"gpu_engine_test_{part}" for part in (1, 2, 3, 4, "large")))
STUDIES = ("bf16", "graphs", "slots", "largest", "reduced", "fp32", "photo", "fusion")


def point(index, study, **settings):
    """As patchbench writes it, as far as gpu_check.py reads it."""
    values = {"network": "drunet", "weights": "seed:1", "patch": 256, "batch": 4, "cuda_graph": False, "overlap": True,
              "slots": 2, "layout": "channels_last", "fusion": "off", "last_batch": "pad",
              "settled": {"device": "cuda"}} | settings
    summary = {"validity": "VALID", "patches_per_s": 123.4, "forward_tflops": 271.8, "forward_of_matmul_percent": 41.0,
               "forward_of_conv_percent": 77.0, "forward_of_memory_percent": 35.5, "efficiency": 0.97,
               "sm_clock_mhz": 1980.0, "power_cap_s": 0.0, "allocated_peak_mib": 1024.0, "predicted_peak_mib": 1000.0,
               "bottleneck": {"class": "memory"}, "pipeline_s": 0.5, "prepare_s": 2.25, "window_error": 0.001, "seam_error": 0.02,
               "psnr_denoised_db": 31.4, "device_used_mib": 3000.0}
    if values["fusion"] == "on":
        values["settled"] = values["settled"] | {"fused": True}
        summary["notes"] = ["another note", "fusion: 1 of 8 kinds of layer ran unfused (conv: wrong by 0.3)"]
    walls = [0.5, 0.25 if values["cuda_graph"] else 0.5, 0.6]
    return {"type": "point", "index": index, "label": f"{values['network']}-{study}-{index}", "point": values,
            "status": "ok", "reason": None, "verification": {"outcome": "passed"}, "summary": summary,
            "samples": {"wall_s": walls, "ranks": [{"rank": 0, "allocations": 0}]}}


def study_lines(study):
    settings = {"graphs": {"cuda_graph": True}, "slots": {"slots": 3}, "fp32": {"layout": "contiguous"},
                "fusion": {"fusion": "on"}}
    points = [point(0, "first"), point(1, study, **settings.get(study, {}))]
    together = {"type": "study_summary",
                "batch_memory": [{"label": "drunet", "fit": {"base_mib": 40.0, "per_window_mib": 52.0,
                                                             "largest_deviation": 0.013}}],
                "largest_batches": [{"label": "drunet", "search": {"largest_batch": 77, "limited_by": "memory"},
                                     "predicted_batch": 75, "prediction_error": -0.026}]}
    entries = [{"type": "study"}, *points, together, {"type": "end", "verdict": "VALID"}]
    return [json.dumps(entry) + "\n" for entry in entries]


def comparisons():
    return [{"network": "drunet", "dtype": "bf16", "batch": 4, "window_px": 320, "patchbench_s": [0.01, 0.02, 0.03],
             "pytorch_s": [0.02, 0.04, 0.06], "ratio": 2.0, "ratio_min": 1.5, "ratio_max": 2.5,
             "error_patchbench": 1e-3, "error_pytorch": 2e-3, "error_to_cpu": 3e-3}]


def way_of(step):
    pairs = [pair.split("=") for pair in os.environ.get("FAKE_KIT", "").split(",") if pair]
    return dict(pairs).get(step, "well")


def write(file, text, way):
    """What the step leaves: whole, or as the way says."""
    if way in ("missing", "crash"):
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    if way == "garbage":
        file.write_bytes(b"\x00\xff{[" * 100)
    elif way == "empty":
        file.write_text("")
    elif way == "other":
        file.write_text('[1, "two", null]\n{"type": "point"}\n{"type": "study_summary", "batch_memory": 3}\n')
    elif way in ("partial", "hang", "killed"):
        file.write_text(text[: len(text) * 2 // 3])
    else:
        file.write_text(text)


def end(way):
    if way == "hang":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the worst kind
        with open("hung", "a") as file:  # the folder of the kit: every step begins there
            file.write(f"{os.getpid()}\n")
        time.sleep(60)
    if way == "late":
        time.sleep(60)
    if way == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    print("what it said")
    sys.exit({"crash": 3, "partial": 5, "skip": 77}.get(way, 0))


def patchbench(arguments):
    if arguments[0] != "run":
        end(way_of("version" if arguments[0] == "--version" else "check"))
    if not pathlib.Path(arguments[1]).is_relative_to(pathlib.Path.cwd()):  # the kit, which has the photograph
        sys.exit(2)
    out = pathlib.Path(arguments[arguments.index("--out") + 1])
    way = way_of(out.name)
    text = "".join(study_lines(out.name.removeprefix("study_")))
    if way != "late":
        write(out / "results.jsonl", text, way)
        write(out / "report.html", "a page of 5 MB", way)
    end(way)


def beside(arguments):
    way = way_of("beside_pytorch")
    if way != "late":
        write(pathlib.Path(arguments[arguments.index("--out") + 1]), json.dumps(comparisons()), way)
    end(way)


def engine_test(arguments):
    """Its report, as GoogleTest writes it."""
    report_file = pathlib.Path(arguments[-1].partition("json:")[2])
    way = way_of(report_file.stem)
    report = {"testsuites": [{"name": "GpuEngine", "testsuite": [{"name": "IsNearTheCpu/drunet", "result": "COMPLETED",
                                                                  "error_bf16": "12345.000000e-6"}]}]}
    if way != "late":
        write(report_file, json.dumps(report), way)
    end(way)


def make_program(file, body):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!{sys.executable} -S\nimport sys\nsys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})\n"
                    f"import fake_kit\n{body}\n")
    file.chmod(0o755)


def make_kit(folder):
    make_program(folder / "build" / "patchbench", "fake_kit.patchbench(sys.argv[1:])")
    make_program(folder / "build" / "benchmarks" / "forward_server", "fake_kit.end('well')")
    make_program(folder / "benchmarks" / "beside_pytorch.py", "fake_kit.beside(sys.argv[1:])")
    for name in TESTS:
        make_program(folder / "build" / "tests" / name, f"fake_kit.end(fake_kit.way_of({name!r}))")
    make_program(folder / "build" / "tests" / "gpu_engine_test", "fake_kit.engine_test(sys.argv[1:])")
    make_program(folder / "launch" / "gpu_check_device.py", "fake_kit.end(fake_kit.way_of('device'))")
    (folder / "launch" / "ranks.sh").write_text('shift\nexec "$@"\n')
