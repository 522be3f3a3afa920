#!/usr/bin/env bash
# Photographs for tests and examples, out of the scikit-image wheel on PyPI, into data/photos/ (see data/README.md).
set -euo pipefail
# shellcheck source=launch/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../launch/common.sh"

photos=$root/data/photos
checksums='38a07f36f27f095e818aea7b96d34202c05176d30253c66733f2e00379e9e0e6  retina.jpg
88431cd9653ccd539741b555fb0a46b61558b301d4110412b5bc28b5e3ea6cb5  astronaut.png
cc02f8ca188b167c775a7101b5d767d1e71792cf762c33d6fa15a4599b5a8de7  coffee.png
596aa1e7cb875eb79f437e310381d26b338a81c2da23439704a73c4651e8c4bb  chelsea.png'

complete() { (cd "$1" 2>/dev/null && sha256sum --check --status <<<"$checksums" 2>/dev/null); }

complete "$photos" && exit

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=$root/.venv/bin/python
if [ ! -x "$python" ]; then
    python3 -m venv "$work/venv" || die "no Python environment could be made: install python3-venv"
    python=$work/venv/bin/python
fi
say "fetching photographs into data/photos"
# One fixed file, whatever Python runs here: it is unpacked, never installed.
"$python" -m pip download -q --retries 2 --no-deps --only-binary=:all: --implementation cp --python-version 3.12 \
    --platform manylinux2014_x86_64 --dest "$work" scikit-image==0.25.2 >"$work/log" 2>&1 ||
    die "the photographs could not be fetched: PyPI (scikit-image==0.25.2) is not reachable, connect to a network"
"$python" - "$work"/*.whl "$work/photos" <<'PY'
import pathlib, sys, zipfile
wheel, folder = zipfile.ZipFile(sys.argv[1]), pathlib.Path(sys.argv[2])
folder.mkdir()
for name in ("retina.jpg", "astronaut.png", "coffee.png", "chelsea.png"):
    (folder / name).write_bytes(wheel.read(f"skimage/data/{name}"))
PY
complete "$work/photos" || die "the photographs of scikit-image==0.25.2 are not those expected (sha256 differs)"
mkdir -p "$photos"
cp "$work"/photos/* "$photos"
