"""symbols.py NM LIBRARY - libmpifort_abi stands on the standard ABI and on nothing else.

Every symbol that it takes from others is a function of the ABI or of the C library, and
all procedures of the table are there, under the names of mpif.h, mpi_f08 and profiling.
"""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "bindings/gen"))

import fortran  # noqa: E402
import spec  # noqa: E402


def symbols(nm, library, *options):
    text = subprocess.run([nm, "-D", *options, library], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    return [line.split()[-1] for line in text.splitlines()]


def main(nm, library):
    abi = {prefix + f.name for f in spec.functions() for prefix in ("", "P")}
    foreign = [s for s in symbols(nm, library, "--undefined-only")
               if s not in abi and "@GLIBC" not in s and not s.startswith(("_", "__"))]
    defined = set(symbols(nm, library, "--defined-only"))
    wanted = set()
    for p in fortran.procedures():
        for prefix in ("mpi_", "pmpi_"):
            wanted.add(f"{prefix}{p.f08_name}_")
            if not p.is_large:
                wanted.add(f"{prefix}{p.lower}_")
    wrong = [f"not of the ABI: {s}" for s in foreign]
    wrong += [f"missing: {s}" for s in sorted(wanted - defined)]
    wrong += [f"exported: {s}" for s in sorted(defined) if s.startswith("weft_")]
    print(f"{len(wanted)} symbols")
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
