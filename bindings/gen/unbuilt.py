"""unbuilt.py - bodies for the functions of the ABI that nobody has written yet.

    unbuilt.py SOURCE...     print C for every function that no SOURCE defines

A source defines a function by its WEFT_WEAK_ALIAS line, or by a FACES line of
collectives.c, which stands for the functions of one operation.  The bodies raise
MPI_ERR_UNSUPPORTED_OPERATION through the error handler that fits the arguments.
"""

import re
import sys

import spec

ALIAS = re.compile(r"^WEFT_WEAK_ALIAS\((MPI_\w+), PMPI_\w+\);", re.M)
FACES = re.compile(r"^FACES(_WITHOUT_COUNTS)?\((\w+), (\w+),", re.M)


def faces(without_counts, name, lower):
    """The functions of one collective operation."""
    for suffix in [""] if without_counts else ["", "_c"]:
        yield f"MPI_{name}{suffix}"
        yield f"MPI_I{lower}{suffix}"
        yield f"MPI_{name}_init{suffix}"


def defined_in(texts):
    found = set()
    for text in texts:
        found.update(ALIAS.findall(text))
        for line in FACES.findall(text):
            found.update(faces(*line))
    return found


def failing_call(f):
    """The expression that raises the error for f and gives what f returns."""
    if f.name.startswith("MPI_T_"):
        return "MPI_T_ERR_NOT_SUPPORTED"  # MPI_T never runs an error handler
    if f.name.startswith("MPI_File_"):  # opening fails on MPI_FILE_NULL's handler
        file = next((p.name for p in f.parameters if p.type == "MPI_File"), "MPI_FILE_NULL")
        return f'weft_unbuilt_file({file}, "{f.name}")'
    for p in f.parameters:
        if p.type == "MPI_Comm":
            return f'weft_unbuilt_comm({p.name}, "{f.name}")'
    return f'weft_unbuilt("{f.name}")'


def body(f):
    call = failing_call(f)
    unused = "".join(f"    (void){p.name};\n" for p in f.parameters
                     if p.name and f"({p.name}," not in call)
    prototype = f.prototype.replace(f.name + "(", "P" + f.name + "(")
    return (f"{prototype}\n{{\n{unused}    return {call};\n}}\n"
            f"WEFT_WEAK_ALIAS({f.name}, P{f.name});\n")


def generate(texts):
    defined = defined_in(texts)
    unknown = defined - {f.name for f in spec.functions()}
    if unknown:
        sys.exit(f"not functions of the ABI: {' '.join(sorted(unknown))}")
    bodies = [body(f) for f in spec.functions() if f.name not in defined]
    return ("/* Made by bindings/gen/unbuilt.py. */\n"
            '#include "binding.h"\n\n' + "\n".join(bodies))


def main(sources):
    texts = []
    for source in sources:
        with open(source) as file:
            texts.append(file.read())
    sys.stdout.write(generate(texts))


if __name__ == "__main__":
    main(sys.argv[1:])
