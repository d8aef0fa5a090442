#!/usr/bin/env python3
"""patterns.py - each pattern over networks that are known, against what a model of the same
network says. Clocks are tried with GAUGE_SEEDS seeds (100 in .ci/long).

The model is written here a second time, as short as can be, so that pattern, module and
statistics are held against something that shares no line with them.
"""

import os

from common import case, main, measure, results, rows, run

SEEDS = int(os.environ.get("GAUGE_SEEDS", "3"))
NETWORK = {"L": 1000, "os": 300, "or": 400, "g": 500, "G": 0.1}


class End:
    """An end of a LogGP network: when its processor and its interface are free."""

    def __init__(self, network=None, now=0.0):
        self.net = network or NETWORK
        self.now = now
        self.interface = 0.0

    def send(self, size):
        """The arrival of the message."""
        self.now += self.net["os"]
        start = max(self.now, self.interface)
        transfer = max(size - 1, 0) * self.net["G"]
        self.interface = start + self.net["g"] + transfer
        return start + transfer + self.net["L"]

    def receive(self, arrival):
        self.now = max(self.now, arrival) + self.net["or"]


def options(network):
    return [word for key, value in network.items() for word in (f"--{key}", value)]


def near(value, true, share=1e-6):
    return value is not None and abs(value - true) <= share * max(abs(true), 1)


def only(lines, **wanted):
    """The rows with such values, of their fields or conditions."""
    return [row for row in rows(lines)
            if all({**row["conditions"], **row}.get(k) == v for k, v in wanted.items())]


def value(lines, name, size=None):
    """The one result of a name, with its bounds: (value, low, high)."""
    found = [line for line in lines if line["type"] == "result" and line["name"] == name
             and (size is None or line["from_bytes"] == size)]
    assert len(found) == 1, (name, found)
    return tuple(next(v for k, v in found[0].items() if k.startswith(part))
                 for part in ("value_", "low_", "high_"))


def window_time(size, window):
    """The median of a stream's samples: rounds long after the first."""
    sender, receiver, times = End(), End(), []
    for _ in range(5):
        sender.receive(receiver.send(0))
        start = sender.now
        arrivals = [sender.send(size) for _ in range(window)]
        for arrival in arrivals:
            receiver.receive(arrival)
        sender.receive(receiver.send(0))
        times.append(sender.now - start)
    return times[-1]


@case
def a_stream_is_as_fast_as_the_gap_allows():
    lines = measure("stream", "sim", "--sizes", "1,4K", "--ends", 4, *options(NETWORK))
    for size in (1, 4096):
        true = window_time(size, 64)
        for row in only(lines, size_bytes=size):
            assert near(row["median_ns"], true / 64), (row["median_ns"], true / 64)
        assert near(value(lines, "message_rate", size)[0], 2 * 64e9 / true)
        assert near(value(lines, "bandwidth", size)[0], 2 * 64e9 * size / true)
    assert {row["conditions"]["pairs"] for row in rows(lines)} == {1, 2}
    # Without the answer's way, which 64 messages share, only the gap is left.
    assert near(window_time(4096, 1000) - window_time(4096, 999), 500 + 4095 * 0.1)


@case
def a_partner_that_comes_late_from_the_barrier_is_not_timed():
    """It comes a millisecond later in every round, and no sample of any round tells."""
    late = ("sim", "--sizes", "1,4K", "--late", 1e6, *options(NETWORK))
    for words in (("one_one",), ("one_one", "--cold"), ("one_one", "--both"), ("stream",)):
        found = rows(measure(*words[:1], *late, *words[1:]))
        assert len(found) == 2, words
        for row in found:
            true = (1700 + (row["size_bytes"] - 1) * 0.1 if words[0] == "one_one"
                    else window_time(row["size_bytes"], 64) / 64)
            worst = max(row["samples_ns"], key=lambda time: abs(time - true))
            assert near(worst, true), (words, row["size_bytes"], worst, true)


