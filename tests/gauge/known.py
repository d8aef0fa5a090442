#!/usr/bin/env python3
"""known.py - the gauge is held against networks whose parameters are known.

The number of seeds is that of GAUGE_SEEDS (100 in .ci/long).
"""

import os

from common import case, main, measure, results, rows

SEEDS = int(os.environ.get("GAUGE_SEEDS", "2"))
NAMES = {"L": "L", "os": "o_s", "or": "o_r", "g": "g", "G": "G"}
SIZES = "1:64K"


def near(value, true, share):
    return value is not None and abs(value - true) <= share * abs(true)


def options(parameters):
    return [word for key, value in parameters.items() for word in (f"--{key}", value)]


def check_exact(parameters, factor=None):
    """Every parameter within 1e-6 of the truth, or a note that it cannot be seen."""
    found = results(measure("loggp", "sim", "--sizes", SIZES, *options(parameters)))
    pieces = 2 if factor else 1
    for key, name in NAMES.items():
        assert len(found[name]) == pieces, (name, found)
        for piece, (value, note) in enumerate(found[name]):
            true = parameters[key] * (factor if piece else 1)
            if note.startswith("g <= c"):
                assert value >= true, (name, value, true)
                assert value == max(parameters["os"], parameters["or"]), (value, note)
            else:
                assert note == "" and near(value, true, 1e-6), (name, value, true, note)


@case
def the_gap_is_larger_than_the_overheads():
    check_exact({"L": 1000, "os": 300, "or": 400, "g": 500, "G": 0.1})


@case
def sending_is_the_slowest():
    check_exact({"L": 1000, "os": 700, "or": 400, "g": 500, "G": 0.1})


@case
def receiving_is_the_slowest():
    check_exact({"L": 1000, "os": 300, "or": 800, "g": 200, "G": 0.2})


@case
def overheads_hide_a_gap_that_hardly_rises():
    check_exact({"L": 5000, "os": 900, "or": 300, "g": 100, "G": 0.05})


@case
def another_protocol_begins():
    check_exact({"L": 1000, "os": 300, "or": 400, "g": 500, "G": 0.1, "break": "2K",
                 "break-factor": 3}, factor=3)


@case
def another_protocol_begins_where_overheads_hide_the_gap():
    check_exact({"L": 1000, "os": 700, "or": 400, "g": 200, "G": 0.4, "break": "8K",
                 "break-factor": 2}, factor=2)


@case
def a_gap_that_is_never_seen_is_said_to_be_hidden():
    found = results(measure("loggp", "sim", "--sizes", "1:1K", "--os", 900, "--or", 300,
                            "--g", 100, "--G", 0.1))
    assert found["g"] == [(900, "g <= c: an overhead hides it")], found
    assert found["G"][0][0] is None and "not seen" in found["G"][0][1], found


def noisy(seed, spread, detours, *more):
    """The worst error, whether all is flagged, and where the regions begin."""
    lines = measure("loggp", "sim", "--sizes", SIZES, "--seed", seed, "--spread", spread,
                    "--detours", detours, "--detour", 10000, *more)
    found = results(lines)
    true = {"L": 1000, "o_s": 300, "o_r": 400, "g": 500, "G": 0.1}
    worst = max(abs(value - true[name]) / true[name] if value is not None else 1
                for name in true for value, _ in found[name])
    flagged = all(note == "noise-biased" for name in true for _, note in found[name])
    return worst, flagged, [line["from_bytes"] for line in lines
                            if line["type"] == "result" and line["name"] == "G"]


def share_of(outcome, limit, begin):
    """How many seeds are within the limit, flagged, and have the regions that begin so."""
    good = sum(worst <= limit for worst, _, _ in outcome)
    flagged = sum(flag for _, flag, _ in outcome)
    regions = sum(found == begin for _, _, found in outcome)
    print(f"      {good} of {SEEDS} seeds within {limit:.0%}, {flagged} flagged, "
          f"{regions} with the true regions")
    return good, flagged, regions


ENOUGH = 0.95 * SEEDS - (1 if SEEDS < 20 else 0)


@case
def little_noise_leaves_the_parameters_within_two_per_cent():
    outcome = [noisy(seed, 0.05, 0.001) for seed in range(1, SEEDS + 1)]
    print(f"      {sum(worst <= 0.01 for worst, _, _ in outcome)} of {SEEDS} within 1 %")
    good, _, regions = share_of(outcome, 0.02, [1])
    assert good >= ENOUGH and regions >= ENOUGH


@case
def much_noise_is_flagged_and_leaves_them_within_ten_per_cent():
    outcome = [noisy(seed, 0.2, 0.01) for seed in range(1, SEEDS + 1)]
    good, flagged, regions = share_of(outcome, 0.10, [1])
    assert good >= ENOUGH and flagged >= 0.95 * SEEDS and regions >= ENOUGH


@case
def much_noise_leaves_the_regions_where_they_are():
    more = ("--break", "2K", "--break-factor", 3)
    outcome = [noisy(seed, 0.2, 0.01, *more) for seed in range(1, SEEDS + 1)]
    _, flagged, regions = share_of(outcome, 0.10, [1, 2048])
    assert flagged >= 0.95 * SEEDS and regions >= ENOUGH


@case
def the_same_seed_gives_the_same_samples():
    words = ("one_one", "sim", "--sizes", "1,1K", "--spread", 0.1, "--seed", 7)
    one, two = rows(measure(*words)), rows(measure(*words))
    assert [r["samples_ns"] for r in one] == [r["samples_ns"] for r in two]
    other = rows(measure(*words[:-1], 8))
    assert [r["samples_ns"] for r in one] != [r["samples_ns"] for r in other]


@case
def lost_messages_are_counted_and_the_rest_is_right():
    found = rows(measure("one_one", "sim", "--sizes", "1,4K", "--loss", 0.1))
    assert len(found) == 2 and all(row["lost"] > 0 for row in found), found
    assert near(found[0]["median_ns"] / (1700 + (found[0]["size_bytes"] - 1) * 0.1), 1, 1e-6)


@case
def drifting_clocks_do_not_matter_to_a_round_trip():
    found = rows(measure("one_one", "sim", "--sizes", "8", "--offset", 1e9, "--drift", 50))
    assert near(found[0]["median_ns"], 1700.7, 1e-6), found


if __name__ == "__main__":
    main()
