#!/usr/bin/env bash
# Makes one file that runs patchbench on another x86-64 Linux with any torch==2.11.0 wheel, GPU or not:
#   launch/bundle.sh [--build DIR] [--out FILE.tar.xz]     (default: build, dist/patchbench-<version>-linux-x86_64.tar.xz)
# In it: program, GPU tests, mpirun, all libraries but glibc, the driver's and those of the wheel, configs, weights, one
# photograph and the scripts. docs/gpu-check.md says how to use it. Needs patchelf, strip (binutils) and xz.
set -euo pipefail
# shellcheck source=launch/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

max_bytes=$((40 * 1024 * 1024))

# What every Linux has, or what must be the machine's own: glibc, the NVIDIA driver. libgomp is the wheel's.
is_left_out() {
    case ${1##*/} in
        ld-linux-* | libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.* | libutil.so.* | libresolv.so.*) ;;
        libcuda.so.* | libnvidia-* | libgomp.so.*) ;;
        *) [[ $1 == "$torch"/* || $1 == "$site"/nvidia/* ]] ;;
    esac
}

# Paths of the shared libraries that files need, directly or not.
libraries_of() {
    local missing
    missing=$(ldd "$@" 2>/dev/null | grep 'not found' | sort -u) || true
    [ -z "$missing" ] || die "libraries are missing: $missing"
    ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u
}

# Stripped before its search path is changed: strip breaks what patchelf wrote.
install_binary() { # file, target, search path
    install -D -m 755 "$1" "$2"
    strip --strip-unneeded "$2"
    patchelf --force-rpath --set-rpath "$3" "$2" # RPATH goes before LD_LIBRARY_PATH, RUNPATH would go after it
}

install_libraries() { # of files..
    local library
    while read -r library; do
        is_left_out "$library" && continue
        [ -e "$stage/lib/${library##*/}" ] || install_binary "$library" "$stage/lib/${library##*/}" "\$ORIGIN"
        origins+=("$library")
    done < <(libraries_of "$@")
}

install_programs() {
    local file
    install_binary "$build/patchbench" "$stage/bin/patchbench" "\$ORIGIN/../lib"
    for file in "${tools[@]}"; do install_binary "$file" "$stage/bin/${file##*/}" "\$ORIGIN/../lib"; done
    for file in "${tests[@]}"; do install_binary "$file" "$stage/tests/${file##*/}" "\$ORIGIN/../lib"; done
    for file in "${torch_libraries[@]}"; do install_binary "$file" "$stage/lib/${file##*/}" "\$ORIGIN"; done
    install_libraries "$build/patchbench" "${torch_libraries[@]}" "${tools[@]}" "${tests[@]}"
}

mpi_folder() { ompi_info --path "$1" --parsable | sed -n "s/^path:$1://p" | head -1; }

# Plugins for interconnects and launchers that need libraries of their own are left out: one machine is served by shared
# memory and TCP. On a cluster, build patchbench with the cluster's MPI.
install_plugins() { # folder of plugins, folder in the bundle
    local plugin needs
    for plugin in "$1"/*mca_*.so; do
        [ -e "$plugin" ] || continue
        needs=$(ldd "$plugin")
        [[ ! $needs =~ libuc[mpst]|libfabric|libpsm|libibverbs|libflux|liboshmem|'not found' ]] || continue
        install_binary "$plugin" "$2/${plugin##*/}" "\$ORIGIN/.."
        install_libraries "$plugin"
    done
}

