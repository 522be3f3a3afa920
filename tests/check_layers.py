#!/usr/bin/env python3
"""Enforces the layer table of CONTRIBUTING.md on #include lines and namespaces, and which file may see which vendor's headers.

usage: tests/check_layers.py [folder of the project]      exit code 1 and a line per violation when there are any
"""

import pathlib
import re
import sys

# Layer -> the layers that it may include besides itself.
MAY_INCLUDE = {
    "base": set(),
    "network": {"base"},
    "config": {"base", "network"},
    "plan": {"base", "config", "network"},
    "image": {"base"},
    "device": {"base"},
    "comm": {"base", "device"},
    "engine": {"base", "network", "device"},
    "record": {"base", "config", "network", "plan"},
    "run": {"base", "config", "network", "plan", "image", "device", "comm", "engine", "record"},
    "measure": {"base", "config", "network", "plan", "record"},
    "report": {"base", "config", "network", "plan", "record", "measure"},
}
MAY_INCLUDE["doctor"] = set(MAY_INCLUDE)
MAY_INCLUDE["app"] = set(MAY_INCLUDE) | {"app"}

VENDOR = re.compile(r"^(torch|ATen|c10|caffe2|cuda|cub|thrust|nv|nccl|cudnn|mpi\.h|opencv2|yaml-cpp|onnx/|google/)")
# No rank, no device, no image: testable in one process.
PURE = {"base", "config", "network", "plan", "record", "measure", "report"}
# The CUDA runtime itself, which the backends of comm and engine call too.
SHARED_BACKEND = "src/device/cuda/check.hpp"
YAML_READER = "src/config/yaml/"

# What an embedding program calls, and base, which all layers share, are in `pb` itself.
IN_PB = ("src/base/", "include/patchbench/base/", "src/run/denoise_image.cpp")
NAMESPACE = re.compile(r"^namespace pb(?:::(\w+))?\b")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
CONDITIONAL = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif|else)\b")
SOURCES = {".hpp", ".cpp", ".cu", ".cuh", ".h"}
FOLDERS = ("include", "src", "tests", "benchmarks")


def layer_of(path):
    """The layer of a file, by its path in the project; None for tests and benchmarks."""
    parts = pathlib.PurePosixPath(path).parts
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    if parts[:2] == ("include", "patchbench") and len(parts) > 3:
        return parts[2]
    return None


def find_included(root, path, header):
    """The project's file that `#include "header"` means in `path`, as <layer>/<rest>; None for others' headers."""
    beside = (root / path).parent / header
    candidates = [beside, root / "include" / header, root / "src" / header]
    for candidate in candidates:
        if candidate.is_file():
            relative = candidate.resolve().relative_to(root.resolve()).as_posix()
            return re.sub(r"^(include/patchbench|src)/", "", relative) if layer_of(relative) else None
    named = re.match(r"(?:patchbench/)?(\w+)/", header)  # a header that is missing still has a layer
    return header.removeprefix("patchbench/") if named and named[1] in MAY_INCLUDE else None


def check_own(path, included):
    layer, other = layer_of(path), included.split("/")[0]
    allowed = MAY_INCLUDE[layer]
    if other == layer or other in allowed:
        return None
    return f"{layer} may not include {included}; it may include {', '.join(sorted(allowed)) or 'the standard library only'}"


def check_public(root, path, included):
    """A program that embeds patchbench has the headers in include/ and no others."""
    if path.startswith("include/") and not (root / "include/patchbench" / included).is_file():
        return f"{included} is not installed: public headers may include headers in include/patchbench only"
    return None


def check_namespace(path, line):
    """A layer's names are in the namespace of the layer."""
    opened = NAMESPACE.match(line)
    layer = None if path.startswith(IN_PB) else layer_of(path)
    if not path.startswith("tests/") and opened and layer in MAY_INCLUDE and opened[1] != layer:
        return f"namespace pb::{layer} is the namespace of this layer"
    return None


def check_vendor(path, header, seen_elsewhere):
    if VENDOR.match(header) and path != SHARED_BACKEND and (path.startswith("include/") or path in seen_elsewhere):
        return f"vendor header <{header}> in a header that another layer includes: hide it in a .cpp"
    if header.startswith("yaml-cpp") and path.startswith("src/") and not path.startswith(YAML_READER):
        return f"yaml-cpp belongs into {YAML_READER} only"
    if layer_of(path) in PURE and not path.startswith(YAML_READER) and VENDOR.match(header):
        return f"{layer_of(path)} is pure and may not see <{header}>"
    return None


def find_seen_elsewhere(root, paths):
    """The headers that a file of another layer includes, itself or through other headers."""
    includes = {path: list(included_files(root, path)) for path in paths}
    seen = set()
    todo = [other for path in paths if layer_of(path) for other in includes[path] if layer_of(other) != layer_of(path)]
    while todo:
        path = todo.pop()
        if path not in seen:
            seen.add(path)
            todo += includes.get(path, [])
    return seen


def included_files(root, path):
    """The layers' files that `path` includes, as paths in the project."""
    for line in (root / path).read_text().splitlines():
        include = INCLUDE.match(line)
        included = include and find_included(root, path, include[2])
        for folder in ("src", "include/patchbench") if included else ():
            if (root / folder / included).is_file():
                yield f"{folder}/{included}"


def check_file(root, path, seen_elsewhere):
    """Yields (line, message) for each violation in one file."""
    layer = layer_of(path)
    if layer is not None and layer not in MAY_INCLUDE:
        yield 1, f"'{layer}' is no layer; there are: {', '.join(MAY_INCLUDE)}"
        return
    for number, line in enumerate((root / path).read_text().splitlines(), start=1):
        if CONDITIONAL.match(line):
            yield number, "conditional compilation: make it another .cpp that CMake chooses"
        if outside := check_namespace(path, line):
            yield number, outside
        include = INCLUDE.match(line)
        if not include:
            continue
        included = find_included(root, path, include[2])
        message = check_own(path, included) if layer and included else check_vendor(path, include[2], seen_elsewhere)
        message = message or (included and check_public(root, path, included))
        if message:
            yield number, message


def check(root):
    """All violations under `root`, as `file:line: message`. What tests install (.venv) is somebody else's."""
    files = [file.relative_to(root) for folder in FOLDERS for file in sorted((root / folder).rglob("*"))]
    files = [file.as_posix() for file in files if file.suffix in SOURCES and ".venv" not in file.parts]
    seen_elsewhere = find_seen_elsewhere(root, files)
    return [f"{path}:{line}: {message}" for path in files for line, message in check_file(root, path, seen_elsewhere)]


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    violations = check(root)
    print("\n".join(violations) if violations else "layers: every include is allowed")
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    main()
