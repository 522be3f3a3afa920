#!/usr/bin/env bash
# Runs a peer script with the Python that tests/peer/setup.sh made; exits with 77 (skipped) where there is none.
set -euo pipefail
folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=$folder/../../.venv/peer/bin/python
if [ ! -e "$folder/../../.venv/peer/installed" ]; then
    echo "skipped: deepinv is not installed; run tests/peer/setup.sh once (needs a network)"
    exit 77
fi
exec "$python" -W ignore "$@"
