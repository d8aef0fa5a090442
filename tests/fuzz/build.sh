#!/bin/sh
# build.sh - compiles sources with Clang for libFuzzer and two sanitizers.
#
#   build.sh OUTPUT FOLDER FLAGS -- SOURCE...
#
# OUTPUT is an archive if its name ends with .a, else a program; sources that are archives
# are linked. Objects go to FOLDER, and two are compiled at a time. FLAGS may be several.
set -eu
output=$1
folder=$2
shift 2
flags=
while [ "$1" != -- ]; do
    flags="$flags $1"
    shift
done
shift
mkdir -p "$folder"
libraries=
objects=
sources=
for source; do
    case $source in
        *.a) libraries="$libraries $source" ;;
        *)
            object=$folder/$(echo "$source" | tr -c 'A-Za-z0-9\n' _).o
            objects="$objects $object"
            sources="$sources $source $object"
            ;;
    esac
done
compiler=${CLANG:-clang}
! command -v ccache >/dev/null || compiler="ccache $compiler"
instrument='-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all'
# shellcheck disable=SC2086
echo $sources | xargs -n 2 -P 2 sh -c "$compiler -std=gnu11 $instrument \
    -fsanitize=fuzzer-no-link -D_GNU_SOURCE $flags -c \"\$0\" -o \"\$1\""
case $output in
    *.a)
        rm -f "$output"
        # shellcheck disable=SC2086
        ar rcs "$output" $objects
        ;;
    *)
        # shellcheck disable=SC2086
        "${CLANG:-clang}" $instrument -fsanitize=fuzzer $flags $objects \
            -Wl,--start-group $libraries -Wl,--end-group $flags -pthread -ldl -lm -o "$output"
        ;;
esac
