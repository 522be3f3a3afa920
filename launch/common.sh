# Sourced by the scripts: the folder of the project, and how they speak. Progress goes to stderr, so that the standard
# output of a script stays that of the program it starts.
# shellcheck shell=bash
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf -- '-- %s\n' "$*" >&2; }

die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# Folder of the build that a CMake preset makes.
build_folder() {
    case $1 in
        release | ci) echo "$root/build" ;;
        *) echo "$root/build-$1" ;;
    esac
}