install_mpi() {
    local name bin pmix
    mpirun --version 2>/dev/null | grep -q 'Open MPI' || die "bundles are made with Open MPI: mpirun is another or missing"
    bin=$(mpi_folder bindir)
    for name in orterun orted; do
        install_binary "$(readlink -f "$bin/$name")" "$stage/bin/$name" "\$ORIGIN/../lib"
        install_libraries "$bin/$name"
    done
    ln -s orterun "$stage/bin/mpirun"
    install_plugins "$(mpi_folder pkglibdir)" "$stage/lib/openmpi"
    pmix=$(printf '%s\n' "${origins[@]}" | grep -m 1 '/libpmix\.so' || true)
    [ -z "$pmix" ] || install_plugins "$(dirname "$(readlink -f "$pmix")")/pmix" "$stage/lib/pmix"
    mkdir -p "$stage/share/openmpi"
    cp "$(mpi_folder pkgdatadir)"/*.txt "$stage/share/openmpi/"
    echo "# no settings" >"$stage/share/openmpi/openmpi-mca-params.conf"
}

install_project() {
    cd "$root"
    cp -r configs LICENSE "$stage/"
    mkdir -p "$stage/launch" "$stage/benchmarks" "$stage/data/photos" "$stage/models" "$stage/docs"
    cp launch/common.sh launch/ranks.sh launch/gpu_check.sh launch/gpu_check*.py "$stage/launch/"
    cat >>"$stage/launch/common.sh" <<'TEXT'

. "$root/bin/env.sh" # this is a bundle
TEXT
    cp benchmarks/beside_pytorch.py benchmarks/plain_networks.py "$stage/benchmarks/"
    cp models/*.yaml models/*.safetensors models/README.md "$stage/models/"
    cp data/README.md "$stage/data/"
    cp data/photos/retina.jpg "$stage/data/photos/"
    cp docs/gpu-check.md "$stage/docs/"
    install -m 644 launch/bundle_env.sh "$stage/bin/env.sh"
    install -m 755 launch/bundle_run.sh "$stage/patchbench"
    ln -s patchbench "$stage/mpirun"
    { git describe --always --dirty 2>/dev/null || echo "no git"; } >"$stage/VERSION"
}

# The terms under which the bundled libraries may be passed on.
install_licences() {
    local package files=()
    mkdir -p "$stage/licences"
    command -v dpkg-query >/dev/null || return 0
    # A package may list a file under /lib that lies in /usr/lib.
    mapfile -t files < <(printf '%s\n' "${origins[@]}" | sort -u | sed 'p; s|^/lib/|/usr/lib/|' | sort -u)
    while read -r package; do
        cp -L "/usr/share/doc/$package/copyright" "$stage/licences/$package" || say "no licence text of $package"
    done < <({ dpkg-query -S "${files[@]}" 2>/dev/null || true; } | sed 's/:.*//' | sort -u)
}

# The newest symbol version of glibc that anything in the bundle asks for.
glibc_needed() {
    { find "$stage" -type f -perm -100 -exec objdump -T {} + 2>/dev/null || true; } | # scripts are among them
        grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1 | sed 's/GLIBC_//'
}

build=$root/build out=
while [ $# -gt 0 ]; do
    case $1 in
        --build | --out) [ $# -ge 2 ] || die "$1 needs a value" ;;&
        --build) build=$(cd "$2" && pwd); shift ;;
        --out) out=$(realpath -m "$2"); shift ;;
        *) sed -n '2,5s/^# //p' "$0" >&2; exit 2 ;;
    esac
    shift
done

for tool in patchelf strip objdump xz ompi_info; do
    command -v $tool >/dev/null || die "$tool is missing: run launch/setup.sh"
done
[ -x "$build/patchbench" ] || die "there is no $build/patchbench: run launch/setup.sh"
[ -x "$build/benchmarks/forward_server" ] || die "there is no $build/benchmarks/forward_server: build everything (launch/setup.sh)"
[ -e "$root/data/photos/retina.jpg" ] || die "there is no data/photos/retina.jpg: run data/get_photos.sh"
torch_libraries=("$build"/lib/libpatchbench_torch*.so)
torch=$(ldd "${torch_libraries[0]}" | sed -n 's|.*=> \(.*\)/lib/libtorch_cpu\.so .*|\1|p')
[ -n "$torch" ] || die "${torch_libraries[0]} does not find its LibTorch: build again (launch/setup.sh)"
site=$(dirname "$torch")
mapfile -t tests < <(find "$build/tests" -maxdepth 1 -type f -name 'gpu_*' -perm -100 | sort)
[ ${#tests[@]} -gt 0 ] || die "there are no GPU tests in $build/tests: build everything (launch/setup.sh)"
tools=("$build/benchmarks/forward_server")

work=$(mktemp -d -t patchbench-bundle.XXXXXX)
trap 'rm -rf "$work"' EXIT
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:[A-Z]*=//p' "$build/CMakeCache.txt")
name=patchbench-$version-linux-x86_64
stage=$work/$name
origins=()
mkdir -p "$stage/bin" "$stage/lib"
install_programs
install_mpi
install_project
install_licences
glibc_needed >"$stage/bin/glibc_needed"

out=${out:-$root/dist/$name.tar.xz}
mkdir -p "$(dirname "$out")"
tar -C "$work" --owner=0 --group=0 --sort=name -cf - "$name" | xz -T0 -6 >"$out.part"
bytes=$(stat -c %s "$out.part")
[ "$bytes" -lt $max_bytes ] || die "the bundle has $bytes bytes, more than $max_bytes: $(du -a "$stage" | sort -n | tail -5)"
mv "$out.part" "$out"
say "$out: $((bytes / 1024)) KiB, needs glibc $(cat "$stage/bin/glibc_needed") and torch==2.11.0"
echo "$out"
