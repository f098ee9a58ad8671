#!/usr/bin/env python3
"""Updates the table of flags from the flags of an upstream server.

    cargo xtask generate flags FACTS/flags.json

flags.json is an array with one {"name", "type", "default", "section", "hidden", "shorthand"} per flag of the release
that Mainstay follows. Names, types, defaults and sections come from there. The support of a flag, and flags that only
Mainstay has, stay as they are in the table. A new flag is rejected until its support is decided.
"""
import json
import re
import sys
from pathlib import Path

TABLE = Path("cmd/kube-apiserver/src/flags/table.rs")
START = "pub(crate) const FLAGS: &[Flag] = &[\n"
TEXT = r'"((?:[^"\\]|\\.)*)"'
ROW = re.compile(
    rf"    (?:with_shorthand\('(?P<shorthand>.)', )?(?:flag\({TEXT}, |hidden\()"
    rf"{TEXT}, (?P<kind>\w+), {TEXT}, {TEXT}, (?P<support>\w+\({TEXT}\))\)\)?,"
)
NEW = 'Rejected("it is new in this release")'
# Flags that upstream lacks.
OWN_SECTION = "Embedded store"
OWN_FLAGS = ["memory-limit"]


class Row:
    """A flag of the table."""

    def __init__(self, line):
        match = ROW.fullmatch(line)
        if not match:
            sys.exit(f"{TABLE}: the row does not parse: {line}")
        self.line = line
        self.section, self.name, self.type, self.kind = match[2], match[3], match[5], match["kind"]
        self.support = match["support"]

    def is_own(self):
        return self.section == OWN_SECTION or self.name in OWN_FLAGS


def written(flag, kind, support):
    """Returns the row of a flag of upstream."""
    text = lambda value: json.dumps(value, ensure_ascii=False)
    rest = f'{text(flag["name"])}, {kind}, {text(flag["type"])}, {text(flag["default"])}, {support}'
    if flag.get("hidden"):
        return f"    hidden({rest}),"
    row = f'flag({text(flag["section"])}, {rest})'
    return f"    with_shorthand('{flag['shorthand']}', {row})," if flag.get("shorthand") else f"    {row},"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        flags = {flag["name"]: flag for flag in json.load(file)}
    head, rest = TABLE.read_text(encoding="utf-8").split(START)
    body, tail = rest.split("];\n", 1)
    rows = [Row(line) for line in body.splitlines()]
    kinds = {row.type: row.kind for row in rows}
    sections = {}

    def add(flag, line):
        sections.setdefault(flag.get("section") or "", {})[flag["name"]] = line

    for row in rows:
        flag = flags.pop(row.name, None)
        if flag:
            add(flag, written(flag, row.kind, row.support))
        elif row.is_own():
            add(vars(row), row.line)
        else:
            print(f"removed: --{row.name}", file=sys.stderr)
    for name, flag in flags.items():
        if flag["type"] not in kinds:
            sys.exit(f"--{name}: no kind of value is known for the type {flag['type']}")
        print(f"new, to be decided: --{name}", file=sys.stderr)
        add(flag, written(flag, kinds[flag["type"]], NEW))
    hidden = sections.pop("", {})
    lines = [line for rows in [*sections.values(), hidden] for _, line in sorted(rows.items())]
    print(head + START + "\n".join(lines) + "\n];\n" + tail, end="")


if __name__ == "__main__":
    main()
