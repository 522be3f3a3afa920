#!/usr/bin/env bash
# Builds and runs every test that this machine can run: tests/run.sh [--quick]
# Then the unit and MPI tests again under the address and undefined behaviour sanitizers, which --quick leaves out.
# Ends with what was skipped and why, and `N passed, N failed, N skipped`.
set -euo pipefail
# shellcheck source=launch/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../launch/common.sh"

quick=0
case ${1:-} in
    '') ;;
    --quick) quick=1 ;;
    *) sed -n '2,4s/^# //p' "$0" >&2; exit 2 ;;
esac

# Runs tests of a build folder and leaves their results in <folder>/<name>.xml, which summarise.py counts.
results=()
ctest_failed=0
run_tests() { # folder, name, options of ctest..
    local folder=$1 result=$1/$2.xml run="${1##*/} $2"
    shift 2
    rm -f "$result"
    say "tests: $run"
    # One more than there are processors: tests wait for processes to start and to end.
    ctest --test-dir "$folder" -j "$(($(nproc) + 1))" --output-on-failure --no-tests=error --output-junit "$result" \
        --test-output-size-passed 1000000 "$@" || ctest_failed=1
    [ -e "$result" ] || die "ctest ran no test in $folder ($run)"
    results+=("$run=$result")
}

cd "$root"
export GOMP_SPINCOUNT=${GOMP_SPINCOUNT:-1000} # tests, and other people's programs in them, share the processors
launch/setup.sh
data/get_photos.sh
# Other people's programs, to compare with or to run under; without a network their tests skip and say so.
tests/peer/setup.sh || true
tests/golden/setup.sh || true
tests/contrib/setup.sh || true
tests/cluster/setup.sh || true
tests/page/setup.sh || true
tests/readers/setup.sh || true
tests/neon/setup.sh || true
run_tests "$root/build" all

if [ $quick = 0 ]; then
    launch/setup.sh --preset sanitize --target pb_sanitized_tests
    export UBSAN_OPTIONS=print_stacktrace=1
    # The run above has them all. Here whole UNets and DRUNets are left out, of which the same programs run small relatives, and
    # all frameworks but onnxruntime, whose processes are called in the same way.
    export GTEST_FILTER='-*/unet:*/drunet:*Published*:*/pytorch:*/tensorflow:*/jax'
    # The runtime of GCC 12 takes some thread-local blocks of libraries that were loaded late for those of an old C library, by
    # their address, and the search for leaks then crashes at the end of a program now and then: it is not to look at them.
    sanitizers=detect_stack_use_after_return=1:intercept_tls_get_addr=0
    ASAN_OPTIONS=$sanitizers run_tests "$root/build-sanitize" unit -L '^unit$'
    # Open MPI leaks, and unloads its plugins before the leaks are looked up, so that they cannot be told from ours.
    # One rank count of each: the others take the same lines.
    ASAN_OPTIONS=$sanitizers:detect_leaks=0 run_tests "$root/build-sanitize" mpi -L '^mpi$' -L '^sanitized$'
fi

say "results of all runs"
python3 tests/summarise.py "${results[@]}"
[ $ctest_failed = 0 ] || die "ctest reported a failure that its results do not show"