@case
def lateness_from_the_barrier_moves_no_median():
    for words in (("loggp",), ("plogp",), ("many_one", "--ends", 4), ("one_many", "--ends", 4),
                  ("overlap",), ("queue", "--ends", 3)):
        said = [[(row["name"], row["median_ns"]) for row in rows(measure(
            words[0], "sim", "--sizes", "1,4K", "--late", late, *words[1:],
            *options(NETWORK)))] for late in (0, 1e6)]
        assert len(said[0]) == len(said[1]) > 0, words
        for (name, without), (_, median) in zip(*said):
            assert near(median, without), (words, name, median, without)


@case
def the_window_shrinks_before_memory_runs_out():
    lines = measure("stream", "sim", "--sizes", "1M,16M", "--no-verify")
    assert [row["conditions"]["window"] for row in rows(lines)
            if row["size_bytes"] == 1 << 20] == [16]
    assert [row["conditions"]["window"] for row in rows(lines)
            if row["size_bytes"] == 1 << 24] == [2]


def congested(size, ends, server, is_to_one):
    """{end: time} of a round long after the first."""
    end = [End() for _ in range(ends)]
    clients = [i for i in range(ends) if i != server]
    times = {}
    for _ in range(5):
        start = {server: end[server].now}
        signs = {i: end[server].send(0) for i in clients}
        for i in clients:
            end[i].receive(signs[i])
            start[i] = end[i].now
        if is_to_one:
            arrivals = {i: end[i].send(size) for i in clients}
            for i in clients:
                end[server].receive(arrivals[i])
            times[server] = end[server].now - start[server]
            answers = {i: end[server].send(0) for i in clients}
            for i in clients:
                end[i].receive(answers[i])
                times[i] = end[i].now - start[i]
        else:
            asked = {i: end[i].send(0) for i in clients}
            for i in clients:
                end[server].receive(asked[i])
            start[server] = end[server].now
            arrivals = {i: end[server].send(size) for i in clients}
            answers = {}
            for i in clients:
                end[i].receive(arrivals[i])
                times[i] = end[i].now - start[i]
                answers[i] = end[i].send(0)
            for i in clients:
                end[server].receive(answers[i])
            times[server] = end[server].now - start[server]
    return times


def check_congested(pattern, is_to_one):
    lines = measure(pattern, "sim", "--sizes", "0,64,4K", "--ends", 5, *options(NETWORK))
    servers = set()
    for size in (0, 64, 4096):
        found = only(lines, size_bytes=size)
        server = int(found[0]["conditions"]["server"])
        servers.add(server)
        true = congested(size, 5, server, is_to_one)
        assert len(found) == 5, found
        for row in found:
            assert near(row["median_ns"], true[row["end"]]), (row["end"], row["median_ns"],
                                                             true)
        clients = [time for end, time in true.items() if end != server]
        if size:
            assert near(value(lines, "slowest over fastest client", size)[0],
                        max(clients) / min(clients))
            assert near(value(lines, "bandwidth", size)[0], 4e9 * size / true[server])
    assert len(servers) > 1, "the server is always the same"


@case
def many_to_one_is_timed_at_every_end():
    check_congested("many_one", True)


@case
def one_to_many_is_timed_at_every_end():
    check_congested("one_many", False)


def clocks(lines, peer):
    """{name: (value, low, high)} of the results about one end."""
    return {line["name"]: tuple(next(v for k, v in line.items() if k.startswith(part))
                                for part in ("value_", "low_", "high_"))
            for line in lines if line["type"] == "result"
            and line["note"].startswith(f"end {peer} against")}


