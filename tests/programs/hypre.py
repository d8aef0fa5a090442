"""hypre.py - hypre's solvers on structured grids and matrices, by its own lists of jobs.

runtest.sh runs the jobs of a list and compares answers of jobs that have to agree, and each
answer with the one that the package brings. What differs is left in LIST.err.
"""

from kit import Run, ended

PACKAGE = "hypre"
SPOILED = "double"
LISTS = ["TEST_ij/default", "TEST_ij/matrix", "TEST_ij/vector", "TEST_ij/coarsening",
         "TEST_struct/pfmgbase1d", "TEST_struct/pfmgbase2d", "TEST_struct/smgbase1d",
         "TEST_struct/smgbase2d", "TEST_struct/periodic", "TEST_struct/solvers",
         "TEST_struct/migrate"]
PROGRAMS = ["ij", "struct", "struct_migrate"]


def build(kit, source, jobs):
    folder = source / "src"
    kit.make(["./configure", f"CC={kit.mpicc}", f"CXX={kit.mpicxx}", "--disable-fortran",
              "--with-MPI", "--without-mli", "--without-superlu", f"CFLAGS=-O1 {kit.old}",
              "CXXFLAGS=-O1"], folder)
    kit.make(["make", f"-j{jobs}"], folder, 3600)
    kit.make(["make", f"-j{jobs}", *PROGRAMS], folder / "test")


def jobs_of(folder, name):
    """How many jobs a list has."""
    lines = (folder / f"{name}.jobs").read_text().splitlines()
    return sum("mpirun" in line and "#" not in line for line in lines)


def checker(name):
    def check(code, said, folder):
        faults = ended(code)
        jobs = jobs_of(folder, name)
        path = folder / f"{name}.err"
        if not path.is_file():
            faults.append(f"there is no {path.name}")
        elif path.stat().st_size > 0:
            faults += path.read_text(errors="replace").strip().splitlines()[:3]
        return (0 if faults else jobs), jobs, faults
    return check


def one(kit, source, name):
    folder = source / "src/test"

    def before():
        for path in (folder / name).parent.glob(f"{(folder / name).name}.err*"):
            path.unlink()

    command = ["bash", "./runtest.sh", "-mpi", f"{kit.mpiexec} -n", "-rtol", "1e-6",
               "-atol", "1e-6", f"{name}.sh"]
    return Run(name, "1 to 8", command, folder, checker(name), 1800, before)


def runs(kit, source, small):
    return [one(kit, source, name) for name in (LISTS[:1] if small else LISTS)]


def spoiled(kit, source):
    return one(kit, source, "TEST_struct/pfmgbase1d")
