#!/usr/bin/env bash
# Makes .engines/<engine>: a Python environment with pinned packages for each engine that runs in a process of its own
# (docs/engines.md). A second call skips what is there. Needs a network.
set -euo pipefail
# shellcheck source=launch/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

engines=(onnxruntime openvino pytorch tensorflow jax)
folder=${PATCHBENCH_ENGINES:-$root/.engines}
gpu=

usage() {
    cat <<'TEXT'
usage: launch/engines.sh [--only ENGINE[,ENGINE]...] [--gpu]
  --only E,..   onnxruntime (180 MB), openvino (280 MB), pytorch (100 MB beside LibTorch), tensorflow (1.6 GB),
                jax (630 MB); all of them when it is left out
  --gpu         builds for CUDA 13 of onnxruntime, tensorflow and jax, several GB each (pytorch has it); never run on a GPU
Environments lie in .engines, or in the folder that PATCHBENCH_ENGINES names.
TEXT
}

gpu_requirements_of() { # engine
    case $1 in
        onnxruntime) echo "onnxruntime-gpu[cuda,cudnn]==1.31.1 numpy==2.2.6" ;;
        tensorflow) echo "tensorflow[and-cuda]==2.21.0 numpy==2.2.6" ;;
        jax) echo "jax[cuda13]==0.10.2 jaxlib==0.10.2 numpy==2.2.6" ;;
        *) requirements_of "$1" ;;
    esac
}

requirements_of() { # engine
    case $1 in
        onnxruntime) echo onnxruntime==1.32.0 numpy==2.2.6 ;;
        openvino) echo openvino==2026.4.1 numpy==2.2.6 ;;
        pytorch) echo numpy==2.2.6 ;;
        tensorflow) echo tensorflow-cpu==2.21.0 numpy==2.2.6 ;;
        jax) echo jax==0.10.2 jaxlib==0.10.2 numpy==2.2.6 ;;
        *) die "there is no engine '$1': choose from ${engines[*]}" ;;
    esac
}

# PyTorch is not installed again: a .pth file points to the one that patchbench is built on.
find_torch_site() {
    local torch=${PATCHBENCH_TORCH:-$(echo "$root"/.venv/lib/python3*/site-packages/torch)}
    [ -d "$torch" ] || die "there is no torch in '$torch': run launch/setup.sh, or set PATCHBENCH_TORCH=<torch folder>"
    dirname "$(cd "$torch" && pwd)"
}

python_for() { # engine
    local python=python3 site
    if [ "$1" = pytorch ]; then
        site=$(find_torch_site)
        python=$(basename "$(dirname "$site")") # site is <prefix>/lib/python3.N/site-packages
        [ -x "$root/.venv/bin/$python" ] && python=$root/.venv/bin/$python
    fi
    command -v "$python" >/dev/null || die "the engine $1 needs $python, which is not on PATH"
    echo "$python"
}

install() { # engine
    local engine=$1 requirements installed environment python site='' beside=''
    if [ "$engine" = pytorch ]; then # another LibTorch needs another environment
        site=$(find_torch_site)
        beside=" beside $site"
    fi
    requirements=$(requirements_of "$engine")
    environment=$folder/$engine
    installed=$(cat "$environment/installed" 2>/dev/null || true)
    [ "$installed" = "$(gpu_requirements_of "$engine")$beside" ] && return # it runs on a CPU, too
    if [ -n "$gpu" ]; then
        requirements=$(gpu_requirements_of "$engine")
    fi
    [ "$installed" = "$requirements$beside" ] && return
    python=$(python_for "$engine")
    say "installing the engine $engine into $environment: $requirements"
    rm -rf "$environment"
    "$python" -m venv "$environment" || die "cannot make $environment: install python3-venv, or give write permission"
    # shellcheck disable=SC2086 # one word a requirement
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-cache-dir $requirements ||
        die "$engine could not be installed from PyPI (no network?): what is missing is pip install $requirements"
    if [ -n "$site" ]; then
        echo "$site" >"$("$environment/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch.pth"
    fi
    echo "$requirements$beside" >"$environment/installed"
}

while [ $# -gt 0 ]; do
    case $1 in
        --only)
            [ $# -ge 2 ] || die "--only needs a value (--help lists the options)"
            IFS=, read -r -a engines <<<"$2"
            shift
            ;;
        --gpu) gpu=yes ;;
        -h | --help) usage; exit ;;
        *) usage >&2; exit 2 ;;
    esac
    shift
done
for engine in "${engines[@]}"; do install "$engine"; done