@case
def drifting_clocks_are_known_within_the_stated_bound():
    for words in ((), ("--spread", 0.2, "--detours", 0.01)):
        for seed in range(1, SEEDS + 1):
            lines = measure("clock", "sim", "--offset", 1e9, "--drift", 50, "--ends", 3,
                            "--seed", seed, "--span", 10, *words)
            for peer in (1, 2):
                found = clocks(lines, peer)
                offset, low, high = found["offset"]
                true = peer * (1e9 + 50e-6 * found["offset_time"][0])
                assert low <= true <= high, (low, true, high)
                assert high - low < 4000, "the bound says nothing"
                drift, low, high = found["drift"]
                assert low <= 50 * peer <= high, (low, drift, high)
                assert high - low < 2, "the bound says nothing"
                assert abs(found["residual"][0]) <= found["residual_bound"][0], found


@case
def clocks_of_one_machine_agree():
    found = clocks(measure("clock", "shm"), 1)
    low, high = found["offset"][1:]
    assert low <= 0 <= high, (low, high)


@case
def noise_is_what_the_network_was_told_to_have():
    lines = measure("noise", "sim", "--detours", 0.01, "--detour", 20000, "--pieces", 40000,
                    "--span", 0.02)
    for end in (0, 1):
        found = {name: next(v for v, note in pairs if note == f"of end {end}")
                 for name, pairs in results(lines).items()}
        # Of 40,000 pieces of 10 us some 400 are 20 us longer; by chance 10 % more or less.
        assert near(found["noise"], 0.2 / 10.2, 0.2), found
        # A detour in a hundred steps of 50 ns.
        step = 50 + 0.01 * 20000
        assert near(found["detours"], 0.01 / step * 1e9, 0.2), found
        assert near(found["away"], 0.01 * 20000 / step, 0.2), found
        row = only(lines, name="detour", end=end)[0]
        assert near(row["median_ns"], 20000), row["median_ns"]
        gaps = only(lines, name="detour_gap", end=end)[0]["samples_ns"]
        assert len(gaps) == len(row["samples_ns"]) and sum(gaps) <= 0.02e9


@case
def without_noise_there_is_none():
    found = results(measure("noise", "sim", "--span", 0.01))
    assert all(near(v, 0) for name in ("noise", "detours", "away") for v, _ in found[name])


def post_work_wait(interval, size, queue):
    """(work, wait, cycle) of a round long after the first."""
    worker, sender = End(), End()
    for _ in range(5):
        begin = worker.now
        sign = worker.send(1)
        start = worker.now
        worker.now += interval
        worked = worker.now
        sender.receive(sign)
        for arrival in [sender.send(size) for _ in range(queue)]:
            worker.receive(arrival)
    return worked - start, worker.now - worked, worker.now - begin


