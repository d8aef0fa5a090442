"""every.py FORM MPIFORT MPIEXEC COUNTER - every procedure of Fortran is called, at run time.

Builds every/every.F90 for FORM (mpif.h, mpi, mpi_f08 or large, which is mpi_f08 with large
counts) and runs it twice on 2 ranks: the second run ends with MPI_Abort.  COUNTER is the C
source of tests/mpi/count.py that notes each function of the C library that is entered.  Fails
if a procedure of bindings/spec is not named by the program, or its C function was not entered.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import run

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "bindings/gen"))

import fortran  # noqa: E402

FORMS = {"mpif.h": ["-DMPIF"], "mpi": [], "mpi_f08": ["-DF08"], "large": ["-DF08", "-DLARGE"]}
GFORTRAN = ["-fallow-argument-mismatch", "-fcray-pointer"]
# Procedures without a function in C, and what else has a name of its own.
ALSO = {"mpif.h": ["mpi_f_sync_reg_", "mpi_keyval_create_", "mpi_keyval_free_", "mpi_attr_put_",
                   "mpi_attr_get_", "mpi_attr_delete_"],
        "mpi_f08": ["mpi_f_sync_reg_f08ts_", "mpi_status_f2f08_f08_", "mpi_status_f082f_f08_"],
        "large": []}
ALSO["mpi"] = ALSO["mpif.h"] + ["mpi_alloc_mem_cptr_", "mpi_win_allocate_cptr_",
                                "mpi_win_allocate_shared_cptr_", "mpi_win_shared_query_cptr_"]


def wanted(form):
    """The symbol and the C function of each procedure."""
    chosen = [p for p in fortran.procedures() if p.is_large == (form == "large")]
    is_f08 = form in ("mpi_f08", "large")
    return {f"mpi_{p.f08_name if is_f08 else p.lower}_": p.function.name for p in chosen}


def named(program):
    text = subprocess.run(["nm", "-D", "--undefined-only", program], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    return {line.split()[-1] for line in text.splitlines()}


def start(mpiexec, program, folder, *words):
    return subprocess.run([mpiexec, "-n", "2", program, *words], timeout=240, cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, "WEFT_COUNTED": str(Path(folder) / "entered")})


def main(form, mpifort, mpiexec, counter):
    flags = ["-cpp", "-g", "-w", f"-I{HERE / 'every'}", *FORMS[form]]
    if "gfortran" in os.environ["WEFT_FC"]:
        flags += GFORTRAN
    mpiexec = Path(mpiexec).resolve()
    with tempfile.TemporaryDirectory() as folder:
        program = run.build(Path(mpifort).resolve(), [str(HERE / "every/every.F90"), counter],
                            flags, folder)
        done = start(mpiexec, program, folder)
        aborted = start(mpiexec, program, folder, "abort")
        symbols = named(program)
        entered = set((Path(folder) / "entered").read_text().split())
    print(done.stdout)
    if done.returncode != 0 or "passed" not in done.stdout or aborted.returncode == 0:
        sys.exit(f"exit codes {done.returncode} and {aborted.returncode}")
    table = wanted(form)
    wrong = [f"not named: {s}" for s in [*table, *ALSO[form]] if s not in symbols]
    wrong += [f"not entered: {f}" for f in table.values() if f not in entered]
    print(f"{len(table)} procedures called")
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
