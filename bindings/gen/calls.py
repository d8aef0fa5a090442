"""calls.py - writes src/wireup/calls.inc, a number for every function, from bindings/spec.

    calls.py            print the file
    calls.py --check F  fail if file F differs from it

The file is committed, because the rooms of src/ use it and know nothing of bindings/; a test
runs --check.
"""

import sys

import spec

HEAD = """\
/* Made from the tables in bindings/spec by bindings/gen/calls.py: all functions of the ABI,
 * without MPI_. A function's number is its place in this list, counted from 1. */
"""


def calls():
    names = sorted(f.name.removeprefix("MPI_") for f in spec.functions())
    return HEAD + "".join(f"WEFT_CALL({name})\n" for name in names)


def main(arguments):
    if arguments[:1] == ["--check"]:
        with open(arguments[1]) as file:
            if file.read() != calls():
                sys.exit(f"{arguments[1]} differs from what the tables say: "
                         "run bindings/gen/calls.py > src/wireup/calls.inc")
        return
    sys.stdout.write(calls())


if __name__ == "__main__":
    main(sys.argv[1:])
