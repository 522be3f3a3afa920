#!/usr/bin/env bash
# In a bundle this file is `patchbench` and `mpirun`: starts the program of that name with what it needs around it.
set -euo pipefail
# shellcheck source=launch/bundle_env.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/bin/env.sh"
exec "$bundle/bin/$(basename "$0")" "$@"
