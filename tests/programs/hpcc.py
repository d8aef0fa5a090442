"""hpcc.py - the HPC Challenge: HPL, PTRANS, RandomAccess, FFT, STREAM, latency and bandwidth.

Its main() always returns 0, and it appends to hpccoutf.txt; what it found is in that file.
"""

import re

from kit import Run, all_or_nothing, ended

PACKAGE = "hpcc"
SPOILED = "double"
SPOILED_LEAST = 32  # loop counts are sent as doubles, too

# What has to stand in hpccoutf.txt, and how often.
WANTED = [
    (r"^Success=1$", 1),
    (r"^\s*0 tests completed and failed", 2),  # HPL and PTRANS
    (r"^MPIRandomAccess_Errors=0$", 1),
    (r"^MPIRandomAccess_LCG_Errors=0$", 1),
    (r"^MPIFFT_maxErr=[\d.]+e-1\d$", 1),
]


def build(kit, source, jobs):
    rules = (source / "hpl/setup/Make.Linux_PII_FBLAS").read_text()
    (source / "hpl/Make.any").write_text(rules)
    kit.make(["make", f"-j{jobs}", "arch=any", f"CC={kit.mpicc}", f"LINKER={kit.mpicc}",
              "MPinc=", "MPlib=", "LAlib=-lblas", f"CCFLAGS=$(HPL_DEFS) -O2 -w {kit.old}"], source)


def input_text(text, size, rows, columns):
    """The package's example with another order of the matrix and another grid of ranks."""
    text = re.sub(r"^\d+(\s+Ns)$", rf"{size}\1", text, flags=re.M)
    text = re.sub(r"^\d+(\s+Ps)$", rf"{rows}\1", text, flags=re.M)
    return re.sub(r"^\d+(\s+Qs)$", rf"{columns}\1", text, flags=re.M)


def check(code, said, folder):
    faults = ended(code)
    path = folder / "hpccoutf.txt"
    text = path.read_text(errors="replace") if path.is_file() else ""
    for pattern, times in WANTED:
        found = len(re.findall(pattern, text, re.M))
        if found < times:
            faults.append(f"hpccoutf.txt has {pattern} {found} times, not {times}")
    errors = re.findall(r"^\w*Errors=(?!0$).*$", text, re.M)
    return all_or_nothing(faults + errors)


def one(kit, source, size, rows, columns):
    ranks = rows * columns
    folder = source / f"run-{ranks}-{size}"

    def before():
        folder.mkdir(exist_ok=True)
        text = (source / "_hpccinf.txt").read_text()
        (folder / "hpccinf.txt").write_text(input_text(text, size, rows, columns))
        (folder / "hpccoutf.txt").unlink(missing_ok=True)

    return Run(f"order {size}", str(ranks), [kit.mpiexec, "-n", ranks, source / "hpcc"],
               folder, check, 600, before)


def runs(kit, source, small):
    if small:
        return [one(kit, source, 400, 1, 2)]
    return [one(kit, source, 1000, 1, 2), one(kit, source, 1000, 2, 2)]


def spoiled(kit, source):
    return one(kit, source, 400, 1, 2)
