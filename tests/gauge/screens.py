#!/usr/bin/env python3
"""screens.py - what weft-gauge prints and writes, and what it refuses."""

import json
import os
import pty
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path

import jsonschema

import common
from common import SOURCE, case, clean, main, measure, rows, run

SCHEMA = jsonschema.Draft7Validator(json.loads((SOURCE / "gauge/schema.json").read_text()))

GOLDEN = """\
one_one over sim: latency
     size  end       min    median 95 % from        to       p99     p99.9      MB/s samples     stop
      0 B    0   1.70 us   1.70 us   1.70 us   1.70 us         -         -         -      40  width
    1 KiB    0   1.80 us   1.80 us   1.80 us   1.80 us         -         -    568.16      30  width
"""


def names(kind):
    text = run("list").stdout.split("modules:")
    part = text[0] if kind == "patterns" else text[1]
    return [line.split()[0] for line in part.splitlines() if line.startswith("  ")]


def simulated():
    """Patterns that sim can show: it has no windows, which mpis.py runs over MPI."""
    return [name for name in names("patterns") if name not in ("rma", "io")]


def refused(*words):
    """The sentence of a refusal."""
    done = run(*words, code=2)
    assert done.stdout == "" and done.stderr.count("\n") == 1, done
    return done.stderr.removeprefix("weft-gauge: ").strip()


@case
def the_table_of_a_known_network_is_as_it_was():
    lines = [line.rstrip() for line in
             run("run", "one_one", "sim", "--sizes", "0,1K").stdout.splitlines()
             if not line.startswith("!")]
    # How many samples are warm-up among equal ones is a matter of rounding.
    strip = [re.sub(r" [34]0  width", " N  width", line) for line in lines]
    assert strip == [re.sub(r" [34]0  width", " N  width", line)
                     for line in GOLDEN.splitlines()], lines


@case
def list_and_describe_tell_of_every_pattern_and_module():
    for name in names("patterns") + names("modules"):
        text = run("describe", name).stdout
        assert text.startswith(name + ": "), text
    for name in names("patterns"):
        assert "=" in run("describe", name).stdout, f"{name} has no formula"


@case
def a_wrong_word_is_answered_with_a_sentence():
    assert "there is no pattern" in refused("run", "two_two", "shm")
    assert "there is no module" in refused("run", "one_one", "telepathy")
    assert "there is no verb" in refused("walk")
    assert "there is no option --colour" in refused("run", "one_one", "shm", "--colour", "red")
    assert "wants a whole number" in refused("run", "one_one", "shm", "--ends", "two")
    assert "--sizes wants a list" in refused("run", "one_one", "shm", "--sizes", "big")
    assert "a pattern and a module" in refused("run", "one_one")
    assert "--wait is spin or block" in refused("run", "one_one", "tcp", "--wait", "hope")


@case
def what_a_module_does_not_offer_is_refused_by_name():
    assert refused("run", "one_one", "self", "--both") == \
        "one_one needs non-blocking messages, which self does not offer"
    assert refused("run", "one_one", "shm", "--ends", "3") == \
        "one_one needs an even number of ends, and there are 3"
    assert refused("run", "loggp", "sim", "--loss", "0.1") == \
        "loggp needs that nothing is lost, which sim does not offer"
    assert refused("run", "loggp", "self") == \
        "loggp needs at least 2 ends, and there is 1"
    assert refused("run", "rma", "sim") == \
        "rma needs one-sided access, which sim does not offer"
    assert refused("run", "io", "sim") == "io needs files, which sim does not offer"
    assert "give --ends 1" in refused("run", "one_one", "self", "--ends", "2")


@case
def every_line_follows_the_schema():
    for words in (("one_one", "shm", "--sizes", "8", "--time", "0.05"),
                  ("one_one", "sim", "--sizes", "1,1K", "--loss", "0.3"),
                  *((name, "sim", "--sizes", "1:1K", "--ends", "4")
                    for name in simulated())):
        lines = measure(*words)
        for line in lines:
            SCHEMA.validate(line)
        assert [line["type"] for line in lines][0] == "header"
        assert lines[-1]["type"] == "end" and lines[-1]["complete"]
        row = rows(lines)[0]
        assert len(row["samples_ns"]) == row["samples"] + row["warm_up_samples"]


@case
def the_schema_refuses_what_is_wrong():
    line = rows(measure("one_one", "sim", "--sizes", "8"))[0]
    for change in ({"median_ns": "fast"}, {"stop": "bored"}, {"colour": 1}):
        assert not SCHEMA.is_valid({**line, **change})
    assert not SCHEMA.is_valid({k: v for k, v in line.items() if k != "end"})


