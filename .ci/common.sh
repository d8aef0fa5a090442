# common.sh - what .ci/run and .ci/long share: installing, building, counting.
#
# A step is one thing that can pass or fail. The tests of a build are counted one by one,
# from the log that meson writes.

export DEBIAN_FRONTEND=noninteractive
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 # also where a test sets nothing
passed=0
failed=0
failures=

install_packages() {
    apt-get update -q >/dev/null
    # shellcheck disable=SC2046
    apt-get install -y -q --no-install-recommends $(grep -v '^#' "$1") >"$out/apt.log" 2>&1 || {
        tail -n 20 "$out/apt.log"
        return 1
    }
}

# step NAME COMMAND...: runs it quietly, counts it, shows the end of its output if it fails
step() {
    local name=$1 log start
    shift
    log="$out/$(echo "$name" | tr -c 'a-zA-Z0-9\n' _).log"
    start=$SECONDS
    if "$@" >"$log" 2>&1 </dev/null; then
        passed=$((passed + 1))
        echo "ok    $name ($((SECONDS - start)) s)"
    else
        failed=$((failed + 1))
        failures="$failures
      $name"
        echo "FAIL  $name ($((SECONDS - start)) s)"
        tail -n 40 "$log"
    fi
}

# count_log NAME LOG: adds the tests in one of meson's logs; a log without tests is a failure
count_log() {
    local counts
    counts=$(python3 - "$1" "$2" <<'P'
import json, sys
name, path = sys.argv[1:]
good = bad = 0
try:
    lines = open(path).read().splitlines()
except OSError:
    lines = []
for line in lines:
    test = json.loads(line)
    if test["result"] in ("OK", "EXPECTEDFAIL"):
        good += 1
    else: # a skipped test is a test that did not run
        bad += 1
        print(f"FAIL  {name}: {test['name']}: {test['result']}", file=sys.stderr)
        print(test.get("stdout", "")[-3000:], test.get("stderr", "")[-3000:], file=sys.stderr)
if good + bad == 0:
    bad = 1
    print(f"FAIL  {name}: no test ran", file=sys.stderr)
print(good, bad)
P
)
    passed=$((passed + ${counts% *}))
    failed=$((failed + ${counts#* }))
    [ "${counts#* }" = 0 ] || failures="$failures
      $name: ${counts#* } tests"
    echo "      $name: ${counts% *} tests passed, ${counts#* } failed"
}

# build_and_test NAME [--tests "SUITES..."] SETUP-ARGUMENTS...: all suites, but for the one
# that .ci/long runs, unless some are named
build_and_test() {
    local name=$1 suites="--no-suite mpi-msg" dir
    shift
    if [ "${1:-}" = --tests ]; then
        suites=$(for s in $2; do echo "--suite $s"; done)
        shift 2
    fi
    dir="$out/$name"
    rm -rf "$dir"
    step "$name: configure" meson setup -Dtests=enabled "$@" "$dir"
    step "$name: build without warnings" ninja -C "$dir"
    # shellcheck disable=SC2086
    timeout 3000 meson test -C "$dir" --num-processes 2 $suites \
        >"$out/$name.test.log" 2>&1 </dev/null
    count_log "$name" "$dir/meson-logs/testlog.json"
}

# The closing line, in the form that CI reads; the exit code says the same.
finish() {
    [ -z "$failures" ] || echo "failed:$failures"
    echo "took $((SECONDS / 60)) min $((SECONDS % 60)) s"
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
