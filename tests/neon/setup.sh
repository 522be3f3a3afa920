#!/usr/bin/env bash
# Installs a compiler for ARM processors and QEMU for the test of the kernels for NEON (Debian, Ubuntu; as root).
set -euo pipefail
# shellcheck source=launch/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../launch/common.sh"

if command -v aarch64-linux-gnu-g++ >/dev/null && command -v qemu-aarch64 >/dev/null; then exit 0; fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then die "a cross compiler is installed by root with apt-get only"; fi
say "installing a compiler for ARM and QEMU for the tests"
apt-get update -qq >/dev/null 2>&1 || true # a broken third-party source is no reason to stop
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends g++-aarch64-linux-gnu qemu-user \
    >/dev/null 2>&1 || die "g++-aarch64-linux-gnu, qemu-user could not be installed (no network?)"
