"""make.py - C for the tests of this folder, from the tables in bindings/spec.

    make.py constants|types|prototypes|legacy   claims about include/, for check.py
    make.py handles                             a list of every predefined handle
    make.py profile|every                       a profiling library, calls to fill it
    make.py unbuilt UNBUILT.C                   calls of functions that are not built yet
    make.py forum-header|stub                   header and library of the MPI Forum

The tables are read here once more, and not through bindings/gen/spec.py, so that a
mistake over there shows.  Only prototypes are taken apart by it.
"""

import csv
import re
import sys
from itertools import groupby
from pathlib import Path

BINDINGS = Path(__file__).resolve().parents[2] / "bindings"
sys.path.insert(0, str(BINDINGS / "gen"))

from spec import parse_prototype  # noqa: E402


def table(name):
    lines = (BINDINGS / "spec" / f"{name}.tsv").read_text().splitlines()
    return list(csv.DictReader((line for line in lines if not line.startswith("#")),
                               delimiter="\t", quoting=csv.QUOTE_NONE, restval=""))


# What is in which header

LEGACY_CALLBACKS = ("MPI_Copy_function", "MPI_Delete_function")
ENUM_TYPES = {"MPI_T callback safety": "MPI_T_cb_safety",
              "MPI_T source order": "MPI_T_source_order"}


def is_legacy(constant):
    return constant["c_type"].rstrip("*") in LEGACY_CALLBACKS


def c_constants():
    """The constants that C has, in mpi.h or, the legacy ones, in mpi_legacy.h."""
    return [c for c in table("constants")
            if c["c_type"] != "string" and not c["c_type"].endswith("(Fortran)")]


def fortran_constants():
    return [c["name"] for c in table("constants") if c["c_type"].endswith("(Fortran)")]


def functions(*in_abi):
    return [f for f in table("functions")
            if f["in_abi"] in in_abi and f["predefined_callback"] != "yes"]


def left_out():
    """Functions that the ABI does not have but mpi_legacy.h does."""
    return [f for f in functions("no", "stub-header-only") if f["variant"] == "base"]


# Claims about a header: each is a line or two of C

CLAIMS = """\
#include "%s"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SAME(a, b) __builtin_types_compatible_p(a, b)

static int bad;

__attribute__((unused))
static void equal(const char *what, long long is, long long should)
{
    if (is != should) {
        printf("%%s is %%lld, should be %%lld\\n", what, is, should);
        bad = 1;
    }
}

%s
int main(void)
{
%s    return bad;
}
"""


def claims(header, outside, inside):
    return CLAIMS % (header, "".join(outside), "".join(inside))


def absent(name):
    """C that does not compile where `name` is declared or defined."""
    return f'#ifdef {name}\n#error "{name} is defined"\n#endif\ntypedef char {name}[7];\n'


def constant_outside(c):
    """Integers are constant expressions, and the macros among them fit an #if."""
    name, number = c["name"], int(c["decimal"])
    if not c["c_type"].startswith("int "):
        return ""
    text = f"enum {{ {name}_is_constant = {name} }};\n"
    if c["c_type"] == "int (macro)":
        text += (f"#if !defined({name}) || {name} != {number}\n"
                 f'#error "{name} is not a macro for {number}"\n#endif\n')
    return text


def constant_inside(c):
    name, number = c["name"], int(c["decimal"])
    assert int(c["value"], 0) == number, name
    kind = "int" if c["c_type"].startswith("int ") else c["c_type"]
    return (f'    equal("{name}", (long long)(intptr_t){name}, {number});\n'
            f'    equal("{name} of type {kind}",'
            f" _Generic({name}, {kind}: 1, default: 0), 1);\n")


def constants():
    ours = [c for c in c_constants() if not is_legacy(c)]
    others = fortran_constants() + [c["name"] for c in c_constants() if is_legacy(c)]
    return claims("mpi.h", map(absent, others),
                  [*map(constant_outside, ours), *map(constant_inside, ours)])


def same(name, form):
    return f'_Static_assert(SAME({name}, {form}), "{name} is not {form}");\n'


def type_outside(t):
    name, form = t["name"], t["c_representation"]
    if form == "absent" or name in LEGACY_CALLBACKS:
        return absent(name)
    if t["category"] == "integer type":
        return same(name, form)
    if t["category"] in ("handle", "MPI_T handle"):
        struct = form.replace("pointer to incomplete ", "")
        return same(name, f"{struct} *") + f"{struct} {{\n    char mine;\n}};\n"
    if t["category"] == "callback alias":
        return same(name, form.replace("same as ", ""))
    if t["category"] == "callback (function type)":
        return same(f"{name} *", form.replace(" (", " (*)(", 1))
    return ""


