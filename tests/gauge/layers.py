#!/usr/bin/env python3
"""layers.py - what a layer adds, and that the parts make up the whole."""

import json
import subprocess
import tempfile
from pathlib import Path

import jsonschema

import common
from common import BUILD, SOURCE, case, clean, main, run

LIBRARY = ("--library", BUILD / "bindings/libmpi_abi.so.1")
SCHEMA = jsonschema.Draft7Validator(json.loads((SOURCE / "gauge/schema.json").read_text()))


def refused(*words):
    done = run(*words, code=2)
    assert done.stdout == "" and done.stderr.count("\n") == 1, done
    return done.stderr


def layers(launcher, *words):
    """The output, and {(module, name): result} of one size."""
    with tempfile.TemporaryDirectory() as folder:
        name = Path(folder) / "out.json"
        done = subprocess.run([*launcher, common.GAUGE, "layers", *words, "--json", name],
                              capture_output=True, text=True, timeout=common.TIMEOUT,
                              env=clean(), check=False, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done
        lines = [json.loads(line) for line in name.read_text().splitlines()]
    for line in lines:
        SCHEMA.validate(line)
    return done.stdout, lines, {(line["module"], line["name"]): line for line in lines
                                if line["type"] == "result"}


@case
def what_is_no_layer_is_refused():
    assert "clock of its own" in refused("layers", "--over", "shm,sim")
    assert "there is no module" in refused("layers", "--over", "shm,air")
    assert "at least two modules" in refused("layers", "--over", "shm")
    assert "different modules" in refused("layers", "--over", "shm,shm")
    assert "takes one pattern" in refused("layers", "one_one", "shm")
    assert "there is no pattern" in refused("layers", "shout")
    assert "clock of its own" in refused("layers", "stream", "--over", "shm,sim")
    assert "wants its ends started by a launcher" in \
        refused("layers", "--over", "shm,mpi", *LIBRARY)


@case
def forked_ends_do_without_mpi_and_say_so():
    text, lines, found = layers([], "--sizes", "8", "--time", "0.2", "--turns", "7",
                                *LIBRARY)
    assert "! left out: mpi wants its ends started by a launcher" in text, text
    assert {module for module, _ in found} == {"shm", "weft"}
    rows = [line["module"] for line in lines if line["type"] == "row"]
    assert len(rows) == 14 and rows.count("shm") == rows.count("weft") == 7
    assert rows != ["shm", "weft"] * 7, "the order is not drawn"
    assert ("shm", "added") not in found and ("weft", "added") in found


@case
def an_option_reaches_the_layer_that_knows_it():
    text, _, found = layers([], "--over", "shm,tcp", "--wait", "block", "--sizes", "8",
                            "--time", "0.2", "--turns", "7")
    assert "tcp" in text and found["tcp", "added"]["value_ns"] > 0, text


@case
def any_pattern_goes_that_the_modules_carry():
    text, _, found = layers([], "stream", "--over", "shm,tcp", "--sizes", "4K", "--time",
                            "0.2", "--turns", "7")
    assert "stream, layer by layer" in text and "message" in text, text
    assert found["tcp", "added"]["value_ns"] > 0
    assert "left out: weft" not in text


@case
def a_model_is_compared_by_its_parameters():
    text, lines, _ = layers([], "loggp", "--over", "shm,tcp", "--sizes", "1,64,1K",
                            "--time", "0.05", "--turns", "6", "--passes", "6")
    added = {line["note"]: line for line in lines
             if line["type"] == "result" and line["name"] == "added"}
    assert {"o_s", "o_r", "L", "g", "G"} == set(added), text
    assert added["o_s"]["value_ns"] > 0 and added["o_s"]["from_bytes"] is None, added


@case
def a_network_has_layers_of_its_own():
    text, _, found = layers([], "--network", "--sizes", "8,8K", "--time", "0.2", "--turns",
                            "7", *LIBRARY)
    assert "! left out: mpi wants its ends started by a launcher" in text, text
    assert {module for module, _ in found} == {"tcp", "fabric", "weft"}
    assert ("tcp", "added") not in found and ("fabric", "added") in found


@case
def the_user_may_still_say_which_transport():
    assert "there is no transport" in refused("layers", "--network", "--over", "tcp,weft",
                                              "--transport", "air")


def add_up(found, *modules):
    """The parts of the last module agree with its whole, within their intervals."""
    whole = found[modules[-1], "layer"]
    parts = [found[modules[0], "layer"], *(found[name, "added"] for name in modules[1:])]
    low, high = (sum(part[key] for part in parts) for key in ("low_ns", "high_ns"))
    assert low <= whole["high_ns"] and whole["low_ns"] <= high


@case
def the_parts_make_up_the_whole():
    text, _, found = layers([BUILD / "launch/mpiexec", "-n", "2"], "--sizes", "8",
                            *LIBRARY)
    print(text)
    add_up(found, "shm", "weft", "mpi")


@case
def the_parts_make_up_the_whole_of_a_network():
    text, _, found = layers([BUILD / "launch/mpiexec", "-n", "2"], "--network", "--sizes",
                            "8", *LIBRARY)
    print(text)
    add_up(found, "tcp", "fabric", "weft", "mpi")
    bare, mpi = (found[name, "layer"]["value_ns"] for name in ("fabric", "mpi"))
    assert mpi > bare / 2, "MPI went through shared memory"


if __name__ == "__main__":
    main()
