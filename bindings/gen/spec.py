"""spec.py - reads the tables in bindings/spec: the MPI-5.0 ABI as data.

Everything generated (mpi.h, the bodies of functions not built yet, the list of exported
symbols, the ABI tests) comes from here, so there is one parser and one meaning of each
column.  A line starting with '#' is a comment, the first other line names the columns.
"""

import re
from pathlib import Path
from typing import NamedTuple

SPEC = Path(__file__).resolve().parent.parent / "spec"


class Parameter(NamedTuple):
    type: str  # without name and array brackets, "..." for a variable argument list
    name: str
    text: str  # as written in the prototype


class Function(NamedTuple):
    name: str
    returns: str
    parameters: list
    prototype: str
    group: str
    chapter: int

    @property
    def is_variadic(self):
        return bool(self.parameters) and self.parameters[-1].type == "..."


class Constant(NamedTuple):
    name: str
    kind: str
    type: str
    text: str
    value: int


class Type(NamedTuple):
    name: str
    category: str
    form: str
    size: str
    align: str


def rows(path):
    """The rows of one table as dictionaries from column name to text."""
    header = None
    for line in Path(path).read_text().splitlines():
        if line.startswith("#") or not line:
            continue
        cells = line.split("\t")
        if header is None:
            header = cells
            continue
        cells += [""] * (len(header) - len(cells))
        yield dict(zip(header, cells))


def parse_parameter(text):
    text = text.strip()
    if text == "...":
        return Parameter("...", "", text)
    kind, name, brackets = re.fullmatch(r"(.*?)(\w+)((?:\[\d*\])*)", text).groups()
    return Parameter(kind.strip() + " *" * brackets.count("["), name, text)


def parse_prototype(prototype):
    match = re.fullmatch(r"(.*?)\b(MPI_\w+)\((.*)\)", prototype.strip())
    returns, name, inside = match.groups()
    if inside.strip() in ("", "void"):
        return returns.strip(), name, []
    return returns.strip(), name, [parse_parameter(p) for p in inside.split(",")]


def functions():
    """The functions of the ABI, in the table's order; callbacks and conversions left out."""
    found = []
    for row in rows(SPEC / "functions.tsv"):
        if row["in_abi"] != "yes" or row["predefined_callback"] == "yes":
            continue
        returns, name, parameters = parse_prototype(row["prototype"])
        assert name == row["name"], row["name"]
        found.append(Function(name, returns, parameters, row["prototype"], row["group"],
                              int(row["chapter"])))
    return found


# Rows that the C header does not carry: Fortran's own, reserved strings, and what
# belongs to calls that the ABI left out (mpi_legacy.h has those).
NOT_IN_HEADER = {"Fortran-only constant", "info key", "info value", "process set name",
                 "data representation", "default object name"}
LEGACY = {"MPI_NULL_COPY_FN", "MPI_DUP_FN", "MPI_NULL_DELETE_FN"}


def constants():
    """The constants of the C header."""
    return [Constant(r["name"], r["kind"], r["c_type"], r["value"], int(r["decimal"]))
            for r in rows(SPEC / "constants.tsv")
            if r["kind"] not in NOT_IN_HEADER and r["name"] not in LEGACY]


def types():
    return [Type(r["name"], r["category"], r["c_representation"], r["size_bytes"],
                 r["align_bytes"])
            for r in rows(SPEC / "types.tsv")]


def callbacks():
    """(name, returns, parameter text) of every callback type that mpi.h declares."""
    found = []
    for t in types():
        if t.category == "callback (function type)" and t.name not in (
                "MPI_Copy_function", "MPI_Delete_function"):
            returns, inside = re.fullmatch(r"(\w+) \((.*)\)", t.form).groups()
            found.append((t.name, returns, inside))
    return found


CHAPTERS = {
    "p2p": "point-to-point", "partitioned": "partitioned point-to-point",
    "datatypes": "datatypes, pack, address", "collectives": "collectives",
    "comm-group": "groups, communicators, caching", "topology": "virtual topologies",
    "neighborhood": "neighborhood collectives", "environment": "environment, errors, timers",
    "info": "info objects", "init": "init, finalize, abort, threads",
    "sessions": "sessions", "dynamic": "dynamic processes", "rma": "one-sided",
    "external": "generalized requests, status", "io": "files (MPI-IO)",
    "tools-pcontrol": "profiling control", "mpi_t": "tool information (MPI_T)",
    "deprecated-kept": "deprecated, kept in the ABI",
    "lang-f90types": "Fortran parametrised types", "abi-query": "ABI queries",
    "abi-handle-int": "handles to and from int",
}


def built():
    """The names of the functions that a test of ours calls with success."""
    path = SPEC / "built.tsv"
    return {r["name"] for r in rows(path)} if path.exists() else set()
