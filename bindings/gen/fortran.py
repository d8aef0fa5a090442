"""fortran.py - Fortran's three interfaces and their C bodies, from the tables.

    fortran.py OUTDIR     write mpif.h, mpi.f90, mpi_f08.f90, bodies.c and every.* there

Each C parameter becomes an Argument, which knows its form in Fortran.  bodies.c has the C
side (bindings/fortran/fortran.h tells of the rules); every.f90 and its kin are programs
that name each procedure once, for a test.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

import spec

HANDLES = {"MPI_Comm": "comm", "MPI_Errhandler": "errhandler", "MPI_File": "file",
           "MPI_Group": "group", "MPI_Info": "info", "MPI_Message": "message",
           "MPI_Op": "op", "MPI_Request": "request", "MPI_Session": "session",
           "MPI_Datatype": "datatype", "MPI_Win": "win"}
KINDS = {"int": "integer", "MPI_Aint": "integer(kind=MPI_ADDRESS_KIND)",
         "MPI_Count": "integer(kind=MPI_COUNT_KIND)",
         "MPI_Offset": "integer(kind=MPI_OFFSET_KIND)"}


class Argument(NamedTuple):
    name: str
    base: str  # the C type without const and stars
    role: str  # number, handle, status, text, choice, callback, address, cptr, detach
    is_pointer: bool
    is_array: bool
    intent: str  # in, out, inout
    is_logical: bool
    value: str  # what fortran.tsv says of it: a length, or how a buffer is treated


class Procedure(NamedTuple):
    function: spec.Function
    arguments: list
    has_body: bool  # written by hand

    @property
    def lower(self):
        return self.function.name[4:].lower()

    @property
    def is_large(self):
        return self.function.name.endswith("_c")

    @property
    def has_choice(self):
        return any(a.role == "choice" for a in self.arguments)

    @property
    def f08_name(self):
        return self.lower + ("_f08ts" if self.has_choice else "_f08")

    @property
    def is_subroutine(self):
        return self.function.returns == "int"

    @property
    def has_ierror(self):
        return self.is_subroutine and self.function.name != "MPI_Pcontrol"


class Rules:
    """fortran.tsv: what is said of a function, or of one of its arguments."""

    def __init__(self):
        self.rows = {}
        for row in spec.rows(spec.SPEC / "fortran.tsv"):
            self.rows[row["function"], row["argument"], row["what"]] = row["value"]

    def of(self, function, argument, what):
        """The value, or None; a _c function has the rules of its twin."""
        base = re.sub(r"_c$", "", function)
        for name in (function, base, "*") if argument else (function, base):
            if (name, argument, what) in self.rows:
                return self.rows[name, argument, what]
        return None


SECTION_GROUPS = ("p2p", "rma", "io", "datatypes")
COPY_GROUPS = ("collectives", "neighborhood")


def buffer_rule(rules, f, index):
    """How a choice buffer is passed on: section, base, copy or parted."""
    p = f.parameters[index]
    for what in ("copy", "parted", "base"):
        if rules.of(f.name, p.name, what) is not None:
            return what
    following = [q.type for q in f.parameters[index + 1:index + 3]]
    has_type = following in (["int", "MPI_Datatype"], ["MPI_Count", "MPI_Datatype"])
    if rules.of(f.name, "", "sections") is not None or f.group in SECTION_GROUPS:
        return "section" if has_type else "base"
    return "copy" if f.group in COPY_GROUPS else "base"


def make_argument(rules, f, index):
    p = f.parameters[index]
    base = p.type.replace("const", "").replace("*", "").strip()
    is_pointer = "*" in p.type
    is_const = p.type.startswith("const")
    intent = "out" if is_pointer and not is_const else "in"
    is_freed = f.name.endswith(("_free", "_free_keyval")) and is_pointer
    if is_pointer and not is_const and (is_freed or rules.of(f.name, p.name, "inout") is not None):
        intent = "inout"
    value = ""
    if base == "void":
        role = next((w for w in ("address", "cptr", "detach")
                     if rules.of(f.name, p.name, w) is not None), "choice")
        if role == "choice":
            value = buffer_rule(rules, f, index)
        if role == "address" and "set_attr" in f.name or p.name == "extra_state":
            intent = "in"
    elif base in HANDLES:
        role, value = "handle", rules.of(f.name, p.name, "length") or ""
    elif base == "MPI_Status":
        role = "status"
    elif base == "char":
        role, value = "text", rules.of(f.name, p.name, "text") or ""
    elif base.endswith(("_function", "_function_c")):
        role = "callback"
    else:
        role = "number"
        if rules.of(f.name, p.name, "weights") is not None:
            value = "weights"
    logical = rules.of(f.name, p.name, "logical")
    is_array = "[" in p.text or p.name.startswith("array_of_")
    if logical is not None:
        value = logical
    name = "index" if p.name == "indx" else p.name  # C has a function of that name
    return Argument(name, base, role, is_pointer, is_array, intent, logical is not None,
                    value)


def procedures():
    rules = Rules()
    found = []
    for f in spec.functions():
        if (f.name.startswith("MPI_T_") or f.name.endswith(("_toint", "_fromint"))
                or rules.of(f.name, "", "absent") is not None):
            continue
        arguments = [make_argument(rules, f, i) for i, p in enumerate(f.parameters)
                     if p.name and rules.of(f.name, p.name, "absent") is None]
        found.append(Procedure(f, arguments, rules.of(f.name, "", "body") is not None))
    return found


# --- C bodies ------------------------------------------------------------------------


class Body:
    """One C body, put together argument by argument."""

    def __init__(self, procedure, is_descriptor):
        self.procedure = procedure
        self.is_descriptor = is_descriptor  # buffers, and texts, come as CFI descriptors
        self.parameters = []
        self.lengths = []
        self.before = []
        self.opens = []
        self.values = []
        self.after = []
        self.closes = []
        self.has_kept = False
        self.substitutes = {}  # counts and datatypes that a section replaces
        arguments = procedure.arguments
        for i, a in enumerate(arguments):
            if a.role == "choice" and is_descriptor and a.value in ("section", "parted"):
                skip = 1 if a.value == "section" else 2
                self.substitutes[arguments[i + skip].name] = f"s_{a.name}.count"
                self.substitutes[arguments[i + skip + 1].name] = f"s_{a.name}.type"
        for i, a in enumerate(arguments):
            getattr(self, a.role)(a, i)

    def add(self, parameter, value):
        self.parameters.append(parameter)
        self.values.append(value)

    def need(self, copy):
        """A copy of an argument: without memory for it, the call is refused."""
        self.opens.append(f"weft_need(call, {copy})")
        self.closes.append(f"free({copy});")

    def call(self):
        """The name of the call, and the object whose error handler gets its errors."""
        name = self.procedure.function.name
        kind, handle = "NOTHING", "0"
        if name.startswith("MPI_File_"):
            # MPI_FILE_NULL has the error handler of files that are not open.
            kind, handle = "FILE", "weft_file_out(MPI_FILE_NULL)"
        for a in self.procedure.arguments:
            own = {"MPI_Comm": "COMM", "MPI_File": "FILE", "MPI_Session": "SESSION",
                   "MPI_Win": "WIN"}.get(a.base)
            if own and not a.is_pointer and (kind == "NOTHING" or own == "FILE"):
                kind, handle = own, f"*{a.name}"
        return f'const struct weft_call call = {{"{name}", WEFT_ON_{kind}, {handle}}};'

    def number(self, a, _):
        if a.is_logical:
            self.logical(a)
        elif not a.is_pointer:
            value = f"*{a.name}"
            if a.name in self.substitutes:
                value = self.substitutes[a.name]
                value = f"(int){value}" if a.base == "int" else value
            self.add(f"const {a.base} *{a.name}", value)
        elif a.name == "ranges":
            self.add(f"{a.base} (*{a.name})[3]", a.name)
        else:
            const = "const " if a.intent == "in" else ""
            self.add(f"{const}{a.base} *{a.name}",
                     f"weft_weights({a.name})" if a.value == "weights" else a.name)

    def logical(self, a):
        if not a.is_pointer:
            self.add(f"const int *{a.name}", f"weft_logical_in(*{a.name})")
        elif a.is_array and a.intent == "in":
            self.before.append(f"int *c_{a.name} = weft_logicals_in({a.name}, {a.value});")
            self.add(f"const int *{a.name}", f"c_{a.name}")
            self.need(f"c_{a.name}")
        elif a.is_array:
            self.add(f"int *{a.name}", a.name)
            self.after.append(f"if (err == MPI_SUCCESS) {{\n"
                              f"        weft_logicals_out({a.name}, {a.value});\n    }}")
        else:
            self.before.append(f"int c_{a.name} = 0;")
            self.add(f"int *{a.name}", f"&c_{a.name}")
            self.after.append(f"*{a.name} = weft_logical_out(c_{a.name});")

    def handle(self, a, _):
        name = HANDLES[a.base]
        if a.is_array:
            self.has_kept = True
            assert a.base == "MPI_Datatype" and a.value, (self.procedure.lower, a)
            self.add(f"const int *{a.name}", f"c_{a.name}")
            count = a.value
            if a.name == "sendtypes":
                count = "n_" + a.name
                sendbuf = ("sendbuf->base_addr" if self.is_descriptor else "sendbuf")
                self.before.append(f"const int {count} = weft_buffer({sendbuf}) == "
                                   f"MPI_IN_PLACE ? 0 : {a.value};")
            self.before.append(f"MPI_Datatype *c_{a.name} = weft_keep_datatypes(&kept, "
                               f"{a.name}, {count});")
        elif not a.is_pointer:
            self.add(f"const int *{a.name}",
                     self.substitutes.get(a.name, f"weft_{name}_in(*{a.name})"))
        else:
            null = "MPI_" + ("DATATYPE" if name == "datatype" else name.upper()) + "_NULL"
            first = null if a.intent == "out" else f"weft_{name}_in(*{a.name})"
            self.before.append(f"{a.base} c_{a.name} = {first};")
            self.add(f"int *{a.name}", f"&c_{a.name}")
            self.after.append(f"*{a.name} = weft_{name}_out(c_{a.name});")

    def status(self, a, _):
        function = "weft_statuses" if a.is_array else "weft_status"
        self.add(f"int *{a.name}", f"{function}({a.name})")

    def text(self, a, _):
        const = "const " if a.intent == "in" else ""
        start, length = a.name, f"{a.name}_length"
        if self.is_descriptor:
            self.parameters.append(f"const CFI_cdesc_t *{a.name}")
            start, length = f"{a.name}->base_addr", f"{a.name}->elem_len"
        else:
            self.parameters.append(f"{const}char *{a.name}")
            self.lengths.append(f"size_t {a.name}_length")
        self.values.append(f"c_{a.name}")
        if a.intent == "in":
            is_word = self.procedure.function.group == "info"
            function = "weft_word_in" if is_word else "weft_string_in"
            self.before.append(f"char *c_{a.name} = {function}({start}, {length});")
            self.need(f"c_{a.name}")
        else:
            self.before.append(f'char c_{a.name}[{a.value}] = "";')
            self.after.append(f"if (err == MPI_SUCCESS) {{\n"
                              f"        weft_string_out({start}, {length}, c_{a.name});\n    }}")

    def choice(self, a, index):
        if not self.is_descriptor:
            self.add(f"void *{a.name}", f"weft_buffer({a.name})")
            return
        self.parameters.append(f"const CFI_cdesc_t *{a.name}")
        if a.value == "base":
            self.values.append(f"weft_buffer({a.name}->base_addr)")
        elif a.value == "copy":
            self.has_kept = True
            is_output = "true" if a.intent == "out" else "false"
            self.before.append(f"void *c_{a.name} = weft_keep_section(&kept, {a.name}, "
                               f"{is_output});")
            self.values.append(f"c_{a.name}")
        else:
            skip = 1 if a.value == "section" else 2
            count, datatype = self.procedure.arguments[index + skip:index + skip + 2]
            partitions = "*partitions" if a.value == "parted" else "0"
            self.before.append(f"struct weft_subarray s_{a.name} = "
                               "{.made = MPI_DATATYPE_NULL};")
            self.opens.append(f"weft_subarray_open(call, &s_{a.name}, {a.name}, *{count.name}, "
                              f"weft_datatype_in(*{datatype.name}), {partitions})")
            self.closes.append(f"weft_subarray_close(&s_{a.name});")
            self.values.append(f"s_{a.name}.address")

    def cptr(self, a, _):
        self.add(f"void *{a.name}", a.name)

    def write(self, name):
        request = next((a for a in self.procedure.arguments
                        if a.base == "MPI_Request" and a.intent == "out"), None)
        call = f"CALL({self.procedure.function.name[4:]})({', '.join(self.values)})"
        lines = list(self.before)
        if self.has_kept:
            lines.insert(0, "struct weft_kept kept = {.sections = 0};")
        if self.has_kept or self.opens:
            lines.insert(0, self.call())
        steps = self.opens + [call]
        first = "weft_kept_check(call, &kept)" if self.has_kept else steps.pop(0)
        lines.append(f"int err = {first};")
        lines += [f"if (err == MPI_SUCCESS) {{\n        err = {step};\n    }}"
                  for step in steps]
        lines += self.after
        if self.has_kept and request:
            is_persistent = "true" if "_init" in self.procedure.lower else "false"
            lines += ["if (err == MPI_SUCCESS) {\n"
                      f"        weft_kept_until(&kept, *{request.name}, {is_persistent});\n"
                      "    } else {\n        weft_kept_release(&kept, false);\n    }"]
        elif self.has_kept:
            lines.append("weft_kept_release(&kept, err == MPI_SUCCESS);")
        lines += self.closes + ["weft_end(ierror, err);"]
        parameters = ", ".join(self.parameters + ["int *ierror"] + self.lengths)
        return (f"PROCEDURE({name}, {parameters})\n{{\n"
                + "".join(f"    {line}\n" for line in lines) + "}\n")


def bodies():
    text = ["/* Made by bindings/gen/fortran.py. */\n"
            '#include "fortran.h"\n\n#include <stdlib.h>\n']
    for p in procedures():
        if p.has_body:
            continue
        if not p.is_large:
            text.append(Body(p, False).write(p.lower))
            if not p.has_choice:
                text.append(f"ALSO({p.lower}_f08, {p.lower});\n")
            if any(a.role == "cptr" for a in p.arguments):
                text.append(f"ALSO({p.lower}_cptr, {p.lower});\n")
        elif not p.has_choice:
            text.append(Body(p, False).write(p.f08_name))
        if p.has_choice:
            text.append(Body(p, True).write(p.f08_name))
    return "\n".join(text)


# --- Fortran -------------------------------------------------------------------------


def wrap(line, width=100):
    """Free-form lines, continued with &."""
    lines = []
    while len(line) > width:
        cut = line.rfind(",", 0, width) + 1
        lines.append(line[:cut] + " &")
        line = "    " + line[cut:].strip()
    return "\n".join(lines + [line])


SKIPPED = re.compile(r"MPI_T |sentinel pointer|address sentinel|predefined callback|C view|"
                     r"info |process set|data representation|default object|Fortran-only")


def constants():
    """(name, handle type or None, C value) of the constants that Fortran has, too."""
    for r in spec.rows(spec.SPEC / "constants.tsv"):
        if SKIPPED.search(r["kind"]):
            continue
        handle = r["kind"][7:] if r["kind"].startswith("handle:") else None
        value = int(r["decimal"])
        if r["kind"] == "string length limit":
            value -= 1  # C's have room for a NUL
        yield r["name"], handle, value


KIND_PARAMETERS = [("MPI_ADDRESS_KIND", "8"), ("MPI_OFFSET_KIND", "8"),
                   ("MPI_COUNT_KIND", "8"), ("MPI_INTEGER_KIND", "4")]
STATUS_PARAMETERS = [("MPI_STATUS_SIZE", "8"), ("MPI_SOURCE", "1"), ("MPI_TAG", "2"),
                     ("MPI_ERROR", "3")]
FLAGS = ("MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING")
# Recognised by address: name, COMMON block or symbol, declaration, shape.
SENTINELS = [("MPI_BOTTOM", "mpi_fortran_bottom", "integer", ""),
             ("MPI_IN_PLACE", "mpi_fortran_in_place", "integer", ""),
             ("MPI_BUFFER_AUTOMATIC", "mpi_fortran_buffer_automatic", "integer", ""),
             ("MPI_ERRCODES_IGNORE", "mpi_fortran_errcodes_ignore", "integer", "(1)"),
             ("MPI_UNWEIGHTED", "mpi_fortran_unweighted", "integer", "(1)"),
             ("MPI_WEIGHTS_EMPTY", "mpi_fortran_weights_empty", "integer", "(1)"),
             ("MPI_ARGV_NULL", "mpi_fortran_argv_null", "character", "(1)"),
             ("MPI_ARGVS_NULL", "mpi_fortran_argvs_null", "character", "(1,1)")]
STATUS_SENTINELS = [("MPI_STATUS_IGNORE", "status_ignore", ""),
                    ("MPI_STATUSES_IGNORE", "statuses_ignore", "(1)")]
PREDEFINED = [f"MPI_{of}{what}_FN" for of in ("", "COMM_", "TYPE_", "WIN_")
              for what in ("NULL_COPY", "DUP", "NULL_DELETE")]


def mpif():
    """mpif.h, which both source forms accept: columns 7 to 72, & in 6 and 73."""
    lines = ["! mpif.h - made by bindings/gen/fortran.py from the tables in bindings/spec."]

    def put(text):
        lines.append("      " + text)

    lines.append("! If this is an error, INTEGER has 8 bytes: leave out -fdefault-integer-8.")
    put("INTEGER MPI_INTEGER_HAS_4_BYTES")
    put("PARAMETER (MPI_INTEGER_HAS_4_BYTES=1/(KIND(0)/8-1))")
    for name, value in KIND_PARAMETERS + STATUS_PARAMETERS:
        put(f"INTEGER {name}")
        put(f"PARAMETER ({name}={value})")
    for name in FLAGS:
        put(f"LOGICAL {name}")
        put(f"PARAMETER ({name}=.FALSE.)")
    for name, _, value in constants():
        kind = "(KIND=MPI_OFFSET_KIND)" if name == "MPI_DISPLACEMENT_CURRENT" else ""
        put(f"INTEGER{kind} {name}")
        put(f"PARAMETER ({name}={value})")
    for name, block, declaration, shape in SENTINELS:
        kind = "CHARACTER(LEN=1)" if declaration == "character" else "INTEGER"
        put(f"{kind} {name}{shape}")
        put(f"COMMON /{block.upper()}/ {name}")
    for name, block, shape in STATUS_SENTINELS:
        dims = "(MPI_STATUS_SIZE)" if not shape else "(MPI_STATUS_SIZE,1)"
        put(f"INTEGER {name}{dims}")
        put(f"COMMON /MPI_FORTRAN_{block.upper()}/ {name}")
    for prefix in ("", "P"):
        for name in ("MPI_WTIME", "MPI_WTICK"):
            put(f"REAL(KIND=8) {prefix}{name}")  # DOUBLE PRECISION grows with -fdefault-real-8
            put(f"EXTERNAL {prefix}{name}")
        for name in ("MPI_AINT_ADD", "MPI_AINT_DIFF"):
            put(f"INTEGER(KIND=MPI_ADDRESS_KIND) {prefix}{name}")
            put(f"EXTERNAL {prefix}{name}")
    for name in PREDEFINED + ["MPI_CONVERSION_FN_NULL", "MPI_CONVERSION_FN_NULL_C"]:
        put(f"EXTERNAL {name}")
    return "\n".join(lines) + "\n"


def declare(a, is_f08):
    """The lines that declare one argument."""
    shape = "(*)" if a.is_array else ""
    intent = f", intent({a.intent})" if is_f08 else ""
    if a.role == "choice":
        if is_f08:
            intent = ", intent(in)" if a.intent == "in" else ""
            return [f"type(*), dimension(..){intent}, asynchronous :: {a.name}"]
        return [f"!GCC$ ATTRIBUTES NO_ARG_CHECK :: {a.name}",
                f"!DIR$ IGNORE_TKR {a.name}", f"type(*), dimension(*) :: {a.name}"]
    if a.role == "callback":
        return ([f"procedure({a.base}) :: {a.name}"] if is_f08
                else [f"external :: {a.name}"])
    if a.role == "status":
        intent = ", intent(in)" if is_f08 and a.intent == "in" else ""
        if is_f08:
            return [f"type(MPI_Status){intent} :: {a.name}{shape}"]
        return [f"integer :: {a.name}(MPI_STATUS_SIZE{',*' if a.is_array else ''})"]
    if a.role == "handle":
        return [f"{f'type({a.base})' if is_f08 else 'integer'}{intent} :: {a.name}{shape}"]
    if a.role == "text":
        if a.name in ("argv", "array_of_commands"):
            return [f"character(len=*){intent.replace('out', 'in')} :: {a.name}(*)"]
        if a.name == "array_of_argv":
            return [f"character(len=*){intent.replace('out', 'in')} :: {a.name}(count, *)"]
        return [f"character(len=*){intent} :: {a.name}"]
    if a.role == "address":
        return [f"integer(kind=MPI_ADDRESS_KIND){intent} :: {a.name}"]
    if a.role in ("cptr", "detach"):
        if is_f08:
            return [f"type(c_ptr), intent(out) :: {a.name}"]
        if a.role == "cptr":
            return [f"integer(kind=MPI_ADDRESS_KIND) :: {a.name}"]
        return declare(a._replace(role="choice"), False)
    if a.value == "weights" or a.name in ("array_of_errcodes", "array_of_indices"):
        intent = ""
    kind = "logical" if a.is_logical else KINDS[a.base]
    if a.name == "ranges":
        shape = "(3, *)"
        intent = ", intent(in)" if is_f08 else ""
    return [f"{kind}{intent} :: {a.name}{shape}"]


def interface(p, name, is_f08, prefix="mpi", is_cptr=False, is_bound=True):
    """One interface body.  Descriptors of texts are passed to BIND(C) procedures alone."""
    names = [a.name for a in p.arguments] + (["ierror"] if p.has_ierror else [])
    kind = "subroutine" if p.is_subroutine else "function"
    bind = ""
    if is_f08 and p.has_choice and (is_bound or any(a.role == "text" for a in p.arguments)):
        bind = f' bind(C, name="{prefix}_{p.f08_name}_")'
    lines = [wrap(f"{kind} {name}({', '.join(names)}){bind}"), "    import",
             "    implicit none"]
    for a in p.arguments:
        if is_cptr and a.role == "cptr":
            lines.append(f"    type(c_ptr) :: {a.name}")
            continue
        lines += ["    " + line if line[0] != "!" else line for line in declare(a, is_f08)]
        if not is_f08 and p.has_choice and a.is_array and a.role in ("number", "handle"):
            # Other MPIs have no interface here, so programs pass scalars for arrays.
            lines += [f"!GCC$ ATTRIBUTES NO_ARG_CHECK :: {a.name}",
                      f"!DIR$ IGNORE_TKR (r) {a.name}"]
    if p.has_ierror:
        optional = ", optional, intent(out)" if is_f08 else ""
        lines.append(f"    integer{optional} :: ierror")
    if not p.is_subroutine:
        result = ("double precision" if p.function.returns == "double"
                  else "integer(kind=MPI_ADDRESS_KIND)")
        lines.append(f"    {result} :: {name}")
    return "\n".join(lines + [f"end {kind} {name}"]) + "\n"


def public_but_for(*names):
    """The head of a module with names of ISO_C_BINDING that it does not hand on."""
    listed = ", ".join(names)
    return [f"    use, intrinsic :: iso_c_binding, only: {listed}", "    implicit none",
            "    public", f"    private :: {listed}"]


def sentinel_module():
    lines = ["module mpi_abi_sentinels", *public_but_for("c_int", "c_char")]
    for name, block, declaration, shape in SENTINELS:
        kind = "character(kind=c_char)" if declaration == "character" else "integer(c_int)"
        lines.append(f'    {kind}, bind(C, name="{block}_"), target :: {name}{shape}')
    return "\n".join(lines + ["end module mpi_abi_sentinels"]) + "\n"


def sizeof_interface(prefix):
    """MPI_Sizeof for the intrinsic types, bodies included (name, body)."""
    kinds = ([("integer", k) for k in (1, 2, 4, 8)] + [("real", k) for k in (4, 8)]
             + [("complex", k) for k in (4, 8)] + [("logical", k) for k in (1, 2, 4, 8)])
    for kind, size in kinds + [("character", 1)]:
        name = f"mpi_sizeof_{kind}{size}"
        declaration = "character(len=*)" if kind == "character" else f"{kind}({size})"
        bytes_of = 2 * size if kind == "complex" else size
        yield name, (f"subroutine {name}(x, size, ierror)\n"
                     f"    {declaration}, dimension(..) :: x\n"
                     "    integer, intent(out) :: size\n"
                     f"    integer{prefix}, intent(out) :: ierror\n"
                     f"    size = {bytes_of}\n"
                     + ("    if (present(ierror)) ierror = MPI_SUCCESS\n" if prefix
                        else "    ierror = MPI_SUCCESS\n")
                     + f"end subroutine {name}\n")


def sizeof_block(is_f08):
    """The generic interface, and the procedures behind it."""
    parts = list(sizeof_interface(", optional" if is_f08 else ""))
    generic = "".join(f"interface {g}\n"
                      + "".join(f"    module procedure {n}\n" for n, _ in parts)
                      + "end interface\n" for g in ("MPI_Sizeof", "PMPI_Sizeof"))
    private = "".join(f"private :: {n}\n" for n, _ in parts)
    return generic + private, "contains\n" + "\n".join(b for _, b in parts)


def common_parameters():
    lines = [f"integer, parameter :: {n} = {v}" for n, v in KIND_PARAMETERS]
    return lines + [f"integer, parameter :: {n} = {v}" for n, v in STATUS_PARAMETERS]


OLD_ATTRIBUTES = """interface
subroutine MPI_KEYVAL_CREATE(copy_fn, delete_fn, keyval, extra_state, ierror)
    external :: copy_fn, delete_fn
    integer :: keyval, extra_state, ierror
