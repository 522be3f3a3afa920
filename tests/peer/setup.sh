#!/usr/bin/env bash
# Makes .venv/peer: deepinv beside the torch that patchbench is built on, for the peer tests and the comparison of speed.
# Torch (4.6 GB) is not installed again: a .pth file points to where it is. Of deepinv only the files of three networks
# are imported (networks.py), which need numpy and nothing else of its twelve requirements. Needs a network once.
set -euo pipefail
# shellcheck source=launch/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../launch/common.sh"

peer=$root/.venv/peer
requirements=(deepinv==0.5.0 numpy==2.2.6) # this numpy has wheels for Python 3.10 to 3.13
mark=$peer/installed
if [ "$(cat "$mark" 2>/dev/null)" = "${requirements[*]}" ]; then exit 0; fi

torch=${PATCHBENCH_TORCH:-$(echo "$root"/.venv/lib/python3*/site-packages/torch)}
[ -d "$torch" ] || die "there is no torch in '$torch': run launch/setup.sh, or set PATCHBENCH_TORCH=<torch folder>"
site=$(dirname "$torch")
python=$(basename "$(dirname "$site")") # site is <prefix>/lib/python3.N/site-packages
[ -x "$root/.venv/bin/$python" ] && python=$root/.venv/bin/$python
command -v "$python" >/dev/null || die "$torch belongs to $python, which is not on PATH"

"$python" -m venv "$peer"
"$peer/bin/pip" install --quiet --no-deps "${requirements[@]}" ||
    die "deepinv could not be installed (no network?): the peer tests will be skipped"
echo "$site" >"$("$peer/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch.pth"
echo "${requirements[*]}" >"$mark"
