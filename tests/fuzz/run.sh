#!/bin/sh
# run.sh - lets one target run from its corpus for WEFT_FUZZ_SECONDS, 5 unless that is set.
#
#   run.sh PROGRAM FILE-BESIDE-CORPUS MOST-BYTES FOLDER
#
# What libFuzzer finds on the way goes to a copy of the corpus. What fails is left in
# FOLDER, by the name that libFuzzer prints; the standard error of the code under test is
# not shown, because almost every input is wrong and says so.
set -eu
program=$1
corpus=$(dirname "$2")/corpus/$(basename "$program" | sed 's/^fuzz_//')
found=$(mktemp -d)
trap 'rm -rf "$found"' EXIT
[ ! -d "$corpus" ] || cp "$corpus"/* "$found"
ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 "$program" \
    -max_total_time="${WEFT_FUZZ_SECONDS:-5}" -max_len="$3" -len_control=0 -timeout=20 \
    -rss_limit_mb=2048 -print_final_stats=1 -close_fd_mask="${WEFT_FUZZ_QUIET:-0}" \
    -artifact_prefix="$4/" "$found" 2>"$found.log" && code=0 || code=$?
tail -c 20000 "$found.log" | grep -av '^weft:\|^mpiexec: ' || true
rm -f "$found.log"
exit "$code"
