"""readme.py - the README tells the truth.

    readme.py --self-test
    readme.py --chapters ROOT WEFT_INFO [--update]
        the list of chapters in docs/status.md is what  weft-info --chapters  prints
    readme.py --facts ROOT [--update]
        the figures of README.md are those of the tables that they come from, its links lead to
        files and sections that exist, and it has at most 1,000 words outside of blocks of code
    readme.py --shown ROOT MPIEXEC FOLDER [--update]
        the error and the hang report of README.md are what its examples, built in FOLDER, give
    readme.py --follow ROOT
        the commands under "Quick start" work when followed literally, in a fresh copy of the
        sources and with a fresh home, and hello prints the lines that stand there
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

WORDS = 1000


def block(text, language, begin=""):
    """The first block of this language whose text begins so."""
    return re.search(rf"```{language}\n({begin}.*?)```", text, re.S)


def chapters(root, weft_info, is_update):
    status = Path(root) / "docs" / "status.md"
    text = status.read_text()
    printed = subprocess.run([weft_info, "--chapters"], check=True, text=True,
                             capture_output=True).stdout
    found = block(text, "text", "chapter ")
    if found is None:
        sys.exit("docs/status.md: no list of chapters")
    if is_update:
        status.write_text(text[:found.start(1)] + printed + text[found.end(1):])
    elif found.group(1) != printed:
        sys.exit("docs/status.md: the list of chapters is not what weft-info --chapters prints: "
                 "run tests/house/readme.py --chapters ROOT WEFT_INFO --update")


# ---- figures that come from tables of other documents ----

def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def look_up(text, section, key, column):
    """The cell of `column` in the row that begins with the cells `key`, in the first table of the
    section that has both."""
    found = re.search(rf"^#+ {re.escape(section)}$(.*?)(?=^#+ |\Z)", text, re.S | re.M)
    header = None
    for line in found.group(1).splitlines() if found else []:
        if not line.startswith("|"):
            header = None
        elif header is None:
            header = cells(line)
        elif cells(line)[:len(key)] == list(key) and column in header:
            return cells(line)[header.index(column)]
    sys.exit(f"the section '{section}' has no table with the row {key} and the column {column}")


class Tables:
    """Looks cells up in the documents."""

    def __init__(self, root):
        self.root = Path(root)

    def cell(self, document, section, key, column):
        return look_up((self.root / document).read_text(), section, key, column)

    def number(self, *where):
        return float(self.cell(*where).replace(",", ""))


PERFORMANCE, LAUNCH = "docs/performance.md", "docs/launch.md"
MPIS = ["Weft", "Open MPI", "MPICH"]


def compact(number):
    """Three digits, and thousands with a comma."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.2g}"


def facts(tables):
    """The rows of the README's table."""
    rows = [["", *MPIS, "table"], ["---", "--:", "--:", "--:", "---"]]
    latency = [tables.number(PERFORMANCE, "Latency and rate, 2 ranks", ["pingpong", "8B"], column)
               for column in ("weft", "openmpi", "mpich")]
    rows.append(["half round trip of 8 bytes, two ranks on one machine",
                 *[f"{number:.2f} us" for number in latency],
                 "[latency](docs/performance.md#latency-and-rate-2-ranks)"])
    start = [" / ".join(compact(tables.number(LAUNCH, "Figures", [n], f"{mpi} ms"))
                        for n in ("2", "16", "256")) + " ms" for mpi in MPIS]
    rows.append(["start 2 / 16 / 256 ranks, meet in a barrier, end", *start,
                 "[start](docs/launch.md#figures)"])
    for label, key in (
            ("processor time of a rank that waits 10 s for a message from another host", "idle"),
            ("send 1 MiB to a rank on another host that computes for 200 ms", "away.sender")):
        rows.append([label, *[compact(tables.number(PERFORMANCE, "Between two hosts", [key], mpi)) +
                              " ms" for mpi in MPIS],
                     "[hosts](docs/performance.md#between-two-hosts)"])
    seconds, receiver, _ = tables.cell(PERFORMANCE, "Floods", ["send"],
                                       "Weft: s, receiver, largest sender").split(", ")
    rows.append(["7 ranks flood one that sleeps 5 s: its memory, the end",
                 f"{receiver} MiB, {seconds} s",
                 *[tables.cell(PERFORMANCE, "Floods", ["send"], mpi) for mpi in MPIS[1:]],
                 "[floods](docs/performance.md#floods)"])
    return "\n" + "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def stream(tables):
    """Where Weft is behind, in words."""
    return ", ".join(f"{mpi} {tables.number(PERFORMANCE, 'Between two hosts', ['stream 1 MiB'], mpi):,.0f}"
                     for mpi in MPIS) + " MB/s"


