#!/usr/bin/env bash
# Makes tests/contrib/.venv with other people's programs that read patchbench's output: ReFrame from PyPI; JUBE and Google
# Benchmark's compare.py, which are not there, from Debian or Ubuntu packages that are unpacked and not installed.
# Needs the network once; a second call does nothing. Without it the tests that run them are skipped.
set -euo pipefail
venv=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/.venv
packages=(reframe-hpc==4.10.4 scipy==1.15.3 PyYAML==6.0.3) # scipy: compare.py; PyYAML: JUBE
archives=(jube libbenchmark-tools)
mark=$venv/installed

die() {
    echo "error: $*; the tests of launch/contrib will be skipped" >&2
    exit 1
}

if [ "$(cat "$mark" 2>/dev/null)" = "${packages[*]} ${archives[*]}" ]; then exit 0; fi
python3 -m venv "$venv" || die "no Python module venv: install python3-venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check "${packages[@]}" ||
    die "${packages[*]} could not be installed from PyPI: is there a network?"
command -v apt-get >/dev/null || die "no apt-get to fetch ${archives[*]} with"
mkdir -p "$venv/debian"
cd "$venv/debian"
apt-get download --quiet --quiet "${archives[@]}" || die "${archives[*]} could not be fetched: run apt-get update"
for archive in *.deb; do dpkg-deb --extract "$archive" .; done
rm -- *.deb
echo "${packages[*]} ${archives[*]}" >"$mark"
