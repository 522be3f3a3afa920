#!/usr/bin/env bash
# Installs Chromium (the distribution's package), in which tests/page opens report.html. Needs root or sudo and, once,
# the network. A second call does nothing. Without a browser the test is skipped. PATCHBENCH_CHROMIUM names another
# browser.
set -euo pipefail

for browser in "${PATCHBENCH_CHROMIUM:-chromium}" chromium-browser google-chrome; do
    # On Ubuntu, chromium-browser without its snap is a script that only prints a message.
    if "$browser" --version 2>/dev/null | grep -qE '^(Chromium|Google Chrome) '; then exit 0; fi
done
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo -n)
"${as_root[@]}" apt-get update -qq 2>/dev/null || true
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    chromium fonts-dejavu-core >/dev/null 2>&1 || {
    echo "error: the package chromium could not be installed (no root, no network, or a distribution without it);" \
        "PATCHBENCH_CHROMIUM=<program> uses another Chromium" >&2
    exit 1
}