def marked(text, name):
    """What stands between the two marks of this name."""
    found = re.search(rf"<!-- begin: {name} -->(.*?)<!-- end: {name} -->", text, re.S)
    if found is None:
        sys.exit(f"README.md has no marks '{name}'")
    return found


def agree(root, name, wanted, is_update, canonical=lambda text: text):
    """Writes what is wanted between the marks, or fails if it does not stand there."""
    readme = Path(root) / "README.md"
    text = readme.read_text()
    found = marked(text, name)
    if is_update:
        readme.write_text(text[:found.start(1)] + wanted + text[found.end(1):])
    elif canonical(found.group(1)) != canonical(wanted):
        sys.exit(f"README.md, {name}: this stands there:\n{found.group(1)}\nand this is true:\n"
                 f"{wanted}\n(tests/house/readme.py ... --update writes it)")


def anchor(heading):
    """The name by which a link finds a heading."""
    return re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-")


def broken_links(root, text):
    """Links to files or sections that do not exist."""
    broken = []
    for link in re.findall(r"\]\(([^)]+)\)", text):
        name, _, section = link.partition("#")
        path = Path(root) / name
        if not path.exists():
            broken.append(link)
        elif section and section not in [anchor(heading) for heading in
                                         re.findall(r"^#+ (.*)$", path.read_text(), re.M)]:
            broken.append(link)
    return broken


def words(text):
    """The words outside of blocks of code and marks."""
    return len(re.sub(r"```.*?```|<!--.*?-->", "", text, flags=re.S).split())


def check_facts(root, is_update):
    tables = Tables(root)
    agree(root, "facts", facts(tables), is_update)
    agree(root, "stream", stream(tables), is_update)
    text = (Path(root) / "README.md").read_text()
    if broken_links(root, text):
        sys.exit(f"README.md has links that lead nowhere: {broken_links(root, text)}")
    if words(text) > WORDS:
        sys.exit(f"README.md has {words(text)} words outside of blocks of code, more than {WORDS}")


# ---- what the examples print ----

def canonical_report(text):
    """The same for every host and at every speed."""
    text = re.sub(r"\d[\d.]* (us|ms|s)\b", "TIME", text)
    return re.sub(r"on \S+ \(", "on HOST (", text)


def first_error(mpiexec, folder):
    """The line that ends a job whose receive is too short."""
    done = subprocess.run([mpiexec, "-n", "2", "./too_long"], cwd=folder, text=True,
                          stderr=subprocess.PIPE, check=False, timeout=120)
    return re.sub(r"on \S+ \(", "on yourhost (", done.stderr.splitlines()[0]) + "\n"


def hang_report(mpiexec, folder):
    """The first report of a job that hangs, up to the line that says that it goes on."""
    lines = []
    with subprocess.Popen([mpiexec, "--hang-timeout", "3", "--timeout", "100", "-n", "4",
                           "./wrong_tag"],
                          cwd=folder, text=True, stderr=subprocess.PIPE) as job:
        for line in job.stderr:
            lines.append(line)
            if "the job goes on" in line:
                job.send_signal(signal.SIGTERM)
                break
        job.stderr.read()
    return "".join(lines)


