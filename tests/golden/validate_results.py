#!/usr/bin/env python3
"""Validates every line of results.jsonl files against docs/results.schema.json, and the order of the lines.

usage: tests/golden/validate_results.py [--probe-schema] FILE...
--probe-schema also checks that the schema refuses each line with a key left out or an unknown key added.
Exit code 1 and a line per violation when there are any; 77 without jsonschema (tests/golden/setup.sh installs it).
"""

import argparse
import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
SCHEMA = HERE.parent.parent / "docs" / "results.schema.json"
VENV_PYTHON = HERE / ".venv" / "bin" / "python"


def import_jsonschema():
    try:
        import jsonschema

        return jsonschema
    except ImportError:
        if VENV_PYTHON.exists() and pathlib.Path(sys.prefix) != VENV_PYTHON.parent.parent:
            os.execv(VENV_PYTHON, [str(VENV_PYTHON), *sys.argv])
        print("skipped: no jsonschema; run tests/golden/setup.sh")
        sys.exit(77)


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def order_errors(types):
    if types[:1] != ["study"]:
        yield "the first line must be the study"
    if "study" in types[1:]:
        yield "only the first line may be a study"
    if "study_summary" in types and "point" in types[types.index("study_summary"):]:
        yield "no point may follow what the points say together"
    if "end" in types[:-1]:
        yield "nothing may follow the end"


def mutants(line):
    """The line with each key left out in turn, and with one too many."""
    for key in line:
        yield f"without {key}", {k: v for k, v in line.items() if k != key}
    yield "with an unknown key", {**line, "surprise": 1}


def deepest(error):
    """Of the three kinds of line, the complaint about the one that this line says it is."""
    own_kind = [e for e in error.context or [] if "type" not in e.absolute_path]
    return deepest(max(own_kind, key=lambda e: len(e.absolute_path))) if own_kind else error


def errors_of(validator, text, probe_schema):
    try:
        line = json.loads(text, parse_constant=refuse_constant)
    except ValueError as error:
        return None, [f"not JSON: {error}"]
    found = [f"{deepest(e).json_path}: {deepest(e).message}" for e in validator.iter_errors(line)]
    if probe_schema and not found:
        found = [f"the schema accepts it {how}" for how, mutant in mutants(line) if validator.is_valid(mutant)]
    return line, found


def check_file(validator, path, probe_schema):
    types = []
    found = []
    for number, text in enumerate(pathlib.Path(path).read_text(encoding="utf-8").splitlines(), start=1):
        line, errors = errors_of(validator, text, probe_schema)
        found += [f"{path}:{number}: {error}" for error in errors]
        types.append(line.get("type") if isinstance(line, dict) else None)
    return found + [f"{path}: {error}" for error in order_errors(types)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--probe-schema", action="store_true")
    arguments = parser.parse_args()
    jsonschema = import_jsonschema()
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    found = [e for path in arguments.files for e in check_file(validator, path, arguments.probe_schema)]
    print("\n".join(found) if found else f"{len(arguments.files)} file(s) valid")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
