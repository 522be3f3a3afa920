#!/usr/bin/env bash
# From a bare machine to a denoised photograph and a table of figures: sets up, builds the program and runs
# configs/quickstart.yaml on every GPU, or on 2 CPU ranks. Options go to `patchbench run`.
set -euo pipefail
# shellcheck source=launch/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

for option in "$@"; do
    case $option in -h | --help)
        sed -n '2,3s/^# //p' "${BASH_SOURCE[0]}"
        exit 0
        ;;
    esac
done
cd "$root"
launch/setup.sh --target patchbench
data/get_photos.sh
exec launch/ranks.sh auto build/patchbench run configs/quickstart.yaml --out results/quickstart "$@"