def check_shown(root, mpiexec, folder, is_update):
    mpiexec = str(Path(mpiexec).resolve())
    for name, show in (("too_long", first_error), ("wrong_tag", hang_report)):
        wanted = "\n```text\n" + show(mpiexec, folder) + "```\n"
        agree(root, name, wanted, is_update, canonical_report)


TABLE = "## One\n\n| a | b |\n|---|--:|\n| x | 1,234 |\n\n## Two\n\n| a | b |\n|---|---|\n| x | 2 |\n"


def self_test():
    assert look_up(TABLE, "One", ["x"], "b") == "1,234"
    assert look_up(TABLE, "Two", ["x"], "b") == "2"
    try:
        look_up(TABLE, "Two", ["y"], "b")
        raise AssertionError("a row that does not exist was found")
    except SystemExit:
        pass
    assert compact(38324) == "38,324" and compact(9.7) == "9.7" and compact(0.3634) == "0.36"
    assert anchor("Latency and rate, 2 ranks") == "latency-and-rate-2-ranks"
    assert words("one <!-- begin: x --> two\n```\nthree\n```\n") == 2
    assert canonical_report("1 on a (p) for 3 s") == canonical_report("1 on b (p) for 2.5 ms")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.md").write_text("# Part one\n")
        (Path(folder) / "README.md").write_text("<!-- begin: f -->1<!-- end: f -->")
        assert broken_links(folder, "[x](a.md#part-one) [y](a.md)") == []
        assert broken_links(folder, "[x](a.md#two) [y](b.md)") == ["a.md#two", "b.md"]
        agree(folder, "f", "1", False)
        agree(folder, "f", "2", True)
        agree(folder, "f", "2", False)
        try:
            agree(folder, "f", "1", False)
            raise AssertionError("a wrong figure was taken for a right one")
        except SystemExit:
            pass


def copy_sources(root, to):
    """The files git knows or would take, as a fresh clone has them."""
    names = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"],
                           check=True, capture_output=True).stdout
    tar = subprocess.Popen(["tar", "-C", root, "--null", "-T", "-", "-c"],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    unpack = subprocess.Popen(["tar", "-C", to, "-x"], stdin=tar.stdout)
    tar.stdin.write(names)
    tar.stdin.close()
    if tar.wait() != 0 or unpack.wait() != 0:
        sys.exit("the sources cannot be copied")


def without_host(lines):
    """Lines of hello in a fixed order, without the name of the host at their end."""
    return sorted(line.rsplit(" on ", 1)[0] for line in lines)


def follow(root):
    text = (Path(root) / "README.md").read_text()
    commands = block(text, "sh").group(1)
    shown = block(text, "text", "hello ").group(1)
    with tempfile.TemporaryDirectory() as folder:
        sources, home = Path(folder) / "weft", Path(folder) / "home"
        sources.mkdir()
        home.mkdir()
        copy_sources(root, sources)
        environment = {k: v for k, v in os.environ.items()
                       if not k.startswith(("WEFT_", "LD_", "MESON"))}
        environment["HOME"] = str(home)
        done = subprocess.run(["sh", "-e", "-c", commands], cwd=sources, text=True,
                              env=environment, capture_output=True)
    lines = [x for x in done.stdout.splitlines() if x.startswith("hello from rank")]
    if done.returncode != 0 or without_host(lines) != without_host(shown.splitlines()):
        sys.exit(f"followed literally, the README fails:\n{done.stdout}{done.stderr}")
    print("\n".join(lines))


def main(arguments):
    if arguments[:1] == ["--chapters"]:
        chapters(arguments[1], arguments[2], arguments[3:] == ["--update"])
    elif arguments[:1] == ["--facts"]:
        check_facts(arguments[1], arguments[2:] == ["--update"])
    elif arguments[:1] == ["--shown"]:
        check_shown(*arguments[1:4], arguments[4:] == ["--update"])
    elif arguments == ["--self-test"]:
        self_test()
    elif arguments[:1] == ["--follow"]:
        follow(arguments[1])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
