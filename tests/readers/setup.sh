#!/usr/bin/env bash
# Makes tests/readers/.venv with tifffile and OpenCV from PyPI, which read what all ranks wrote together and write what
# is read by windows, and with ONNX Runtime, which computes exported networks. Needs the network once; a second call does
# nothing. Without them the tests are skipped.
set -euo pipefail
venv=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/.venv
requirements=(numpy==2.2.6 tifffile==2025.5.10 opencv-python-headless==4.11.0.86 imagecodecs==2025.3.30
              onnx==1.20.1 onnxruntime==1.24.4)
mark=$venv/installed

if [ "$(cat "$mark" 2>/dev/null)" = "${requirements[*]}" ]; then exit 0; fi
python3 -m venv "$venv" || {
    echo "error: no Python module venv: install python3-venv" >&2
    exit 1
}
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check "${requirements[@]}" || {
    echo "error: ${requirements[*]} could not be installed from PyPI: is there a network?" >&2
    exit 1
}
echo "${requirements[*]}" >"$mark"