def type_inside(t):
    if not t["size_bytes"][0].isdigit():
        return ""
    size, align = (int(t[column].split()[0]) for column in ("size_bytes", "align_bytes"))
    name = t["name"]
    text = ""
    if t["category"] == "status field":
        field = name.split(".")[1]
        offset = t["c_representation"].split()[-1]
        place = f"offsetof(MPI_Status, {field})"
        text = f'    equal("offset of {name}", {place}, {offset});\n'
        name = f"__typeof__(((MPI_Status *)0)->{field})"
        text += f"    {same(name, 'int')}"
    return (text + f'    equal("size of {name}", sizeof({name}), {size});\n'
            f'    equal("alignment of {name}", _Alignof({name}), {align});\n')


def types():
    rows = table("types")
    return claims("mpi.h", map(type_outside, rows), map(type_inside, rows))


def declared(storage, name, prototype):
    """The first line fails where the header lacks it, the second where it differs."""
    return f"{storage} __typeof__({name}) {name};\n{storage} {prototype};\n"


def twin(f, prefix):
    """Name and prototype of MPI_X or PMPI_X."""
    name = prefix + f["name"]
    return name, re.sub(rf"\b{f['name']}\(", f"{name}(", f["prototype"])


def prototypes():
    ours = [declared("extern", *twin(f, prefix))
            for prefix in ("", "P") for f in functions("yes")]
    others = [f["name"] for f in functions("no", "stub-header-only")]
    return claims("mpi.h", [*ours, *map(absent, others)], [])


def legacy():
    constants = [c for c in c_constants() if is_legacy(c)]
    callbacks = [t for t in table("types") if t["name"] in LEGACY_CALLBACKS]
    return claims(
        "mpi_legacy.h",
        [*(same(t["name"] + " *", t["c_representation"].replace(" (", " (*)(", 1))
           for t in callbacks),
         *(declared("static inline", f["name"], f["prototype"]) for f in left_out()),
         same("MPI_Fint", "int")],
        map(constant_inside, constants))


# Programs


def handles():
    """HANDLE(infix of toint and fromint, constant, its value, the null handle)."""
    lines = []
    for kind, group in groupby(c_constants(), key=lambda c: c["kind"]):
        if kind.startswith("handle:"):
            group = list(group)
            infix = kind.replace("handle:MPI_", "").replace("Datatype", "Type")
            null = next(c["name"] for c in group if c["name"].endswith("_NULL"))
            lines += [f"HANDLE({infix}, {c['name']}, {c['decimal']}, {null})\n"
                      for c in group]
    return "/* Made by tests/abi/make.py. */\n" + "".join(lines)


PROFILE = """\
/* Made by tests/abi/make.py: counts every call of the ABI, in memory that forks share. */
#include "profiled.h"

#include <string.h>
#include <sys/mman.h>

static const char *const names[] = {
%s};

enum { COUNT = sizeof(names) / sizeof(names[0]) };

static int *calls;

__attribute__((constructor)) static void open_counts(void)
{
    calls = mmap(NULL, COUNT * sizeof(int), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

int profile_calls(const char *name)
{
    for (int i = 0; i < COUNT; i++) {
        if (strcmp(names[i], name) == 0) {
            return calls[i];
        }
    }
    return -1;
}
%s"""


def profile():
    wrappers = ""
    for i, f in enumerate(functions("yes")):
        parameters = parse_prototype(f["prototype"])[2]
        arguments = ", ".join(p.name for p in parameters if p.name)
        wrappers += (f"\n{f['prototype']}\n{{\n    calls[{i}]++;\n"
                     f"    return P{f['name']}({arguments});\n}}\n")
    names = "".join(f'    "{f["name"]}",\n' for f in functions("yes"))
    return PROFILE % (names, wrappers)


def call(f, **values):
    """A call with 0 for each argument, but for the types that `values` names."""
    parameters = parse_prototype(f["prototype"])[2]
    arguments = [values.get(p.type, "0") for p in parameters if p.type != "..."]
    return f"{f['name']}({', '.join(arguments)})"


def every():
    begin_and_end = ("MPI_Init", "MPI_Finalize", "MPI_Abort")
    names = "".join(f'    "{f["name"]}",\n' for f in functions("yes"))
    calls = "".join(f'    every_now = "{f["name"]}";\n    {call(f)};\n'
                    for f in functions("yes") if f["name"] not in begin_and_end)
    return ("/* Made by tests/abi/make.py. */\n"
            '#include "profiled.h"\n\n'
            f"const char *const every_name[] = {{\n{names}    NULL,\n}};\n\n"
            'const char *volatile every_now = "";\n\n'
            f"void call_every(void)\n{{\n{calls}}}\n")


