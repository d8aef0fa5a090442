# common.sh - what .ci/run and .ci/long share: installing, building, counting.
#
# A step is one thing that can pass or fail. The tests of a build are counted one by one,
# from the log that meson writes.

export DEBIAN_FRONTEND=noninteractive
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 # also where a test sets nothing
passed=0
failed=0
failures=
logs= # those of meson, for the total

# The kernel gives a core to sessions in turn, as groups. On some, a session whose processes wake
# up all the time keeps others from running for seconds (docs/engine.md, 3), and tests that run at
# once are sessions, as are the hosts of tests/netlab. Until this script ends there are no groups.
autogroup=/proc/sys/kernel/sched_autogroup_enabled
if [ -w "$autogroup" ]; then
    trap "echo $(cat "$autogroup") >$autogroup" EXIT
    echo 0 >"$autogroup"
fi

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

# run_tests NAME LOG ARGUMENTS...: tests of $out/NAME, counted from meson-logs/LOG.json. Limits of
# tests are there to end those that hang, so a busy machine gets three times as long.
run_tests() {
    local name=$1 log=$2 dir="$out/$1"
    shift 2
    tools/budget --speed "$out/speeds"
    timeout 3000 meson test -C "$dir" --num-processes 2 --timeout-multiplier 3 --logbase "$log" "$@" \
        >"$out/$name.$log.log" 2>&1 </dev/null
    tools/budget --speed "$out/speeds"
    count_log "$name" "$dir/meson-logs/$log.json"
}

# build_and_test NAME [--only] SETUP-ARGUMENTS...: builds all, or only what its tests need, and
# runs the suites that tests/budget.tsv gives to a build of that name
build_and_test() {
    local name=$1 targets= dir="$out/$1"
    shift
    rm -rf "$dir"
    if [ "${1:-}" = --only ]; then
        shift
        step "$name: configure" meson setup -Dtests=enabled "$@" "$dir"
        targets="$(tools/budget --targets "$name" "$dir") launch/mpiexec tests/mpi/mpi_stress"
        targets="$targets tests/mpi/mpi_coll_functions tests/mpi/mpi_coll_random"
        targets="$targets tests/mpi/mpi_rma_random tests/mpi/mpi_rma_threads"
    else
        step "$name: configure" meson setup -Dtests=enabled "$@" "$dir"
    fi
    # shellcheck disable=SC2086
    step "$name: build without warnings" ninja -C "$dir" $targets
    # shellcheck disable=SC2046
    run_tests "$name" testlog $(tools/budget --suites "$name")
    logs="$logs $dir/meson-logs/testlog.json"
}

# count_budget NAME: prints what each suite of that build spent, of what it was allowed
count_budget() {
    if tools/budget --report "$1" "$out/$1/meson-logs/testlog.json" "$out/speeds"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        failures="$failures
      $1: a suite takes more than twice what tests/budget.tsv allows"
    fi
}

# The closing line, in the form that CI reads; the exit code says the same.
finish() {
    [ -z "$failures" ] || echo "failed:$failures"
    echo "took $((SECONDS / 60)) min $((SECONDS % 60)) s"
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
