#!/usr/bin/env python3
"""mpis.py - the same pattern over every MPI that is here, and agreement with bench/pingpong
and bench/rma.

GAUGE_FLAVOURS names the MPIs besides Weft, each of which has an object and an mpiexec of its
own; GAUGE_TURNS says how often figures are compared.
"""

import json
import math
import os
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

import common
from common import BUILD, case, clean, main, rows, run

TURNS = int(os.environ.get("GAUGE_TURNS", "7"))
WEFT = ("abi", [str(BUILD / "launch/mpiexec"), "-n", "2"])
OTHERS = [(name, [f"mpiexec.{name}", "-n", "2"])
          for name in os.environ.get("GAUGE_FLAVOURS", "").split()]
NAMES = {"abi": "Weft", "openmpi": "Open MPI", "mpich": "MPICH"}
SIZES = {0: "0B", 8: "8B", 64: "64B", 1024: "1KiB", 4096: "4KiB", 16384: "16KiB",
         65536: "64KiB", 262144: "256KiB", 1048576: "1MiB"}  # as bench/pingpong calls them
LIBRARY = BUILD / "bindings/libmpi_abi.so.1"


def launch(launcher, flavour, *words, pattern="one_one"):
    return subprocess.run([*launcher, common.GAUGE, "run", pattern, "mpi", "--flavour",
                           flavour, "--library", LIBRARY, *words], capture_output=True,
                          text=True, timeout=common.TIMEOUT, check=False,
                          env={**clean(), **{key: value for key, value in os.environ.items()
                                             if key.startswith("OMPI_")}},
                          stdin=subprocess.DEVNULL)


def measure(mpi, *words, pattern="one_one"):
    """The lines of a run over one MPI, started by its own mpiexec."""
    flavour, launcher = mpi
    with tempfile.TemporaryDirectory() as folder:
        name = Path(folder) / "out.json"
        done = launch(launcher, flavour, *words, "--json", name, pattern=pattern)
        assert done.returncode == 0, done
        return [json.loads(line) for line in name.read_text().splitlines()]


def cell(row):
    return f"{row['median_ns']:9.0f} [{row['low_ns']:.0f}, {row['high_ns']:.0f}]"


@case
def the_same_pattern_over_every_mpi_makes_one_table():
    table = {}
    for mpi in (WEFT, *OTHERS):
        lines = measure(mpi, "--sizes", "0,8,1K,64K", "--time", "0.5")
        name = NAMES[mpi[0]]
        assert name in lines[0]["module"]["mpi_library"], lines[0]["module"]
        table[name] = {row["size_bytes"]: row for row in rows(lines)}
    print(f"      {'ns, half a round trip':>24}" + "".join(f"{name:>28}" for name in table))
    for size in (0, 8, 1024, 65536):
        print(f"      {size:>22} B" + "".join(f"{cell(table[name][size]):>28}"
                                            for name in table))


@case
def non_blocking_messages_work_over_every_mpi():
    for mpi in (WEFT, *OTHERS):
        row, = rows(measure(mpi, "--sizes", "64K", "--time", "0.1", "--both"))
        assert row["samples"] > 0


def ours():
    """{size: ns} of one_one, its buffers 16 bytes behind a page as malloc's are."""
    found = rows(measure(WEFT, "--sizes", ",".join(map(str, SIZES)), "--time", "0.2",
                         "--shift", "16"))
    return {row["size_bytes"]: row["median_ns"] for row in found}


def theirs():
    """{size: ns} of bench/pingpong."""
    done = subprocess.run([*WEFT[1], BUILD / "tests/gauge/gauge_pingpong"],
                          capture_output=True, text=True, check=True, timeout=240,
                          env=clean())
    fields = [line.split("\t") for line in done.stdout.splitlines()]
    found = {f[1]: float(f[2]) * 1000 for f in fields if f[0] == "pingpong"}
    return {size: found[name] for size, name in SIZES.items()}


def interval(values):
    """Median and 95 % interval of it, by order statistics: the exact binomial ranks."""
    values = sorted(values)
    count = len(values)
    tail, rank = 0.5 ** count, 0
    while rank < (count - 1) // 2 and tail + math.comb(count, rank + 1) / 2 ** count <= 0.025:
        rank += 1
        tail += math.comb(count, rank) / 2 ** count
    return statistics.median(values), values[rank], values[-1 - rank]


def text_of(found, digits=0):
    middle, low, high = (f"{value:.{digits}f}" for value in found)
    return f"{middle} [{low}, {high}]"


def agree(mine, other, sizes, head):
    """Both measured in turns, so that the machine's mood is the same for both. The verdict of
    a size is `agree` when the intervals of the medians over the turns meet, `near` when the
    ratio may be within a fifth of 1: the programs of bench give means of their batches,
    weft-gauge the median of single samples, and on a quiet machine that is told apart."""
    sides = {mine: [], other: []}
    for turn in range(TURNS):
        for side in (mine, other) if turn % 2 == 0 else (other, mine):
            sides[side].append(side())
    verdicts = []
    print(f"      | {head} | verdict |")
    for size in sizes:
        gauge, loop = ([turn[size] for turn in sides[side]] for side in (mine, other))
        ratio = interval([a / b for a, b in zip(gauge, loop)])
        gauge, loop = interval(gauge), interval(loop)
        meet = gauge[1] <= loop[2] and loop[1] <= gauge[2]
        near = ratio[1] <= 1.2 and ratio[2] >= 1 / 1.2
        verdicts.append("agree" if meet else "near" if near else "differ")
        print(f"      | {size} | {text_of(gauge)} | {text_of(loop)} | {text_of(ratio, 2)} "
              f"| {verdicts[-1]} |")
    assert "differ" not in verdicts


