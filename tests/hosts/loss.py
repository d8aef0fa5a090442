"""loss.py - datagrams between hosts that lose single packets: the contract of the transport
`dgram`, and the programs of ../mpi over it.

    loss.py MPIEXEC CONTRACT [--cases CASE...] [--programs WORDS...] [--loss 1[,10...]]
            [--ranks 2,5] [--rotating] [--only contract|programs]

Three hosts of netlab's have two links each. What the launcher says takes the first, which loses
nothing. All messages take the second one, or the loopback of a host that ranks share, and there
each packet of a wire's width is lost by itself, with a probability of so many per cent. With two
ranks each is on a host of its own; five are on three hosts. The contract's ranks share memory,
so they are on one host.

Each of WORDS is the name of a program and its arguments; a "@0@" among them stands for a file. With
--rotating only a tenth of the programs is run, with one of the numbers of ranks: another one
with every commit (tools/budget --turn). Programs that expect what a network which
loses many packets cannot give are in UNFIT, with the reason.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lab import NAME, Lab, skip_without_means

HOSTS = 3
TURNS = 10
LIMIT = 300  # seconds of a program
# Up to how many per cent they are run, and why not with more.
UNFIT = {
    "buffered": (0, "it expects that the end of a message comes before the next one"),
    "p2p_away": (1, "it measures how soon an answer comes"),
}
BUDGET = Path(__file__).resolve().parent.parent.parent / "tools/budget"


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("mpiexec", type=os.path.abspath)
    parser.add_argument("contract", type=os.path.abspath)
    parser.add_argument("--cases", nargs="*", default=[])
    parser.add_argument("--programs", nargs="*", default=[])
    parser.add_argument("--loss", default="1", metavar="PERCENT,...")
    parser.add_argument("--ranks", default="2,5", metavar="N,...")
    parser.add_argument("--rotating", action="store_true")
    parser.add_argument("--only", choices=("contract", "programs"))
    return parser.parse_args()


def hosts(ranks):
    return ",".join(f"{NAME}{1 + i}" for i in range(min(ranks, HOSTS)))


def launcher(options, ranks, *words):
    """The hosts share their cores, so no rank is bound, and daemons may be silent for long."""
    return ["env", "WEFT_TRANSPORT=dgram", "WEFT_NET=eth1", "WEFT_HEARTBEAT=60",
            options.mpiexec, "--bind-to", "none", "--timeout", LIMIT, *words, "-n", ranks]


def is_fit(name, loss):
    return name not in UNFIT or float(loss) <= UNFIT[name][0]


def runs(options, folder, loss):
    """Name, number of ranks, and command of each."""
    counts = [int(n) for n in options.ranks.split(",")]
    for n in counts if options.only != "programs" else ():
        yield "contract", n, [*launcher(options, n), options.contract, "dgram", "unreachable",
                              *options.cases]
    programs = [words.split() for words in options.programs if options.only != "contract"]
    chosen = [(words, n) for words in programs for n in counts if is_fit(words[0], loss)]
    if options.rotating:
        turn = int(subprocess.run([BUDGET, "--turn"], check=True, text=True,
                                  stdout=subprocess.PIPE).stdout)
        chosen = chosen[turn::TURNS]
    for words, n in chosen:
        program = Path(options.mpiexec).parent.parent / "tests/mpi" / f"mpi_{words[0]}"
        rest = [word.replace("@0@", f"{folder}/{words[0]}.{n}") for word in words[1:]]
        yield words[0], n, [*launcher(options, n, "--hosts", hosts(n)), program, *rest]


def run(lab, command):
    """The exit code, and what was said on standard error."""
    done = subprocess.run(lab.command("exec", 1, *command), check=False, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT + 30)
    return done.returncode, done.stdout[-1000:] + done.stderr[-3000:]


def main():
    options = parse()
    skip_without_means()
    failed = []
    count = 0
    with tempfile.TemporaryDirectory() as folder, \
            Lab(HOSTS, "--links", 2, "--single") as lab:
        for loss in options.loss.split(","):
            for host in range(1, HOSTS + 1):
                lab("loss", host, loss, 1)
                lab("loss", host, loss, "lo")
            for name, ranks, command in runs(options, folder, loss):
                begin = time.monotonic()
                code, said = run(lab, command)
                what = f"{name} at {ranks}, {loss} % lost"
                count += 1
                print(f"{'FAIL' if code else 'ok  '}  {what} "
                      f"({time.monotonic() - begin:.1f} s)", flush=True)
                if code != 0:
                    failed.append(what)
                    print(f"code {code}\n{said}", flush=True)
    print(f"{count - len(failed)} of {count} hold")
    return 1 if failed else 0


sys.exit(main())
