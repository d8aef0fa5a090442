"""build.py - builds MPICH's test programs with an mpicc, without MPICH's configure.

What configure would find out about a Linux machine is written down in `SYSTEM`.  What a
program is made of is read from the Makefile.am beside it.  Programs are kept between runs:
they are built again when a source, a header or the command changes.  A source that does not
compile gets a second try with mpi_legacy.h, which has what the ABI leaves out.
"""

import hashlib
import os
import re
import shlex
import subprocess
from pathlib import Path

ENGLISH = {**os.environ, "LC_ALL": "C"}  # for first_error()
NEW = ("-Werror=implicit-function-declaration",)
OLD = ("-w", "-include", "mpi_legacy.h")
LIMIT = 300  # seconds for one program

HEADERS = ("DLFCN INTTYPES LIMITS MEMORY PTHREAD STDARG STDINT STDLIB STRINGS STRING "
           "SYS_RESOURCE SYS_STAT SYS_TIME SYS_TYPES UNISTD").split()
FEATURES = ("STDC_HEADERS HAVE_GETRUSAGE HAVE_STRDUP HAVE_USLEEP HAVE_MEMSET HAVE__BOOL "
            "HAVE_LONG_LONG HAVE_LONG_DOUBLE HAVE_FLOAT__COMPLEX HAVE_DOUBLE__COMPLEX "
            "HAVE_LONG_DOUBLE__COMPLEX HAVE_MPI_INTEGER16 HAVE_MPI_IO HAVE_MPI_SPAWN "
            "HAVE_MPI_WIN_CREATE USE_STRICT_MPI").split()
SYSTEM = {
    **{f"HAVE_{name}_H": 1 for name in HEADERS},
    **{name: 1 for name in FEATURES},
    "SIZEOF_SHORT": 2, "SIZEOF_INT": 4, "SIZEOF_LONG": 8, "SIZEOF_LONG_LONG": 8,
    "SIZEOF_VOID_P": 8, "SIZEOF_MPI_OFFSET": 8, "POINTERINT_t": "long",
    "F77_NAME_LOWER_USCORE": 1, "THREAD_PACKAGE_NAME": "THREAD_PACKAGE_POSIX",
}

# The types of the pools that many programs draw from.
POOL_TYPES = ("MPI_CHAR,MPI_BYTE,MPI_WCHAR,MPI_SHORT,MPI_INT,MPI_LONG,MPI_LONG_LONG_INT,"
              "MPI_UNSIGNED_CHAR,MPI_UNSIGNED_SHORT,MPI_UNSIGNED,MPI_UNSIGNED_LONG,"
              "MPI_UNSIGNED_LONG_LONG,MPI_FLOAT,MPI_DOUBLE,MPI_LONG_DOUBLE,MPI_INT8_T,"
              "MPI_INT16_T,MPI_INT32_T,MPI_INT64_T,MPI_UINT8_T,MPI_UINT16_T,MPI_UINT32_T,"
              "MPI_UINT64_T,MPI_C_COMPLEX,MPI_C_FLOAT_COMPLEX,MPI_C_DOUBLE_COMPLEX,"
              "MPI_C_LONG_DOUBLE_COMPLEX,MPI_FLOAT_INT,MPI_DOUBLE_INT,MPI_LONG_INT,"
              "MPI_2INT,MPI_SHORT_INT,MPI_LONG_DOUBLE_INT")

COMMON = ("util/mtest.c", "util/mtest_common.c", "util/dtypes.c", "dtpools/src/dtpools.c",
          "dtpools/src/dtpools_misc.c", "dtpools/src/dtpools_init_verify.c",
          "dtpools/src/dtpools_desc.c", "dtpools/src/dtpools_attr.c",
          "dtpools/src/dtpools_custom.c")
KINDS = {"single": "util/mtest_single.c", "thread": "util/mtest_thread.c"}
BARRIER = Path(__file__).resolve().parent / "thread_barrier.c"


class NotBuilt(Exception):
    """Says why, in one line."""


def variables(makefile):
    """What a Makefile.am assigns, name to text."""
    found = {}
    text = makefile.read_text().replace("\\\n", " ")
    for name, plus, value in re.findall(r"^(\w+)[ \t]*(\+?)=[ \t]*(.*)$", text, re.M):
        found[name] = f"{found.get(name, '')} {value}" if plus else value
    return found


def first_error(said):
    """The line of a compiler's or linker's output that tells most."""
    lines = said.strip().splitlines()
    for pattern in (r"error:|undefined reference", r"error|cannot"):
        for line in lines:
            if re.search(pattern, line):
                return re.sub(r"^.*?(error:|undefined reference)", r"\1", line).strip()
    return lines[-1] if lines else "the compiler failed without a word"


