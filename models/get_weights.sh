#!/usr/bin/env bash
# Fetches the official weights named in models/*.yaml: models/get_weights.sh [name]... (default: all of them)
# Their sha256 is checked where the yaml file gives it, printed, and recorded in models/downloaded.sha256; a later call
# checks what is there against that record.
set -euo pipefail
# shellcheck source=launch/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../launch/common.sh"

cd "$root/models"
record=downloaded.sha256
partial=
trap '[ -z "$partial" ] || rm -f "$partial"' EXIT

# name, file, url and sha256 of each weight that has a url, a line each.
official() {
    awk '/^  - name:/ { name = $3 } /^    file:/ { file = $2 } /^    url:/ { url = $2 }
         /^    sha256:/ && url != "null" { print name, file, url, $2 }' ./*.yaml
}

fetch() { # file, url
    local complaint
    partial=$1.part
    say "fetching $2"
    complaint=$(curl --fail --silent --show-error --location --retry 2 --connect-timeout 20 --output "$partial" "$2" 2>&1) ||
        die "$1 could not be fetched from $2 (${complaint##*$'\n'}): connect to a network, or copy the file to models/"
}

take() { # name, file, url, sha256 or null
    local expected=$4 found
    [ "$expected" != null ] || expected=$(awk -v file="$2" '$2 == file { print $1 }' "$record" 2>/dev/null || true)
    [ -e "$2" ] || fetch "$2" "$3"
    found=$(sha256sum "${partial:-$2}" | cut -d ' ' -f 1)
    [ -z "$expected" ] || [ "$found" = "$expected" ] ||
        die "models/$2 has sha256 $found, expected $expected: remove the file (a changed upstream file: also its line in $record), then call again"
    if [ -n "$partial" ]; then
        mv "$partial" "$2"
        partial=
    fi
    grep -qsxF "$found  $2" "$record" || echo "$found  $2" >>"$record"
    echo "$found  $2"
}

command -v curl >/dev/null || die "curl is missing: apt-get install -y curl"
mapfile -t weights < <(official)
for name in "$@"; do
    printf '%s\n' "${weights[@]}" | grep -q "^$name " ||
        die "no official weights are named '$name'; there are: $(printf '%s\n' "${weights[@]}" | cut -d ' ' -f 1 | xargs)"
done
for weight in "${weights[@]}"; do
    read -r name file url sha256 <<<"$weight"
    [ $# -eq 0 ] || [[ " $* " = *" $name "* ]] || continue
    take "$name" "$file" "$url" "$sha256"
done
