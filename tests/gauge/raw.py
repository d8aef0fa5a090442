#!/usr/bin/env python3
"""raw.py - udp, ip and eth on a loopback of their own: what they need, and what they lose.

Raw packets and frames want a right that only root has; root of a user namespace has it over
the network namespace that came with it, in which there is nothing but a loopback.
"""

import json
import subprocess
import tempfile
from pathlib import Path

import common
from common import case, clean, main, rows

ALONE = ["unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
WITHOUT_RIGHTS = ["unshare", "-U"]  # all rights, but over nothing that exists


def can(*words):
    return subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0


def gauge(place, *words):
    return subprocess.run([*place, common.GAUGE, *words], capture_output=True, text=True,
                          timeout=common.TIMEOUT, env=clean(), check=False,
                          stdin=subprocess.DEVNULL)


def measure(*words):
    """The rows of a run on a loopback of its own."""
    with tempfile.TemporaryDirectory() as folder:
        name = Path(folder) / "out.json"
        done = gauge(ALONE, "run", "one_one", *words, "--json", name)
        assert done.returncode == 0, done
        return rows([json.loads(line) for line in name.read_text().splitlines()])


@case
def the_missing_right_is_named():
    if not can(*WITHOUT_RIGHTS):
        return
    for module in ("ip", "eth"):
        done = gauge(WITHOUT_RIGHTS, "run", "one_one", module)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done
        assert "need the right CAP_NET_RAW, which this process lacks" in done.stderr, done
    assert gauge(WITHOUT_RIGHTS, "list").stdout.count("not here: raw") == 2


@case
def options_that_do_not_go_are_refused():
    for words, sentence in ((("udp", "--wait", "hope"), "--wait is spin or block"),
                            (("udp", "--patience", "0"), "--patience is more than 0"),
                            (("udp", "--loss", "1"), "--loss is a share"),
                            (("eth", "--interface", "air0"), 'no interface "air0"')):
        done = gauge([], "run", "one_one", *words)
        assert done.returncode == 2 and sentence in done.stderr, done
    done = gauge([], "run", "loggp", "udp")
    assert "loggp needs that nothing is lost, which udp does not offer" in done.stderr, done


@case
def an_interface_that_is_down_is_named():
    if can("unshare", "-rn"):
        done = gauge(["unshare", "-rn"], "run", "one_one", "eth")
        assert done.returncode == 2 and "interface lo is down" in done.stderr, done


@case
def every_size_that_fits_is_measured():
    # Patience outlasts any wait for a processor: an end that waits for one loses nothing.
    if can(*ALONE):
        for module, largest in (("udp", 65483), ("ip", 65491), ("eth", 65511)):
            found = measure(module, "--sizes", f"0,1,1500,{largest},{largest + 1}",
                            "--time", "0.1", "--patience", "20000")
            assert sorted(row["size_bytes"] for row in found) == [0, 1, 1500, largest]
            assert all(row["samples"] > 0 for row in found), found


@case
def losses_are_counted_and_the_rest_is_measured():
    if can(*ALONE):
        for module in ("udp", "ip", "eth"):
            row, = measure(module, "--sizes", "8", "--width", "0", "--loss", "0.01",
                           "--patience", "20", "--time", "0.5")
            assert row["lost"] > 0 and row["samples"] > 0, row


@case
def a_size_of_which_all_is_lost_has_a_row():
    """Its calibration may succeed, and its time be over before another sample."""
    sizes = range(1, 41)
    if can(*ALONE):
        found = measure("udp", "--sizes", ",".join(map(str, sizes)), "--loss", "0.03",
                        "--patience", "50", "--time", "0.01")
        assert {row["size_bytes"] for row in found} == set(sizes), found


if __name__ == "__main__":
    main()
