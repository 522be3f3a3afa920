"""The copy of the project that holds the faults: build-mutants/tree, made once and brought up to date by each call."""

import json
import os
import pathlib
import shutil
import subprocess

from faults import Refused, plant

HEADER = pathlib.Path(__file__).with_name("mutant_is_on.hpp")
KEPT = ("build", ".venv", ".engines")  # of the copy itself


def project_files(root):
    """Tracked files and those that git does not ignore."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            check=True, capture_output=True).stdout
    return sorted(name for name in os.fsdecode(listed).split("\0") if name and (root / name).is_file())


def write_if_changed(path, content):
    """What did not change keeps its time, so that it is not built again."""
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def make_tree(root, faults):
    """Copies the project and plants `faults` in the copy. Returns its folder."""
    tree = root / "build-mutants" / "tree"
    names = project_files(root)
    remove_others(tree, names)
    for name in names:
        here = [place for fault in faults for place in fault.places if place.file == name]
        content = (root / name).read_bytes()
        if here:
            header = os.path.relpath(tree / HEADER.name, (tree / name).parent)
            content = plant(content.decode(), here, header).encode()
        write_if_changed(tree / name, content)
        shutil.copymode(root / name, tree / name)
    write_if_changed(tree / HEADER.name, HEADER.read_bytes())
    for installed in (root / ".venv", root / ".engines", *root.glob("tests/*/.venv")):
        link = tree / installed.relative_to(root)
        if installed.exists() and not link.exists():
            link.symlink_to(installed)
    return tree


def remove_others(tree, names):
    wanted = set(names) | {HEADER.name}
    for folder, folders, files in os.walk(tree):
        inside = pathlib.Path(folder).relative_to(tree)
        if inside == pathlib.Path("."):
            folders[:] = [name for name in folders if name not in KEPT]
        for name in files:
            if (inside / name).as_posix() not in wanted and name not in KEPT:
                (pathlib.Path(folder) / name).unlink()


def build(tree, targets, quiet=False):
    """By the project's own set-up, so that it finds LibTorch and fills and uses ccache as any build does."""
    has_torch = (tree / ".venv").exists() or "PATCHBENCH_TORCH" in os.environ
    if not has_torch and (tree / "cmake/LibTorch.cmake").exists():
        raise Refused("no .venv and no PATCHBENCH_TORCH: run launch/setup.sh first")
    command = [tree / "launch/setup.sh", "--no-packages", "--preset", "ci"]
    for target in targets:
        command += ["--target", target]
    result = subprocess.run(command, cwd=tree, check=False, text=True, capture_output=quiet)
    if result.returncode != 0:
        said = result.stderr if quiet else ""
        raise Refused(said + "the copy with the faults does not build; a fault must compile without warnings")


def list_tests(tree):
    """What ctest knows of the tests, by name."""
    shown = subprocess.run(["ctest", "--test-dir", tree / "build", "--show-only=json-v1"], check=True,
                           capture_output=True, text=True).stdout
    tests = {}
    for test in json.loads(shown)["tests"]:
        test["properties"] = {entry["name"]: entry["value"] for entry in test.get("properties", [])}
        tests[test["name"]] = test
    return tests


def targets_of(tests, tree):
    """What must be built for `tests`: programs and libraries in their commands. A command whose program is not built yet
    is not shown; the target then has the name of the test. What a set-up is given besides its program is what it makes."""
    build_folder = str(tree / "build") + os.sep
    targets = set()
    for test in tests:
        if not test.get("command"):
            targets.add(test["name"])
        is_setup = "FIXTURES_SETUP" in test["properties"]
        for word in test.get("command", [])[:1 if is_setup else None]:
            if word.startswith(build_folder) and os.path.splitext(word)[1] in ("", ".so"):
                targets.add(os.path.relpath(word, build_folder))
    return sorted(targets)
