#!/usr/bin/env bash
# Makes tests/golden/.venv with jsonschema from PyPI, which validates results.jsonl against docs/results.schema.json.
# Needs the network once; a second call does nothing. Without it the validating test is skipped.
set -euo pipefail
venv=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/.venv
version=4.25.1

if "$venv/bin/python" -c "import importlib.metadata as m; assert m.version('jsonschema') == '$version'" 2>/dev/null; then
    exit 0
fi
python3 -m venv "$venv" || {
    echo "error: no Python module venv: install python3-venv" >&2
    exit 1
}
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check "jsonschema==$version" || {
    echo "error: jsonschema $version could not be installed from PyPI: is there a network?" >&2
    exit 1
}