@case
def one_one_agrees_with_pingpong():
    agree(ours, theirs, SIZES,
          "size in bytes | one_one, ns | pingpong, ns | one_one / pingpong")


RMA_SIZES = {8: "put,8B", 1024: "put,1KiB", 65536: "put,64KiB"}  # as bench/rma calls them


def our_epochs():
    """{size: ns} of an epoch with one put, by the pattern rma."""
    found = rows(measure(WEFT, "--test", "put", "--burst", "1", "--sizes",
                         ",".join(map(str, RMA_SIZES)), "--time", "0.2", pattern="rma"))
    return {row["size_bytes"]: row["median_ns"] for row in found}


def their_epochs():
    """{size: ns} of the same by bench/rma."""
    done = subprocess.run([*WEFT[1], BUILD / "tests/gauge/gauge_rma", "create", "pscw"],
                          capture_output=True, text=True, check=True, timeout=240,
                          env=clean())
    fields = [line.split("\t") for line in done.stdout.splitlines()]
    found = {f[1]: float(f[2]) * 1000 for f in fields if f[0] == "rma.create.pscw"}
    return {size: found[name] for size, name in RMA_SIZES.items()}


@case
def epochs_of_rma_agree_with_bench_rma():
    agree(our_epochs, their_epochs, RMA_SIZES, "size in bytes | rma, ns | bench/rma, ns | ratio")


def points(lines):
    """{name: the values of its condition}, sizes where it has none."""
    found = {}
    for row in rows(lines):
        keys = [value for key, value in row["conditions"].items() if key != "burst"]
        found.setdefault(row["name"], set()).add(keys[0] if keys else row["size_bytes"])
    return found


@case
def one_sided_tests_run_over_every_mpi():
    sizes, work = {8, 4096}, {0, 1000, 2000}
    for mpi in (WEFT, *OTHERS):
        for window in ("create", "allocate"):
            lines = measure(mpi, "--sizes", "8,4K", "--message", "8K", "--to", "2000", "--time",
                            "0.02", "--window", window, pattern="rma")
            assert points(lines) == {
                "put_latency": sizes, "put_fence": sizes, "two_sided": sizes,
                "put_burst": sizes, "get_burst": sizes, "sync_origins": {1},
                "sync_targets": {1}, "work_at_origin": work, "work_at_target": work,
                "put_origins": {1}}, points(lines)


@case
def files_are_written_and_read_over_every_mpi():
    for mpi in (WEFT, *OTHERS):
        lines = measure(mpi, "--sizes", "4K,64K", "--piece", "512", "--time", "0.02", pattern="io")
        assert {(row["name"], row["size_bytes"], row["conditions"]["piece_bytes"])
                for row in rows(lines)} == {(name, size, piece) for name in ("write", "read")
                                            for size in (4096, 65536) for piece in (0, 512)}


@case
def one_sided_tests_of_several_origins_count_them():
    mpi = (WEFT[0], [*WEFT[1][:-1], "4"])
    for test, names in (("sync", ("sync_origins", "sync_targets")), ("origins", ("put_origins",))):
        lines = measure(mpi, "--test", test, "--message", "4K", "--time", "0.02", pattern="rma")
        assert points(lines) == {name: {1, 2, 3} for name in names}, points(lines)
    row = next(row for row in rows(lines) if row["conditions"]["origins"] == 3)
    rate = 3 * 16 * 4096 / row["median_ns"] * 1e9  # of all origins together
    assert abs(row["rate_bytes_per_second"] / rate - 1) < 1e-6, row


@case
def one_sided_tests_that_do_not_go_are_refused_with_a_sentence():
    done = run("run", "rma", "shm", code=2)
    assert "rma needs one-sided access, which shm does not offer" in done.stderr, done
    for words, sentence in ((("--test", "air"), "--test is latency, both,"),
                            (("--window", "air"), "--window is create or allocate"),
                            (("--burst", "0"), "--burst is 1 to 1024")):
        done = launch(WEFT[1], "abi", *words, pattern="rma")
        assert done.returncode != 0 and sentence in done.stderr, done


@case
def a_launcher_of_another_mpi_is_found_out():
    for name, launcher in OTHERS:
        if name == "openmpi":
            done = launch(WEFT[1], name)
            assert done.returncode != 0 and "this MPI's own mpiexec" in done.stderr, done
            done = launch(launcher, "abi")
            assert done.returncode == 0 or "this MPI's own mpiexec" in done.stderr, done


@case
def without_any_mpi_all_else_runs():
    with tempfile.TemporaryDirectory() as folder:
        alone = shutil.copy(common.GAUGE, folder)
        done = subprocess.run([alone, "list"], capture_output=True, text=True, check=True,
                              env=clean())
        assert "not here: gauge_mpi_abi.so is not here: it is built where that MPI is " \
               "installed" in done.stdout, done
        done = subprocess.run([alone, "run", "one_one", "shm", "--sizes", "8", "--time",
                               "0.05"], capture_output=True, text=True, check=True,
                              env=clean())
        assert "one_one over shm" in done.stdout


@case
def an_mpi_that_is_not_there_is_refused_with_a_sentence():
    for words, sentence in ((("--library", "libair.so"), "no such MPI: libair.so"),
                            (("--flavour", "air"), "--flavour is abi, openmpi or mpich"),
                            (("--object", "/air.so", "--library", LIBRARY),
                             "its object cannot be loaded"),
                            (("--library", LIBRARY), "wants its ends started by a launcher")):
        done = run("run", "one_one", "mpi", *words, code=2)
        assert sentence in done.stderr and done.stderr.count("\n") == 1, done


if __name__ == "__main__":
    main()