class Builder:
    """`programs` is the folder test/mpi, `place` where everything made goes."""

    def __init__(self, programs, place, mpicc):
        self.programs = programs
        self.place = place
        self.mpicc = [str(mpicc)]
        # -g1: tracking the variables of the longest program takes GCC two minutes
        self.flags = ["-O1", "-g1", "-pthread", "-I", str(place / "include"),
                      "-I", str(programs / "include"),
                      "-I", str(programs / "dtpools" / "include")]
        self.common = ""  # what every program depends on
        self.makefiles = {}
        self.objects = {}

    def configure(self):
        text = "".join(f"#define {name} {value}\n" for name, value in SYSTEM.items())
        (self.place / "include").mkdir(parents=True, exist_ok=True)
        # dtpools includes "../dtpoolsconf.h", the others "mpitestconf.h"
        for path in (self.place / "include/mpitestconf.h", self.place / "dtpoolsconf.h"):
            path.write_text(text)

    def state(self):
        """The command behind mpicc and the headers, as a hash."""
        shown = subprocess.run([*self.mpicc, "-show"], capture_output=True, text=True,
                               check=True).stdout
        parts = [shown, *self.flags, *NEW, *OLD, POOL_TYPES, str(SYSTEM)]
        folders = [Path(word[2:]) for word in shlex.split(shown) if word.startswith("-I")]
        for folder in [self.programs / "include", *folders]:
            for path in sorted(folder.glob("*.h")):
                parts.append(hashlib.sha256(path.read_bytes()).hexdigest())
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def run(self, arguments, log):
        log.parent.mkdir(parents=True, exist_ok=True)
        try:
            done = subprocess.run([*self.mpicc, *map(str, arguments)], text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=LIMIT,
                                  errors="replace", env=ENGLISH)
        except subprocess.TimeoutExpired as error:
            raise NotBuilt(f"the compiler took more than {LIMIT} seconds") from error
        log.write_text(done.stdout)
        if done.returncode != 0:
            raise NotBuilt(first_error(done.stdout))

    def make(self, target, arguments, sources):
        """Builds `target` unless it is there, from the same sources by the same command."""
        parts = [self.common, *map(str, arguments)]
        parts += [hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in sources]
        mark = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        note = target.with_name(target.name + ".made")
        log = target.with_name(target.name + ".log")
        if target.is_file() and note.is_file() and note.read_text() == mark:
            return
        note.unlink(missing_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            self.run([*self.flags, *NEW, *arguments, "-o", target], log)
        except NotBuilt:  # a source of old times: docs/abi.md says how to build it
            self.run([*self.flags, *OLD, *arguments, "-o", target], log)
        note.write_text(mark)

    def prepare(self):
        """What all programs share; NotBuilt if that fails."""
        self.configure()
        self.common = self.state()
        made = []
        for path in [*COMMON, *KINDS.values()]:
            target = self.place / "util" / (Path(path).stem + ".o")
            flags = [f"-DDTP_MPI_DATATYPE={POOL_TYPES}"] if "dtpools" in path else []
            self.make(target, [*flags, "-c", self.programs / path],
                      [self.programs / path])
            if path in COMMON:
                made.append(target)
            else:
                self.objects[path] = target
        # An archive, so that a program that brings its own of something may do so.
        archive = self.place / "util" / "libmtest.a"
        archive.unlink(missing_ok=True)
        subprocess.run(["ar", "rc", archive, *made], check=True)
        self.archive = archive

    def makefile(self, listed):
        if listed not in self.makefiles:
            path = self.programs / listed / "Makefile.am"
            text = path.read_text() if path.is_file() else ""
            kind = "thread" if "Makefile_threads.mtest" in text else "single"
            self.makefiles[listed] = kind, variables(path) if text else {}
        return self.makefiles[listed]

    def build(self, listed, program):
        """The path of a program of a list; NotBuilt if there is none."""
        kind, values = self.makefile(listed)
        name = re.sub(r"\W", "_", program)
        folder = self.programs / listed
        sources = [folder / word
                   for word in values.get(f"{name}_SOURCES", f"{program}.c").split()
                   if word.endswith(".c")]
        for path in sources:
            if not path.is_file():
                raise NotBuilt(f"the package has no file {path.name}")
        own = values.get(f"{name}_CPPFLAGS", "") + " " + values.get(f"{name}_CFLAGS", "")
        flags = [word for word in own.split() if word.startswith("-D")]
        libraries = [word for word in values.get(f"{name}_LDADD", "").split()
                     if word.startswith("-l")]
        if kind == "thread":
            flags += ["-DMTEST_USE_THREAD", "-Wl,--wrap=MTest_thread_barrier"]
            sources.append(BARRIER)
        target = self.place / "bin" / listed / program
        objects = self.objects[KINDS[kind]]
        self.make(target, [*flags, "-I", folder, *sources, objects, self.archive,
                           *libraries, "-lm"], sources)
        return target