def has_object(f):
    return any(kind in f["prototype"] for kind in
               ("MPI_Comm ", "MPI_Win ", "MPI_File ", "MPI_Session "))


def unbuilt(source):
    """One function of each sort that unbuilt.c asks for; none where all are built."""
    names = set(re.findall(r"^WEFT_WEAK_ALIAS\((\w+),", Path(source).read_text(), re.M))
    left = [f for f in functions("yes") if f["name"] in names]
    left.sort(key=lambda f: f["name"] != "MPI_Alltoallw")
    of_files = [f for f in left if f["name"].startswith("MPI_File_")]
    of_tools = [f for f in left if f["name"].startswith("MPI_T_")]
    of_mpi = [f for f in left if f not in of_files and f not in of_tools]
    sorts = {
        "on_world": [f for f in of_mpi if f["prototype"].count("MPI_Comm ") == 1
                     and "MPI_Comm comm" in f["prototype"]],
        "on_nothing": [f for f in of_mpi if not has_object(f)],
        "on_file": of_files,
        "of_tools": of_tools,
    }
    text = "/* Made by tests/abi/make.py. */\n"
    for sort, found in sorts.items():
        expression = "-1"
        name = "NULL"
        if found:
            expression = call(found[0], MPI_Comm="MPI_COMM_WORLD",
                              MPI_File="MPI_FILE_NULL")
            name = f'"{found[0]["name"]}"'
        text += (f"\nstatic int call_{sort}(void)\n{{\n    return {expression};\n}}\n\n"
                 f"static const struct unbuilt {sort} = {{{name}, call_{sort}}};\n")
    return text


# The MPI Forum's stubs: integer constants are enumerations there


FORUM = """\
#ifndef MPI_H_ABI
#define MPI_H_ABI

#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int MPI_internal[5];
} MPI_Status;

%s
#if defined(__cplusplus)
}
#endif

#endif
"""


def forum_type(t):
    name, form = t["name"], t["c_representation"]
    if form != "absent" and t["category"] == "integer type":
        return f"typedef {form} {name};\n"
    if t["category"] in ("handle", "MPI_T handle"):
        return f"typedef {form.replace('pointer to incomplete ', '')}* {name};\n"
    if t["category"] == "callback (function type)":
        return f"typedef {form.replace(' (', f' {name} (', 1)};\n"
    if t["category"] == "callback alias":
        return f"typedef {form.replace('same as ', '')} {name};\n"
    return ""


def forum_constants(kind, group):
    if group[0]["c_type"] == "int (enum constant)":
        body = ",\n".join(f"    {c['name']} = {c['value']}" for c in group)
        if kind in ENUM_TYPES:
            name = ENUM_TYPES[kind]
            return f"typedef enum {name} {{\n{body}\n}} {name};\n"
        return f"enum {{\n{body}\n}};\n"
    casts = ["" if c["c_type"] == "int (macro)" else f"({c['c_type']})" for c in group]
    return "".join(f"#define {c['name']} ({cast}{c['value']})\n"
                   for c, cast in zip(group, casts))


def forum_header():
    values = [(kind, list(group))
              for kind, group in groupby(c_constants(), key=lambda c: c["kind"])]
    enums = [forum_constants(*v) for v in values if v[0] in ENUM_TYPES]
    others = [forum_constants(*v) for v in values if v[0] not in ENUM_TYPES]
    protos = [twin(f, prefix)[1] + ";\n"
              for prefix in ("", "P") for f in functions("yes", "stub-header-only")]
    return FORUM % "".join(enums + [forum_type(t) for t in table("types")]
                           + others + protos)


STUB = """\
/* Made by tests/abi/make.py: the ABI's symbols, and nothing behind them. */
#include "mpi.h"

#include <stdio.h>
#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

static _Noreturn void stub(const char *name)
{
    fprintf(stderr, "the stub library has no %s\\n", name);
    abort();
}
"""


def stub():
    bodies = ""
    for f in functions("yes"):
        name, prototype = twin(f, "P")
        bodies += (f"\n{prototype}\n{{\n    stub(\"{f['name']}\");\n}}\n"
                   f"extern __typeof__({name}) {f['name']}"
                   f' __attribute__((weak, alias("{name}")));\n')
    return STUB + bodies


MAKERS = {"constants": constants, "types": types, "prototypes": prototypes,
          "legacy": legacy, "handles": handles, "profile": profile, "every": every,
          "unbuilt": unbuilt, "forum-header": forum_header, "stub": stub}

if __name__ == "__main__":
    sys.stdout.write(MAKERS[sys.argv[1]](*sys.argv[2:]))
