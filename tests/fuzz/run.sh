#!/usr/bin/env bash
# Feeds damaged files to the readers: tests/fuzz/run.sh [--seconds S] [--seed N] [--results FILE] [reader]...
#   --seconds S     for each reader, default 60
#   --seed N        the same damage each time, as far as the time goes; default: other damage each time
#   --results FILE  a results.jsonl to start from, default build/tests/golden/results.jsonl (ctest -R write_results)
#   reader          yaml, checkpoint, onnx, image, results; default: all
# Exit code 77 where clang 14 is absent (launch/setup.sh --checks installs it). Findings are left in build-fuzz/findings;
# build-fuzz/<reader>_fuzz FILE shows one again.
set -euo pipefail
# shellcheck source=launch/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../launch/common.sh"

seconds=60 seed=0 results=$root/build/tests/golden/results.jsonl readers=()
while [ $# -gt 0 ]; do
    case $1 in
        --seconds) seconds=$2; shift ;;
        --seed) seed=$2; shift ;;
        --results) results=$2; shift ;;
        yaml | checkpoint | onnx | image | results) readers+=("$1") ;;
        *) sed -n '2,8s/^# //p' "$0" >&2; exit 2 ;;
    esac
    shift
done
[ ${#readers[@]} -gt 0 ] || readers=(yaml checkpoint onnx image results)
[[ $seconds =~ ^[1-9][0-9]*$ ]] || die "--seconds $seconds: a whole number from 1 is expected (libFuzzer takes 0 as no limit)"

command -v clang++-14 >/dev/null || { echo "skipped: clang++-14 is missing (launch/setup.sh --checks installs it)"; exit 77; }
[ -e "$(clang++-14 -print-file-name="libclang_rt.fuzzer-$(uname -m).a")" ] || { echo "skipped: clang++-14 has no libFuzzer"; exit 77; }
[ -e "$results" ] || die "$results is missing: ctest --test-dir build -R write_results makes it"

build=$root/build-fuzz
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1 # as launch/setup.sh
quietly() { # log, command..
    local log=$1
    shift
    "$@" >"$log" 2>&1 || { cat "$log"; die "$* failed"; }
}
mkdir -p "$build/findings"
cd "$root"
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache) || launcher=()
quietly "$build/configure.log" cmake --preset fuzz "${launcher[@]}"
quietly "$build/build.log" cmake --build "$build" -j "$(nproc)"
python3 tests/fuzz/make_corpus.py "$build/corpus" "$results"

export UBSAN_OPTIONS=print_stacktrace=1
fuzz() { # reader
    local corpus=$build/corpus/$1 log=$build/$1.log
    PATCHBENCH_FUZZ_WHOLE=1 "$build/$1_fuzz" "$corpus"/* >"$log" 2>&1 || return # what it starts from is read without an error
    say "$1: $seconds s from $(find "$corpus" -type f | wc -l) files"
    "$build/$1_fuzz" -max_total_time="$seconds" -seed="$seed" -timeout=25 -rss_limit_mb=3000 -dict="$corpus.words" \
        -print_final_stats=1 -artifact_prefix="$build/findings/$1-" "$corpus" >"$log" 2>&1 || return
    grep -E '^Done|DONE' "$log"
}
found=()
for reader in "${readers[@]}"; do
    fuzz "$reader" || { found+=("$reader"); tail -60 "$build/$reader.log"; }
done
[ ${#found[@]} -eq 0 ] || die "findings in: ${found[*]} ($build/findings)"
