#!/usr/bin/env bash
# Installs Slurm's programs for slurm_test.py (Debian, Ubuntu; as root). Nothing is configured here, so that no service of
# Slurm starts; the test brings a configuration of its own. A machine that has a Slurm is left as it is.
set -euo pipefail
# shellcheck source=launch/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../launch/common.sh"

has_all() { command -v slurmctld && command -v slurmd && command -v srun && command -v munged; }

if has_all >/dev/null || [ -e /etc/slurm/slurm.conf ]; then exit 0; fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then die "Slurm is installed by root with apt-get only"; fi
say "installing Slurm for the tests"
apt-get update -qq >/dev/null 2>&1 || true # a broken third-party source is no reason to stop
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends slurmctld slurmd slurm-client munge \
    >/dev/null 2>&1 || die "slurmctld, slurmd, slurm-client, munge could not be installed (no network?)"
