#!/usr/bin/env bash
# tests/neon/run.sh FOLDER: the kernels of the engine native and the conversion of samples for NEON, compiled into FOLDER by a
# cross compiler and run by QEMU, beside sums in double precision and the definition. Highway's choice at run time is left
# out: it takes the instruction set of the build.
set -euo pipefail
# shellcheck source=launch/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../launch/common.sh"

compiler=aarch64-linux-gnu-g++
emulator=qemu-aarch64
for program in "$compiler" "$emulator"; do
    command -v "$program" >/dev/null || { echo "skipped: there is no $program (tests/neon/setup.sh)"; exit 77; }
done
mkdir -p "$1"
cd "$root"
# Headers without code of this machine come after those of the other one.
compile() {
    $compiler -std=c++20 -O2 -Wall -Wextra -Wshadow -Wno-missing-field-initializers -Werror -static \
        -DHWY_COMPILE_ONLY_STATIC -Iinclude -Isrc -idirafter "$(pkg-config --variable=includedir libhwy)" \
        -ffunction-sections -Wl,--gc-sections "$@"
}
compile src/engine/native/{kernels,packed_weights,network}.cpp src/network/native_layout.cpp src/base/half.cpp \
    tests/neon/kernels_program.cpp -o "$1/kernels_program"
$emulator "$1/kernels_program"
compile -ffp-contract=off src/device/rows.cpp tests/neon/rows_program.cpp -o "$1/rows_program"
$emulator "$1/rows_program"
