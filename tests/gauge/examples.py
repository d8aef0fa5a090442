#!/usr/bin/env python3
"""examples.py README OUT - the examples of gauge/README.md as files that are compiled.

Writes the module and the pattern that the text shows, and a list of its own that has both
beside those that exist, by adding the two words a contributor adds to registry.c.
"""

import re
import sys
from pathlib import Path

EXAMPLE = re.compile(r"<!-- example: (\w+) -->\n```c\n(.*?)```", re.S)


def main(readme, registry, module, pattern, lists):
    found = dict(EXAMPLE.findall(Path(readme).read_text()))
    Path(module).write_text(found["module"])
    Path(pattern).write_text(found["pattern"])
    text = Path(registry).read_text()
    for kind, name in (("gauge_module", "loop"), ("gauge_pattern", "receipt")):
        text = re.sub(rf"(extern (?:const )?struct {kind}\n)", rf"\1    gauge_{name},\n", text)
        text = re.sub(rf"(\*const {kind}s\[\] = {{\n)", rf"\1    &gauge_{name},\n", text)
    Path(lists).write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
