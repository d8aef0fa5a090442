"""boost_mpi.py - Boost's MPI library in C++, with the tests that its authors wrote.

Boost's own build tool is not needed: library and tests are compiled file by file. Ranks of each
test are those of libs/mpi/test/Jamfile.v2, as far as they are not more than RANKS.
"""

import re
from concurrent.futures import ThreadPoolExecutor

from kit import Run, all_or_nothing, ended

PACKAGE = "boost1.74"
SPOILED = "int"
FLAGS = ["-std=c++14", "-O0", "-w", "-DMPICH_SKIP_MPICXX", "-DOMPI_SKIP_MPICXX"]
RULE = re.compile(r"\[\s*mpi-test\s+(\w+_test)\s*(?::\s*:\s*:([\d\s]+))?\]")
DEFAULT = "1 2 3 4 7 8 13 17"  # of Boost's tools/build/src/tools/mpi.jam
RANKS = 4


def wanted(name):
    """Of an archive with all of Boost: headers, this library and the one below it."""
    return name.startswith(("boost/", "libs/mpi/", "libs/serialization/src/")) or \
        re.match(r"libs/(\w+|numeric/\w+)/include/", name) is not None


def jobs_of(source):
    """[(test, ranks)] of the tests that are a file of the same name."""
    text = re.sub(r"#.*", "", (source / "libs/mpi/test/Jamfile.v2").read_text())
    return [(test, int(ranks)) for test, listed in RULE.findall(text)
            for ranks in (listed or DEFAULT).split() if int(ranks) <= RANKS]


def build(kit, source, jobs):
    folders = [*source.glob("libs/*/include"), *source.glob("libs/numeric/*/include"), source]
    flags = [*FLAGS, *(f"-I{folder}" for folder in folders)]
    made = source / "made"
    made.mkdir()

    def compiled(path):
        target = made / f"{path.parent.parent.name}-{path.stem}.o"
        kit.make([kit.mpicxx, *flags, "-c", path, "-o", target], source)
        return target

    def linked(test):
        path = source / f"libs/mpi/test/{test}.cpp"
        kit.make([kit.mpicxx, *flags, path, *objects, "-o", made / test], source)

    paths = [*source.glob("libs/serialization/src/*.cpp"), *source.glob("libs/mpi/src/*.cpp")]
    with ThreadPoolExecutor(jobs) as pool:
        objects = list(pool.map(compiled, paths))
        list(pool.map(linked, sorted({test for test, _ in jobs_of(source)})))


def check(code, said, folder):
    faults = ended(code)
    if code == 0 and "error" in said.replace("No errors detected", ""):
        faults += [line for line in said.splitlines() if "error" in line][:3]
    return all_or_nothing(faults)


def one(kit, source, test, ranks):
    return Run(test, str(ranks), [kit.mpiexec, "-n", ranks, source / "made" / test], source,
               check)


def runs(kit, source, small):
    return [one(kit, source, test, ranks) for test, ranks in jobs_of(source)]


def spoiled(kit, source):
    return one(kit, source, "all_reduce_test", 2)