def polling(interval, size, queue, poll=20):
    """(time of an interval, bytes per second) of a sample long after the first."""
    worker, sender, polls = End(), End(), min(max(2e6 // interval, 4), 1000)
    for _ in range(3):
        signs = [worker.send(1) for _ in range(queue)]
        start, got, arrivals = worker.now, 0, []
        for _ in range(int(polls)):
            worker.now += interval
            for _ in range(queue):
                if not arrivals:  # the sender answers each sign in its turn
                    sender.receive(signs.pop(0))
                    arrivals.append(sender.send(size))
                if arrivals[0] > worker.now:
                    worker.now += poll
                    break
                worker.receive(arrivals.pop(0))
                got += 1
                signs.append(worker.send(1))
        time = worker.now - start
        while signs or arrivals:
            if not arrivals:
                sender.receive(signs.pop(0))
                arrivals.append(sender.send(size))
            worker.receive(arrivals.pop(0))
        sender.receive(worker.send(1))
    return time / polls, got * size / time * 1e9


@case
def overlap_is_that_of_a_network_which_moves_messages_by_itself():
    size, queue = 100000, 4
    lines = measure("overlap", "sim", "--to", 200000, *options(NETWORK))
    alone_cycle = post_work_wait(0, size, queue)[2]
    for interval in (10000, 20000, 40000, 80000, 160000):
        true = dict(zip(("work_with_messages", "wait", "cycle"),
                        post_work_wait(interval, size, queue)), work_alone=interval)
        true["poll"], rate = polling(interval, size, queue)
        for name, time in true.items():
            row, = only(lines, name=name, interval_ns=interval)
            assert near(row["median_ns"], time), (name, interval, row["median_ns"], time)
        found = {(line["name"], line["note"]): next(v for k, v in line.items()
                                                    if k.startswith("value_"))
                 for line in lines if line["type"] == "result"}
        pww, poll = (f"{method}, work of {interval} ns"
                     for method in ("post-work-wait", "polling"))
        assert near(found["availability", pww], 1)
        assert near(found["overlap", pww], (alone_cycle + interval - true["cycle"])
                    / min(alone_cycle, interval))
        assert near(found["availability", poll], interval / true["poll"])
        assert near(found["bandwidth", poll], rate, 0.02), (found["bandwidth", poll], rate)


@case
def comb_draws_work_alone_and_with_messages():
    text = run("run", "overlap", "sim", "--comb", "--to", 100000).stdout
    assert "while messages come" in text and "x work_with_messages" in text
    assert "wait" not in text.replace("post-work-wait", "") and "poll" not in text


@case
def an_entry_of_a_queue_costs_what_the_network_was_told():
    for ends in (3, 5):
        lines = measure("queue", "sim", "--ends", ends, "--entry", 7, "--depth", 256)
        assert near(value(lines, "posted_entry")[0], 7), lines
        assert near(value(lines, "unexpected_entry")[0], 7), lines
        for row in rows(lines):
            assert near(row["median_ns"], 3400 + 7 * row["conditions"]["depth"]), row
            assert row["conditions"]["sources"] == ends - 2
    lines = measure("queue", "sim", "--ends", 3, "--depth", 64)
    assert near(value(lines, "posted_entry")[0], 0)


@case
def queues_are_filled_and_emptied_over_every_module_of_three_ends():
    for module in ("shm", "tcp"):
        lines = measure("queue", module, "--ends", 3, "--depth", 64, "--time", 0.05)
        assert len(rows(lines)) == 16


def by_size(lines, name):
    """{size: value} of the results of a name."""
    return {line["from_bytes"] or 0: line["value_ns"] for line in lines
            if line["type"] == "result" and line["name"] == name}


@case
def plogp_returns_the_parameters_as_functions_of_the_size():
    for network in (NETWORK, {**NETWORK, "os": 700}, {**NETWORK, "or": 900, "G": 0.5}):
        lines = measure("plogp", "sim", "--sizes", "0,1,64,1K,64K", *options(network))
        gap = max(network["os"], network["or"], network["g"])
        sends, receives, gaps = (by_size(lines, name) for name in ("o_s", "o_r", "g"))
        assert {0, 1, 64, 1024, 65536} <= set(gaps) == set(sends) == set(receives)
        for size in gaps:
            assert near(sends[size], network["os"]) and near(receives[size], network["or"])
            assert near(gaps[size], gap + max(size - 1, 0) * network["G"]), (size, gaps)
        assert near(value(lines, "L")[0],
                    network["os"] + network["L"] + network["or"] - gap)


@case
def plogp_looks_closer_where_another_protocol_begins():
    words = ("plogp", "sim", "--sizes", "0,1,8,64,512,4K,32K", *options(NETWORK))
    plain = by_size(measure(*words), "g")
    found = by_size(measure(*words, "--break", 10000, "--break-factor", 3), "g")
    assert len(found) > len(plain), (found, plain)
    jump = max(zip(sorted(found), sorted(found)[1:]),
               key=lambda pair: found[pair[1]] - found[pair[0]])
    assert jump[0] < 10000 <= jump[1] and jump[1] - jump[0] < 1000, jump


if __name__ == "__main__":
    main()
