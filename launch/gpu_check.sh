#!/usr/bin/env bash
# The one command for a machine with a GPU, from a bundle or a checkout: in at most 560 s it checks the program, runs the
# GPU tests, short studies and a comparison with plain PyTorch, and leaves gpu_check_summary.md, written again after each
# step, and gpu_check.tar.gz with everything in the folder --out (default: results/gpu_check). The summary in short is
# printed last. All other files lie in --logs (default: --out).
#   launch/gpu_check.sh [--out DIR] [--logs DIR] [--device cuda|cpu] [--budget SECONDS]
# A checkout uses its own build where that runs here, else the newest bundle in dist/. LibTorch is found through
# PATCHBENCH_TORCH or python3. --device cpu runs every step in a tiny size: it tests this script. Exit code 1 when
# anything failed.
set -euo pipefail
# shellcheck source=launch/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

python=python3
case ${1:-} in
    -h | --help) sed -n '2,10s/^# //p' "$0"; exit ;;
esac

unpack_newest_bundle() {
    local archive='' file
    for file in "$root"/dist/patchbench-*.tar.xz; do
        if [ -e "$file" ] && [ "$file" -nt "$archive" ]; then archive=$file; fi # newer than a file that is not there
    done
    [ -n "$archive" ] ||
        die "no build that runs here and no bundle in dist/: run launch/setup.sh, or copy a bundle (launch/bundle.sh) there"
    unpacked=$(mktemp -d -t patchbench.XXXXXX)
    trap 'rm -rf "$unpacked"' EXIT
    say "unpacking $archive"
    "$python" -m tarfile -e "$archive" "$unpacked" # xz need not be installed
    kit=$(echo "$unpacked"/patchbench-*)
}

build_runs() { "$root/build/patchbench" --version >/dev/null 2>&1 && [ -x "$root/build/benchmarks/forward_server" ]; }

command -v "$python" >/dev/null || die "python3 is missing"
if [ -e "$root/bin/env.sh" ]; then
    kit=$root # this is a bundle: common.sh has set the environment
elif build_runs; then
    kit=$root
    if [ -x "$root/.venv/bin/python" ] && [ -z "${PATCHBENCH_TORCH:-}" ]; then python=$root/.venv/bin/python; fi
else
    unpack_newest_bundle
    # shellcheck source=launch/bundle_env.sh
    . "$kit/bin/env.sh"
fi
"$python" "$root/launch/gpu_check.py" --kit "$kit" --spent "$SECONDS" "$@" # unpacking belongs to the budget
