"""check.py - the tests of the ABI that look at headers and libraries from outside.

    check.py claims WHICH CC...              make.py's claims about include/ hold
    check.py header COMPILER                 the headers compile without a warning
    check.py exports LIBRARY                 the symbols of the shared library
    check.py dynamic LIBRARY                 its name, what it needs, its flags
    check.py archive LIBRARY                 the symbols of the static library
    check.py swap PROGRAM STUB LIBRARY       fails with STUB, succeeds with LIBRARY
    check.py preload PROGRAM PROFILE         succeeds with PROFILE preloaded
    check.py fatal PROGRAM                   ends with one line that says why

Each prints what is wrong and then fails.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import make

INCLUDE = Path(os.environ["WEFT_SOURCE"]) / "include"
STRICT = ["-pedantic", "-Wall", "-Wextra", "-Werror"]
FUNCTIONS = 657
CONSTANTS = 365
# A build with -Db_sanitize needs these too, and Clang's defines those beside ours.
SANITIZER_LIBRARY = re.compile(r"lib(asan|ubsan|tsan|lsan)\.so\.\d+$")
OUR_PREFIXES = ("weft_", "__odr_asan.weft_")
DEBUGGERS = ("MPIR_dll_name", "weft_queue_table")  # they find message queues by these


def run(*command, **environment):
    return subprocess.run([str(word) for word in command], text=True,
                          capture_output=True, env={**os.environ, **environment})


def output_of(*command):
    """What the command prints; ends the test where it fails."""
    if shutil.which(str(command[0])) is None:
        sys.exit(f"{command[0]} is not installed")
    done = run(*command)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: code {done.returncode}\n"
                 f"{done.stdout}{done.stderr}")
    return done.stdout


def report(problems):
    if problems:
        sys.exit("\n".join(problems))


def in_file(folder, name, text):
    path = Path(folder) / name
    path.write_text(text)
    return path


def functions():
    """The names of the table, which must be complete."""
    names = [f["name"] for f in make.functions("yes")]
    report([f"the table has {len(names)} functions"] * (len(names) != FUNCTIONS))
    return names


# Headers


def check_macros(compiler):
    """mpi.h defines the constants of C and no other macro: no reserved string, say."""
    known = {c["name"] for c in make.c_constants()} | {"MPI_H_ABI"}
    text = output_of(*compiler, "-dM", "-E", INCLUDE / "mpi.h")
    macros = set(re.findall(r"^#define (P?MPI_\w*)", text, re.M))
    report([f"{name} is not in the table" for name in sorted(macros - known)])


def check_claims(which, *compiler):
    names = functions()
    report([f"the table has {len(make.c_constants())} constants"]
           * (len(make.c_constants()) != CONSTANTS))
    with tempfile.TemporaryDirectory() as folder:
        source = in_file(folder, f"{which}.c", make.MAKERS[which]())
        program = Path(folder) / which
        output_of(*compiler, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-I", INCLUDE,
                  source, "-o", program)
        output_of(program)
    if which == "constants":
        check_macros(compiler)
    print(f"{len(names)} functions, {len(make.c_constants())} constants in the tables")


def check_header(compiler):
    is_cxx = compiler.endswith("++")
    with tempfile.TemporaryDirectory() as folder:
        for header in ("mpi.h", "mpi_legacy.h"):
            source = in_file(folder, "program.cc" if is_cxx else "program.c",
                             f'#include "{header}"\n\n'
                             "int main(void)\n{\n    return MPI_Init(0, 0);\n}\n")
            for standard in ("c++98", "c++17") if is_cxx else ("c99", "c11"):
                made = source.with_suffix(".o")
                output_of(compiler, f"-std={standard}", *STRICT, "-I", INCLUDE,
                          "-c", source, "-o", made)
                if " MPI_Init\n" not in output_of("nm", "-u", made):
                    sys.exit(f"{header}, {compiler}: MPI_Init has another linker name")


# Libraries


def symbols(*options):
    """{name: letter} as nm sees them, and what was there more than once."""
    found = {}
    twice = []
    text = output_of("nm", "--format=posix", "--defined-only", *options)
    for line in text.splitlines():
        if line.endswith(":") or not line:
            continue
        name, letter = line.split()[:2]
        if name in found:
            twice.append(f"{name} is defined twice")
        found[name] = letter
    return found, twice


def check_symbols(found, is_allowed):
    """Every MPI_X is weak, every PMPI_X strong, any other one is_allowed."""
    wanted = {name: "W" for name in functions()}
    wanted.update({"P" + name: "T" for name in wanted})
    problems = [f"{name} is {found.get(name, 'missing')}, should be {letter}"
                for name, letter in wanted.items() if found.get(name) != letter]
    return problems + [f"{name} should not be visible"
                       for name in found.keys() - wanted.keys() if not is_allowed(name)]


def check_exports(library):
    found, twice = symbols("-D", library)
    report(twice + check_symbols(found, lambda name: name in DEBUGGERS))


def check_archive(library):
    found, twice = symbols("--extern-only", library)
    report(twice + check_symbols(found, lambda name: name in DEBUGGERS
                                 or name.startswith(OUR_PREFIXES)))


def check_dynamic(library):
    text = output_of("readelf", "-d", library)
    soname = re.findall(r"\(SONAME\).*\[(.*)\]", text)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", text)
    foreign = [n for n in needed if n != "libc.so.6" and not SANITIZER_LIBRARY.match(n)]
    problems = [f"{name} is needed" for name in foreign]
    if soname != ["libmpi_abi.so.1"]:
        problems.append(f"soname is {soname}")
    if not re.search(r"\(FLAGS_1\).*NODELETE", text):
        problems.append("NODELETE is not set")
    report(problems)


# Programs


def check_swap(program, stub, library):
    folders = [str(Path(path).resolve().parent) for path in (stub, library)]
    with_stub, with_weft = (run(program, LD_LIBRARY_PATH=folder) for folder in folders)
    if with_stub.returncode == 0 or "the stub library has no" not in with_stub.stderr:
        sys.exit(f"with the stub library: code {with_stub.returncode}, "
                 f"{with_stub.stdout}{with_stub.stderr}")
    if with_weft.returncode != 0 or not with_weft.stdout.startswith("Weft "):
        sys.exit(f"with Weft: code {with_weft.returncode}, "
                 f"{with_weft.stdout}{with_weft.stderr}")
    print(with_weft.stdout, end="")


def check_preload(program, profile):
    """GCC's address sanitizer insists on being the first library, even before us."""
    first = re.findall(r"=> (\S*/libasan\S*)", output_of("ldd", program))
    done = run(program, LD_PRELOAD=":".join([*first, profile]))
    if done.returncode != 0:
        sys.exit(f"code {done.returncode}\n{done.stdout}{done.stderr}")
    print(done.stdout, end="")


def check_fatal(program):
    """The program prints the name of the function it is about to call."""
    done = run(program, "fatal")
    name = done.stdout.strip()
    if not name:
        print("every function is built: nothing to do")
        return
    wanted = [name, "rank 0", socket.gethostname(), "MPI_ERR_UNSUPPORTED_OPERATION"]
    problems = [f"{word} is not in the message" for word in wanted
                if not re.search(rf"\b{re.escape(word)}\b", done.stderr)]
    if done.stderr.count("\n") != 1:
        problems.append("the message is not one line")
    if done.returncode <= 0:
        problems.append(f"exit code {done.returncode}")
    report(problems + [done.stderr] * bool(problems))


CHECKS = {"claims": check_claims, "header": check_header, "exports": check_exports,
          "archive": check_archive, "dynamic": check_dynamic, "swap": check_swap,
          "preload": check_preload, "fatal": check_fatal}

if __name__ == "__main__":
    CHECKS[sys.argv[1]](*sys.argv[2:])