end subroutine MPI_KEYVAL_CREATE
subroutine MPI_KEYVAL_FREE(keyval, ierror)
    integer :: keyval, ierror
end subroutine MPI_KEYVAL_FREE
subroutine MPI_ATTR_PUT(comm, keyval, attribute_val, ierror)
    integer :: comm, keyval, attribute_val, ierror
end subroutine MPI_ATTR_PUT
subroutine MPI_ATTR_GET(comm, keyval, attribute_val, flag, ierror)
    integer :: comm, keyval, attribute_val, ierror
    logical :: flag
end subroutine MPI_ATTR_GET
subroutine MPI_ATTR_DELETE(comm, keyval, ierror)
    integer :: comm, keyval, ierror
end subroutine MPI_ATTR_DELETE
end interface
"""


def predefined_callbacks(is_f08):
    """Interfaces of MPI_COMM_DUP_FN and its kin, and of the null conversions."""
    text = ["interface"]
    for name in PREDEFINED:
        of = name.split("_")[1]
        is_old = of in ("NULL", "DUP")
        if is_old and is_f08:
            continue
        handle = {"COMM": "MPI_Comm", "TYPE": "MPI_Datatype", "WIN": "MPI_Win"}.get(of)
        kind = f"type({handle})" if is_f08 else "integer"
        value = "integer" if is_old else "integer(kind=MPI_ADDRESS_KIND)"
        is_copy = not name.endswith("DELETE_FN")
        names = (["object", "keyval", "extra_state", "attribute_val_in",
                  "attribute_val_out", "flag", "ierror"] if is_copy else
                 ["object", "keyval", "attribute_val", "extra_state", "ierror"])
        values = [n for n in names if n.startswith("attribute") or n == "extra_state"]
        text += [wrap(f"subroutine {name}({', '.join(names)})"), "    import",
                 f"    {kind} :: object", "    integer :: keyval, ierror",
                 f"    {value} :: {', '.join(values)}"]
        text += ["    logical :: flag"] if is_copy else []
        text.append(f"end subroutine {name}")
    for suffix, count in (("", "integer"), ("_C", "integer(kind=MPI_COUNT_KIND)")):
        name = "MPI_CONVERSION_FN_NULL" + suffix
        buffer = "type(c_ptr), value" if is_f08 else "type(*), dimension(*)"
        kind = "type(MPI_Datatype)" if is_f08 else "integer"
        text += [f"subroutine {name}(userbuf, datatype, count, filebuf, position, &",
                 "    extra_state, ierror)", "    import",
                 f"    {buffer} :: userbuf, filebuf", f"    {kind} :: datatype",
                 f"    {count} :: count", "    integer(kind=MPI_OFFSET_KIND) :: position",
                 "    integer(kind=MPI_ADDRESS_KIND) :: extra_state",
                 "    integer :: ierror", f"end subroutine {name}"]
    return "\n".join(text + ["end interface"]) + "\n"


SYNC_F90 = """interface
subroutine {0}MPI_F_SYNC_REG(buf)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
!DIR$ IGNORE_TKR buf
    type(*), dimension(*) :: buf
