"""chapters.py - the table behind weft-info: every function, its chapter, built or not."""

import sys

import spec


def table():
    built = spec.built()
    rows = "".join(
        f'    {{"{f.name}", {list(spec.CHAPTERS).index(f.group)}, '
        f'{"true" if f.name in built else "false"}}},\n'
        for f in sorted(spec.functions(), key=lambda f: f.name))
    chapter_of = {f.group: f.chapter for f in spec.functions()}
    groups = "".join(f'    {{{chapter_of[g]}, "{title}"}},\n'
                     for g, title in spec.CHAPTERS.items())
    return ("/* Made by bindings/gen/chapters.py. */\n"
            '#include "chapters.h"\n\n'
            "const struct weft_function weft_functions[] = {\n" + rows + "};\n\n"
            "const struct weft_chapter weft_chapters[] = {\n" + groups + "};\n\n"
            f"const int weft_function_count = {len(spec.functions())};\n"
            f"const int weft_chapter_count = {len(spec.CHAPTERS)};\n")


if __name__ == "__main__":
    sys.stdout.write(table())