@case
def the_header_keeps_no_token():
    lines = measure("one_one", "sim", "--sizes", "8", "--token=hush",
                    env={"WEFT_GAUGE_TOKEN": "hush", "WEFT_LOG": "info"})
    assert "hush" not in json.dumps(lines)
    assert lines[0]["environment"].get("WEFT_LOG") == "info"


@case
def a_file_that_exists_is_not_overwritten():
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("json", "csv"):
            name = Path(folder) / f"old.{kind}"
            name.write_text("precious")
            done = run("run", "one_one", "sim", "--sizes", "8", f"--{kind}", name, code=1)
            assert "File exists" in done.stderr and name.read_text() == "precious"


@case
def the_csv_has_the_rows_of_the_json():
    with tempfile.TemporaryDirectory() as folder:
        table, name = Path(folder) / "a.csv", Path(folder) / "a.json"
        run("run", "loggp", "sim", "--sizes", "1,8,64", "--csv", table, "--json", name)
        head, *body = [line.split(",") for line in table.read_text().splitlines()]
        written = rows([json.loads(line) for line in name.read_text().splitlines()])
        assert len(body) == len(written) == 15 * 9  # turns
        for fields, row in zip(body, written):
            assert len(fields) == len(head)
            assert float(fields[head.index("median_ns")]) == row["median_ns"]


def join(port, token):
    return subprocess.Popen([common.GAUGE, "--join", f"127.0.0.1:{port}", "--token", token],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=clean())


@case
def ends_join_over_tcp_and_strangers_are_refused():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    first = subprocess.Popen(
        [common.GAUGE, "run", "one_one", "tcp", "--listen", f"127.0.0.1:{port}", "--token",
         "open-sesame", "--sizes", "8", "--time", "0.05", "--ends", "2"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean())
    stranger = join(port, "let-me-in")
    assert stranger.wait(60) == 1 and "refused us" in stranger.stderr.read()
    with socket.create_connection(("127.0.0.1", port)) as rude:
        rude.sendall(b"x" * 200)
    friend = join(port, "open-sesame")
    out, err = first.communicate(timeout=120)
    assert friend.wait(60) == 0 and first.returncode == 0, (out, err)
    assert "one_one over tcp" in out and "refused somebody" in err
    for process in (stranger, friend):
        process.stdout.close()
        process.stderr.close()


@case
def a_token_is_not_seen_among_the_words_of_the_command():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{probe.getsockname()[1]}"
    for words in (("--token", "open-sesame"), ("--token=open-sesame",)):
        with subprocess.Popen([common.GAUGE, "run", "one_one", "tcp", "--listen", where, *words],
                              stderr=subprocess.DEVNULL, env=clean()) as first:
            words_of = Path(f"/proc/{first.pid}/cmdline")
            end = time.monotonic() + 30
            while b"--token" not in words_of.read_bytes() or b"sesame" in words_of.read_bytes():
                if time.monotonic() > end or first.poll() is not None:
                    first.kill()
                    raise AssertionError(words_of.read_bytes())
                time.sleep(0.01)
            first.kill()


def knock_as_nobody(name):
    """Another user greets end 0 at its local name; returns what end 0 answers."""
    with socket.socket(socket.AF_UNIX) as stream:
        stream.settimeout(60)
        os.seteuid(65534)
        try:
            stream.connect(b"\0" + name.encode())
        finally:
            os.seteuid(0)
        try:
            stream.sendall(struct.pack("=Q64sii", 0x7765667467617501, b"local", 1, 0))
            return stream.recv(8)
        except ConnectionError:
            return b""  # refused before it has read


@case
def another_user_is_no_local_end():
    if os.geteuid() != 0:
        return  # only root can be somebody else
    words = [common.GAUGE, "run", "one_one", "shm", "--sizes", "8", "--time", "0.05"]
    variables = {**clean(), "PMI_SIZE": "2"}
    first = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env={**variables, "PMI_RANK": "0"})
    name = f"weft-gauge-{os.getuid()}-{os.getpid()}"
    end = time.monotonic() + 30
    while f"@{name}\n" not in Path("/proc/net/unix").read_text():
        assert time.monotonic() < end and first.poll() is None
        time.sleep(0.01)
    answer = knock_as_nobody(name)
    if answer != b"":
        first.kill()  # the place of end 1 is taken
    second = subprocess.run(words, env={**variables, "PMI_RANK": "1"}, capture_output=True,
                            check=False, timeout=120)
    err = first.communicate(timeout=120)[1]
    assert answer == b"" and "refused somebody" in err, (answer, err)
    assert second.returncode == 0 and first.returncode == 0, (second.stderr, err)


def launch(rank, size, *words):
    """Two ends of one parent, as a launcher starts them."""
    ends = [subprocess.Popen(
        [common.GAUGE, "run", "one_one", "shm", "--sizes", "8", "--time", "0.05", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**clean(), rank: str(end), size: "2"}) for end in range(2)]
    out = [end.communicate(timeout=120) for end in ends]
    assert all(end.returncode == 0 for end in ends), out
    assert "one_one over shm" in out[0][0] and out[1][0] == "", out