end subroutine {0}MPI_F_SYNC_REG
end interface
"""
SYNC_F08 = """interface {0}MPI_F_sync_reg
subroutine {1}mpi_f_sync_reg_f08ts(buf) bind(C, name="{1}mpi_f_sync_reg_f08ts_")
    type(*), dimension(..), asynchronous :: buf
end subroutine {1}mpi_f_sync_reg_f08ts
end interface
interface {0}MPI_Status_f2f08
subroutine {1}mpi_status_f2f08_f08(f_status, f08_status, ierror)
    import
    integer, intent(in) :: f_status(MPI_STATUS_SIZE)
    type(MPI_Status), intent(out) :: f08_status
    integer, optional, intent(out) :: ierror
end subroutine {1}mpi_status_f2f08_f08
end interface
interface {0}MPI_Status_f082f
subroutine {1}mpi_status_f082f_f08(f08_status, f_status, ierror)
    import
    type(MPI_Status), intent(in) :: f08_status
    integer, intent(out) :: f_status(MPI_STATUS_SIZE)
    integer, optional, intent(out) :: ierror
end subroutine {1}mpi_status_f082f_f08
end interface
"""


def module_mpi():
    text = ["! Made by bindings/gen/fortran.py.\n" + sentinel_module(),
            "module mpi_constants", "    use mpi_abi_sentinels", *public_but_for("c_int")]
    text += ["    " + line for line in common_parameters()]
    text += [f"    logical, parameter :: {name} = .false." for name in FLAGS]
    for name, _, value in constants():
        kind = "(kind=MPI_OFFSET_KIND)" if name == "MPI_DISPLACEMENT_CURRENT" else ""
        text.append(f"    integer{kind}, parameter :: {name} = {value}")
    for name, block, shape in STATUS_SENTINELS:
        dims = "(MPI_STATUS_SIZE,1)" if shape else "(MPI_STATUS_SIZE)"
        text.append(f'    integer(c_int), bind(C, name="mpi_fortran_{block}_") :: {name}{dims}')
    generic, contains = sizeof_block(False)
    text += ["end module mpi_constants\n", "module mpi", "    use mpi_constants",
             *public_but_for("c_ptr"), generic, OLD_ATTRIBUTES,
             predefined_callbacks(False)]
    for prefix in ("", "P"):
        text.append(SYNC_F90.format(prefix))
        for p in procedures():
            if p.is_large:
                continue
            name = prefix + p.function.name
            is_cptr = any(a.role == "cptr" for a in p.arguments)
            text.append(f"interface{' ' + name if is_cptr else ''}")
            text.append(interface(p, name, False))
            if is_cptr:
                text.append(interface(p, name + "_cptr", False, is_cptr=True))
            text.append("end interface")
    return "\n".join(text) + "\n" + contains + "end module mpi\n"


def f08_types():
    # mpi_f08 of other MPIs hands the names of ISO_C_BINDING on, and programs rely on it.
    text = ["! Made by bindings/gen/fortran.py.", "module mpi_f08_types",
            "    use mpi_abi_sentinels", "    use, intrinsic :: iso_c_binding",
            "    implicit none", "    public"]
    text += ["    " + line for line in common_parameters()]
    text += [f"    logical, parameter :: {name} = .true." for name in FLAGS]
    text += ["    type, bind(C) :: MPI_Status", "        integer(c_int) :: MPI_SOURCE",
             "        integer(c_int) :: MPI_TAG", "        integer(c_int) :: MPI_ERROR",
             "        integer(c_int), private :: MPI_internal(5)", "    end type MPI_Status"]
    for handle in HANDLES:
        text += [f"    type, bind(C) :: {handle}", "        integer(c_int) :: MPI_VAL",
                 f"    end type {handle}"]
    for name, handle, value in constants():
        if handle:
            text.append(f"    type({handle}), parameter :: {name} = {handle}({value})")
        else:
            kind = "(kind=MPI_OFFSET_KIND)" if name == "MPI_DISPLACEMENT_CURRENT" else ""
            text.append(f"    integer{kind}, parameter :: {name} = {value}")
    for name, block, shape in STATUS_SENTINELS:
        text.append(f'    type(MPI_Status), bind(C, name="mpi_f08_{block}_") :: {name}{shape}')
    contains = ["contains"]
    for operator, word in (("==", "eq"), ("/=", "ne")):
        text.append(f"    interface operator({operator})")
        text += [f"        module procedure {h.lower()}_{word}" for h in HANDLES]
        text.append("    end interface")
        for h in HANDLES:
            contains += [f"elemental logical function {h.lower()}_{word}(a, b)",
                         f"    type({h}), intent(in) :: a, b",
                         f"    {h.lower()}_{word} = a%MPI_VAL {operator} b%MPI_VAL",
                         f"end function {h.lower()}_{word}"]
    text += [f"    private :: {h.lower()}_{w}" for h in HANDLES for w in ("eq", "ne")]
    return "\n".join(text + contains + ["end module mpi_f08_types"]) + "\n"


# Fortran's types of what a callback gets; void* is a buffer, or a state.
def callback_arguments(inside):
    for parameter in inside.split(","):
        p = spec.parse_parameter(parameter)
        if p.type == "...":
            continue
        base = p.type.replace("*", "").strip()
        if p.name in ("invec", "inoutvec", "userbuf", "filebuf"):
            yield p.name, "type(c_ptr), value"
        elif base == "void":
            yield p.name, "integer(kind=MPI_ADDRESS_KIND)"
        elif p.name in ("flag", "complete"):
            yield p.name, "logical"
        elif base in HANDLES or base == "MPI_Status":
            yield p.name, f"type({base})"
        else:
            yield p.name, KINDS[base]


def f08_callbacks():
    text = ["module mpi_f08_callbacks", "    use mpi_f08_types", "    implicit none",
            "    public", "abstract interface"]
    for name, returns, inside in spec.callbacks():
        if name.startswith("MPI_T_"):
            continue
        arguments = list(callback_arguments(inside))
        if returns == "int":
            arguments.append(("ierror", "integer"))
        names = ", ".join(n for n, _ in arguments)
        text += [wrap(f"subroutine {name}({names})"), "    import", "    implicit none"]
        text += [f"    {kind} :: {n}" for n, kind in arguments]
        text.append(f"end subroutine {name}")
    return "\n".join(text + ["end interface", "end module mpi_f08_callbacks"]) + "\n"


def signature(p):
    """What tells procedures of one generic name apart: kinds and ranks, in order."""
    key = []
    for a in p.arguments:
        kind = KINDS.get(a.base, a.base) if a.role == "number" else a.role + a.base
        if "(" in kind:
            kind = "long"  # all three have 8 bytes
        key.append("callback" if a.role == "callback" else (kind, a.is_array))
    return key


def module_f08(is_bound=True):
    """gfortran passes the descriptor of C to BIND(C) procedures alone, flang to all; and flang
    lets a tool define mpi_send_f08ts in Fortran only if the interface is not BIND(C)."""
    all_of_them = procedures()
    base = {p.function.name: p for p in all_of_them}
    generic, contains = sizeof_block(True)
    text = [f08_types(), f08_callbacks(), "module mpi_f08", "    use mpi_f08_types",
            "    use mpi_f08_callbacks", "    implicit none", "    public", generic,
            predefined_callbacks(True)]
    for prefix, lower in (("", ""), ("P", "p")):
        text.append(SYNC_F08.format(prefix, lower))
        for p in all_of_them:
            name = p.function.name
            if p.is_large and signature(p) != signature(base[name[:-2]]):
                name = name[:-2]
            text.append(f"interface {prefix}{name}")
            text.append(interface(p, f"{lower}mpi_{p.f08_name}", True, lower + "mpi",
                                  is_bound=is_bound))
            text.append("end interface")
    return "\n".join(text) + "\n" + contains + "end module mpi_f08\n"


# --- programs that name every procedure ------------------------------------------------


def sample(a, form):
    """A variable of the kind that the argument has."""
    is_f08 = form == "mpi_f08"
    if a.role == "choice" or a.role == "detach" and not is_f08:
        return "buffer"
    if a.role == "callback":
        return "cb_" + a.base if is_f08 else "callback"
    if a.role == "status":
        return "statuses" if a.is_array else "status"
    if a.role == "handle":
        return (HANDLES[a.base] if is_f08 else "number") + ("s" if a.is_array else "")
    if a.role == "text":
        return {"argv": "texts", "array_of_commands": "texts",
                "array_of_argv": "texts2"}.get(a.name, "text")
    if a.role == "address":
        return "long"
    if a.role in ("cptr", "detach"):
        return "pointer" if is_f08 else "long"
    if a.name == "ranges":
        return "ranges"
    name = "truth" if a.is_logical else ("number" if a.base == "int" else "long")
    return name + ("s" if a.is_array else "")


def every(form):
    """A program that calls everything, if it is told to, which nobody does."""
    is_f08 = form == "mpi_f08"
    use = "" if form == "mpif" else f"    use {form}\n"
    include = "    include 'mpif.h'\n" if form == "mpif" else ""
    lines = [f"program every_{form}\n{use}    implicit none\n{include}"
             "    integer :: number, numbers(8), ranges(3, 1), ierror\n"
             "    integer(kind=8) :: long, longs(8)\n    logical :: truth, truths(8)\n"
             "    character(len=16) :: text, texts(2), texts2(1, 2)\n"
             "    double precision :: time\n    real :: buffer(8)"]
    if is_f08:
        lines += [f"    type({h}) :: {n}, {n}s(2)" for h, n in HANDLES.items()]
        lines += [f"    procedure({n}), pointer :: cb_{n}" for n, _, _ in spec.callbacks()
                  if not n.startswith("MPI_T_")]
        lines += ["    type(MPI_Status) :: status, statuses(2)", "    type(c_ptr) :: pointer"]
    else:
        lines += ["    integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2)",
                  "    external :: callback"]
    lines.append("    if (command_argument_count() < 1000) stop")
    base = {p.function.name: p for p in procedures()}
    for prefix in ("", "P"):
        for p in base.values():
            if p.is_large and not is_f08:
                continue
            name = p.function.name
            if p.is_large and signature(p) != signature(base[name[:-2]]):
                name = name[:-2]
            values = [sample(a, form) for a in p.arguments]
            values += ["ierror"] if p.has_ierror else []
            call = f"{prefix}{name}({', '.join(values)})"
            if p.is_subroutine:
                lines.append(wrap("    call " + call))
            else:
                lines.append(f"    {'time' if 'Wt' in name else 'long'} = {call}")
        lines.append(f"    call {prefix}MPI_F_sync_reg(buffer)")
    lines.append(f"end program every_{form}")
    if not is_f08:
        lines.append("subroutine callback\nend subroutine callback")
    return "\n".join(lines) + "\n"


def main(folder):
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    for name, text in (("mpif.h", mpif()), ("mpi.f90", module_mpi()),
                       ("mpi_f08.f90", module_f08()),
                       ("mpi_f08_flang.f90", module_f08(False)), ("bodies.c", bodies()),
                       ("every_mpif.f90", every("mpif")), ("every_mpi.f90", every("mpi")),
                       ("every_mpi_f08.f90", every("mpi_f08"))):
        (out / name).write_text(text)


if __name__ == "__main__":
    main(sys.argv[1])
