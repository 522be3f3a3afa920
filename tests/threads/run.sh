#!/usr/bin/env bash
# tests/threads/run.sh PROGRAM MODE. The thread sanitizer of GCC 12 and 13 needs its addresses free, which more than 28
# random bits of them do not grant: without randomness where that is allowed.
set -euo pipefail
if setarch -R true 2>/dev/null; then exec setarch -R "$@"; fi
bits=$(cat /proc/sys/vm/mmap_rnd_bits)
[ "$bits" -le 28 ] || { echo "skipped: addresses have $bits random bits, and setarch -R is not allowed"; exit 77; }
exec "$@"