@case
def ends_of_any_launcher_find_each_other():
    launch("PMI_RANK", "PMI_SIZE")
    launch("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")
    launch("SLURM_PROCID", "SLURM_STEP_NUM_TASKS")
    launch("PMIX_RANK", "UNRELATED", "--ends", "2")


@case
def a_launcher_that_does_not_say_how_many_is_asked_for_it():
    done = run("run", "one_one", "shm", code=2, env={"PMIX_RANK": "0"})
    assert "give --ends N" in done.stderr, done


@case
def ends_of_our_own_mpiexec_find_each_other():
    mpiexec = common.BUILD / "launch/mpiexec"
    done = subprocess.run([mpiexec, "-n", "2", common.GAUGE, "run", "one_one", "tcp",
                           "--sizes", "8", "--time", "0.05"], capture_output=True,
                          text=True, timeout=120, env=clean(), check=False)
    assert done.returncode == 0 and done.stdout.count("one_one over tcp") == 1, done


@case
def a_terminal_sees_a_live_line():
    parent, child = pty.openpty()
    process = subprocess.Popen([common.GAUGE, "run", "one_one", "shm", "--sizes", "8",
                                "--time", "0.2"], stdout=subprocess.DEVNULL,
                               stderr=child, env=clean())
    os.close(child)
    seen = b""
    try:
        while chunk := os.read(parent, 4096):
            seen += chunk
    except OSError:
        pass  # the terminal is gone when its last writer is
    os.close(parent)
    assert process.wait(60) == 0
    assert seen.startswith(b"\r\x1b[Kone_one  8 B  0 samples"), seen  # before the first
    assert seen.endswith(b"\x1b[K")


@case
def an_end_that_dies_takes_the_run_with_it():
    process = subprocess.Popen([common.GAUGE, "run", "one_one", "shm", "--sizes", "8",
                                "--time", "30", "--width", "0", "--samples", "900000000"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=clean())
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    for _ in range(600):
        child = children.read_text().split()
        if child:
            break
        time.sleep(0.05)
    time.sleep(0.3)
    os.kill(int(child[0]), 9)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "a forked end has failed" in err, err


@case
def without_arguments_it_draws_a_picture_and_names_three_commands():
    start = time.monotonic()
    text = run().stdout
    assert time.monotonic() - start < 60  # ten seconds on a machine of its own
    assert "time of one message" in text and "bandwidth" in text
    assert len(re.findall(r"^  weft-gauge ", text, re.M)) == 3
    assert text.count("o") > 20


def without_gnuplot():
    """A path on which there is nothing."""
    return {"PATH": "/nowhere"}


@case
def a_picture_is_drawn_by_gnuplot_or_refused():
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("svg", "png"):
            name = Path(folder) / f"picture.{kind}"
            words = ("run", "loggp", "sim", "--sizes", "1:4K", "--plot", name)
            if shutil.which("gnuplot"):
                run(*words)
                assert name.stat().st_size > 1000
                done = run(*words, code=1)
                assert "File exists" in done.stderr
                if kind == "svg":
                    text = name.read_text()
                    assert "o_s" in text and "fit: 500 ns" in text, text
            name.unlink(missing_ok=True)
            done = run(*words, code=1, env=without_gnuplot())
            assert "wants gnuplot" in done.stderr and not name.exists()
    done = run("run", "loggp", "sim", "--plot", "picture.gif", code=1)
    assert ".svg or .png" in done.stderr


@case
def every_pattern_draws_a_picture():
    if not shutil.which("gnuplot"):
        return
    with tempfile.TemporaryDirectory() as folder:
        for pattern in simulated():
            name = Path(folder) / f"{pattern}.svg"
            done = run("run", pattern, "sim", "--ends", "4", "--sizes", "0,1,1K",
                       "--samples", "60", "--plot", name)
            assert name.stat().st_size > 1000 and not done.stderr, (pattern, done.stderr)
            if pattern == "one_one":  # MB/s are no latency
                assert ">size / latency" in name.read_text(), name.read_text()


@case
def every_pattern_runs_over_every_module_or_says_why_not():
    for pattern in names("patterns"):
        for module in names("modules"):
            done = subprocess.run(
                [common.GAUGE, "run", pattern, module, "--sizes", "0,1,1K", "--time",
                 "0.02", "--samples", "60"], capture_output=True, text=True, timeout=120,
                env=clean(), check=False)
            if done.returncode == 0:
                assert f"{pattern} over {module}" in done.stdout, done
            else:
                assert done.returncode == 2 and done.stderr.count("\n") == 1, done
                assert not done.stdout, done


if __name__ == "__main__":
    main()
