"""header.py - writes include/mpi.h from the tables in bindings/spec.

    header.py            print the header
    header.py --check F  fail if file F differs from it

The header is committed because people read it; a test runs --check.
"""

import sys
from itertools import groupby

import spec

HEAD = """\
/*
 * mpi.h - the MPI-5.0 standard ABI, version {abi}.
 *
 * Made from the tables in bindings/spec by bindings/gen/header.py; change those instead.
 * Handles are pointers to structs that no one can see into; predefined ones are the
 * integers 1..4095.  MPI_Fint, the c2f and f2c functions and the names that later
 * versions of the standard removed are in mpi_legacy.h, for sources that want them;
 * -DWEFT_LEGACY adds them here.
 */
#ifndef MPI_H_ABI
#define MPI_H_ABI

#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif
"""

FOOT = """
#ifdef __cplusplus
}
#endif

#ifdef WEFT_LEGACY
#include "mpi_legacy.h"
#endif

#endif /* MPI_H_ABI */
"""

# Enumerations that are types of their own, by the kind of their constants.
ENUMS = {"MPI_T callback safety": "MPI_T_cb_safety",
         "MPI_T source order": "MPI_T_source_order"}


def title(text):
    return f"\n/* {text} */\n"


def declare_types():
    out = [title("Integer types")]
    for t in spec.types():
        if t.category == "integer type" and t.form != "absent":
            out.append(f"typedef {t.form} {t.name};\n")
    out.append(title("Handles"))
    for t in spec.types():
        if t.category in ("handle", "MPI_T handle"):
            struct = t.form.replace("pointer to incomplete ", "")
            out.append(f"typedef {struct} *{t.name};\n")
    out.append(title("Status: the last five words belong to the library"))
    out.append("typedef struct {\n    int MPI_SOURCE;\n    int MPI_TAG;\n"
               "    int MPI_ERROR;\n    int MPI_internal[5];\n} MPI_Status;\n")
    return "".join(out)


def declare_enums(constants):
    out = []
    for kind, name in ENUMS.items():
        out.append(title(kind))
        body = ",\n".join(f"    {c.name} = {c.text}" for c in constants if c.kind == kind)
        out.append(f"typedef enum {{\n{body}\n}} {name};\n")
    return "".join(out)


def declare_callbacks():
    out = [title("Callbacks")]
    for name, returns, inside in spec.callbacks():
        out.append(wrap(f"typedef {returns} {name}({inside});") + "\n")
    for t in spec.types():
        if t.category == "callback alias":
            out.append(f"typedef {t.form.replace('same as ', '')} {t.name};\n")
    return "".join(out)


def value(c):
    if c.type.startswith("int "):
        return f"({c.text})" if c.value < 0 else c.text
    if c.type.endswith("*"):
        return f"(({c.type.rstrip('*')} {'*' * c.type.count('*')}){c.text})"
    return f"(({c.type}){c.text})"


def define_constants(constants):
    out = []
    for kind, group in groupby(constants, key=lambda c: c.kind):
        if kind in ENUMS:
            continue
        group = list(group)
        out.append(title(kind.replace("handle:", "predefined ")))
        width = max(len(c.name) for c in group)
        out += [f"#define {c.name:<{width}} {value(c)}\n" for c in group]
    return "".join(out)


def wrap(prototype):
    """One prototype within 90 columns, continuation lines under the first parameter."""
    indent = prototype.index("(") + 1
    lines = [prototype[:indent]]
    pieces = prototype[indent:].split(", ")
    for i, piece in enumerate(pieces):
        piece += "," if i + 1 < len(pieces) else ""
        gap = "" if i == 0 else " "
        if len(lines[-1]) + len(gap) + len(piece) > 90:
            lines.append(" " * indent + piece)
        else:
            lines[-1] += gap + piece
    return "\n".join(lines)


def declare_functions():
    out = []
    for prefix, what in (("MPI_", "Functions"), ("PMPI_", "The same, for profiling")):
        out.append(title(what))
        for f in spec.functions():
            name = prefix + f.name[len("MPI_"):]
            out.append(wrap(f.prototype.replace(f.name + "(", name + "(") + ";") + "\n")
    return "".join(out)


def header():
    constants = spec.constants()
    by_name = {c.name: c.text for c in constants}
    abi = f"{by_name['MPI_ABI_VERSION']}.{by_name['MPI_ABI_SUBVERSION']}"
    return (HEAD.format(abi=abi) + declare_types() + declare_enums(constants)
            + declare_callbacks() + define_constants(constants) + declare_functions()
            + FOOT)


def main(arguments):
    if arguments[:1] == ["--check"]:
        with open(arguments[1]) as file:
            if file.read() != header():
                sys.exit(f"{arguments[1]} differs from what the tables say: "
                         "run bindings/gen/header.py > include/mpi.h")
        return
    sys.stdout.write(header())


if __name__ == "__main__":
    main(sys.argv[1:])
