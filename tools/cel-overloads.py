#!/usr/bin/env python3
"""Generates pkg/cel/src/overloads/{ids,signatures,types}.rs: the static table of all overloads in Kubernetes' CEL
environments.

    cargo xtask generate overloads CEL.json CEL_GO

CEL.json lists overloads by library. The order of overloads within a function matters: it determines the result type
and the numbers of type variables. It comes from cel-go's sources (CEL_GO, a checkout or vendor directory).
Overloads that are absent there keep the order of CEL.json.
"""

import json
import re
import sys
from pathlib import Path

# Fixed positions at the start of the table of types. types.rs has constants for them.
PLAIN = ["dyn", "any", "bool", "bytes", "double", "google.protobuf.Duration", "error", "int", "null_type", "string",
         "google.protobuf.Timestamp", "type", "uint", "unspecified"]
SHAPES = ["Dyn", "Any", "Bool", "Bytes", "Double", "Duration", "Error", "Int", "Null", "String", "Timestamp",
          "Type(None)", "Uint", "Unspecified"]
WRAPPED = ["bool", "bytes", "double", "int", "string", "uint"]
OPAQUE = {"optional_type", "net.IP", "net.CIDR"}
# Library in CEL.json -> constant in overloads.rs.
LIBRARIES = {
    "kubernetes.urls": "URLS", "kubernetes.regex": "REGEX", "kubernetes.lists": "LISTS", "kubernetes.lists v1": "INCLUDES",
    "cel.lib.ext.strings v0": "STRINGS_V0", "kubernetes.authz": "AUTHZ", "cel.lib.optional": "OPTIONAL",
    "kubernetes.quantity": "QUANTITY", "cel.lib.ext.strings v2": "STRINGS_V2", "cel.lib.ext.sets": "SETS",
    "kubernetes.net.ip": "IP", "kubernetes.net.cidr": "CIDR", "kubernetes.format": "FORMAT",
    "kubernetes.authzSelectors": "AUTHZ_SELECTORS", "cel.lib.ext.comprev2": "TWO_VARIABLES",
    "kubernetes.Semver v1": "SEMVER", "cel.lib.ext.lists v3": "LISTS_V3", "kubernetes.jsonpatch": "JSON_PATCH",
    "cel.lib.ext.cel.bindings v0": "BINDINGS",
}


# Object types in CEL.json -> constants in overloads.rs, one per use that declares the type.
OBJECTS = {
    "kubernetes.GroupVersionKind": "ADMISSION", "kubernetes.GroupVersionResource": "ADMISSION",
    "kubernetes.UserInfo": "ADMISSION AUTHENTICATION", "kubernetes.AdmissionRequest": "ADMISSION",
    "kubernetes.Namespace": "ADMISSION", "kubernetes.NamespaceSpec": "ADMISSION",
    "kubernetes.NamespaceStatus": "ADMISSION", "kubernetes.NamespaceCondition": "ADMISSION",
    "kubernetes.NamespaceMetadata": "ADMISSION", "kubernetes.SubjectAccessReviewSpec": "AUTHORIZATION",
    "kubernetes.ResourceAttributes": "AUTHORIZATION", "kubernetes.NonResourceAttributes": "AUTHORIZATION",
    "kubernetes.FieldSelectorAttributes": "AUTHORIZATION", "kubernetes.LabelSelectorAttributes": "AUTHORIZATION",
    "kubernetes.SelectorRequirement": "AUTHORIZATION", "kubernetes.DRADevice": "DEVICES", "JSONPatch": "PATCHES",
}


class Types:
    """The static table of types. Its entries are Rust expressions."""

    def __init__(self):
        self.rows, self.index, self.names = [], {}, []
        for text, shape in zip(PLAIN, SHAPES):
            self.add(text, shape, False, 1)
        for text in WRAPPED:
            self.add(f"wrapper({text})", f"Wrapper(Type({self.index[text]}))", False, 1)

    def add(self, text, shape, open_, size):
        self.index[text] = len(self.rows)
        self.rows.append((text, shape, open_, size))
        return self.index[text]

    def name(self, text):
        if text not in self.names:
            self.names.append(text)
        return f"TypeName({self.names.index(text)})"

    def of(self, text):
        if text in self.index:
            return self.index[text]
        if match := re.fullmatch(r"<([A-Z])>", text):
            return self.add(text, f"Param({ord(match[1]) - 65})", True, 1)
        head, _, tail = text.partition("(")
        params = [self.of(p) for p in split(tail[:-1])] if tail else []
        ids = [f"Type({p})" for p in params]
        open_ = any(self.rows[p][2] for p in params)
        size = 1 + sum(self.rows[p][3] for p in params)
        if head == "list":
            shape = f"List({ids[0]})"
        elif head == "map":
            shape = f"Map({ids[0]}, {ids[1]})"
        elif head == "type":
            shape = f"Type(Some({ids[0]}))"
        elif head in OPAQUE:
            shape = f"Opaque({self.name(head)}, {f'Some({ids[0]})' if ids else 'None'})"
        else:
            shape = f"Struct({self.name(head)})"
        return self.add(text, shape, open_, size)


def split(text):
    """Splits the arguments of a parameterized type at top-level commas."""
    parts, depth, part = [], 0, ""
    for char in text:
        if char == "," and depth == 0:
            parts.append(part.strip())
            part = ""
            continue
        depth += (char == "(") - (char == ")")
        part += char
    return parts + [part.strip()]


def variant(id_):
    """Returns the Rust variant of an overload ID: `add_int64` -> `AddInt64`."""
    if id_ == "__not_strictly_false__":
        return "NotStrictlyFalseOld"
    return "".join(p[0].upper() + p[1:] for p in re.split(r"[^A-Za-z0-9]+", id_) if p)


def source_order(directory):
    """Returns the position of each overload ID in cel-go's sources."""
    order = {}
    if not directory:
        return order
    constants = dict(re.findall(r'^\s*(\w+)\s*=\s*"([^"]+)"', (directory / "common/overloads/overloads.go").read_text(), re.M))
    names = ["common/stdlib/standard.go", "cel/library.go", *(f"ext/{n}.go" for n in ("strings", "sets", "lists", "comprehensions"))]
    for name in names:
        text = (directory / name).read_text()
        for match in re.finditer(r'overloads\.(\w+)|"([\w.@]+)"', text):
            order.setdefault(constants.get(match[1]) or match[2], len(order))
    return order


# The order of types in loops by which cel-go and Kubernetes declare the overloads of LOOPS.
COMPARABLE = ["int", "uint", "double", "bool", "google.protobuf.Duration", "google.protobuf.Timestamp", "string", "bytes"]
LOOPS = {"sort", "@sortByAssociatedKeys", "isSorted", "sum", "max", "min"}
# Functions that upstream's tests of environment versions add.
TESTS = [{"function": f, "id": f, "args": [], "result": "bool", "member": False} for f in ("test", "testV1")]


def place(overload, order):
    if overload["function"] in LOOPS:
        return COMPARABLE.index(overload["args"][-1][len("list("):-1])
    return order.get(overload["id"], 0)


def rows(cel, order):
    """Returns (function, [(overload, libraries)]), functions sorted by name, overloads in declaration order."""
    found = {}
    sources = [("TESTS", TESTS), ("STANDARD", cel["std"]["overloads"])]
    sources += [(LIBRARIES[l["library"]], l["overloads"]) for l in cel["libraries"] + cel["extra_libraries"]]
    for library, overloads in sources:
        for o in sorted(overloads, key=lambda o: place(o, order)):
            key = (o["function"], o["id"])
            if key in found:
                found[key][1].append(library)
            else:
                found[key] = (o, [library])
    cross = re.compile(r"_(double|int64|uint64)_(?!\1$)(double|int64|uint64)$")
    for (function, id_), (overload, libraries) in found.items():
        if re.fullmatch(r"_[<>]=?_", function) and cross.search(id_):
            libraries[:] = ["CROSS_TYPE"]
    by_function = {}
    for (function, id_), (overload, libraries) in found.items():
        by_function.setdefault(function, []).append((overload, libraries))
    return [(f, by_function[f]) for f in sorted(by_function, key=lambda f: f.encode())]


def main():
    cel = json.load(open(sys.argv[1]))
    order = source_order(Path(sys.argv[2]) if len(sys.argv) > 2 else None)
    types, out = Types(), []
    functions = rows(cel, order)
    overloads = {}
    table, ranges = [], []
    for function, list_ in functions:
        ranges.append((function, len(table), len(table) + len(list_)))
        for o, libraries in list_:
            args = ", ".join(f"Type({types.of(a)})" for a in o["args"])
            result = types.of(o["result"])
            overloads.setdefault(o["id"], o)
            mask = " | ".join(f"L::{l}.0" for l in libraries)
            table.append(f"    Signature {{ overload: Overload::{variant(o['id'])}, args: &[{args}], "
                         f"result: Type({result}), member: {str(o['member']).lower()}, libraries: L({mask}) }},")
    # Types by identifier.
    idents = []
    for name, text in sorted(cel["std"]["idents"].items()):
        idents.append((name, types.of(text)))
    # Object types and their fields. A suffix in parentheses after a field's type is a feature gate that is enabled.
    objects = []
    for name, uses in OBJECTS.items():
        fields = [f'("{f}", Type({types.of(t.split(" (")[0])}))' for f, t in cel["types"][name].items()]
        mask = " | ".join(f"L::{u}.0" for u in uses.split())
        objects.append(f'    Object {{ name: "{name}", ty: Type({types.of(name)}), libraries: L({mask}), '
                       f"fields: &[{', '.join(fields)}] }},")
    out.append("use crate::overloads::overloads;\n")
    out.append("overloads! {")
    for id_, o in overloads.items():
        args = o["args"][1:] if o["member"] else o["args"]
        target = o["args"][0] + "." if o["member"] else ""
        out.append(f'    {variant(id_)} = "{id_}", "`{target}{o["function"]}({", ".join(args)}) -> {o["result"]}`";')
    out.append("}")
    write("ids", "The overloads by name.", out)
    out = ["use crate::overloads::{Libraries as L, Overload, Signature};\nuse crate::types::shape::Type;\n"]
    out.append(f"/// Functions in ascending order by name, with the index range of their signatures.\npub(super) static FUNCTIONS: [(&str, u16, u16); {len(ranges)}] = [")
    out += [f'    ("{f}", {a}, {b}),' for f, a, b in ranges] + ["];\n"]
    out.append(f"/// Signatures, grouped by function, in cel-go's order within a function.\npub(super) static SIGNATURES: [Signature; {len(table)}] = [")
    out += table + ["];"]
    write("signatures", "The signatures of each function.", out)
    out = ["use crate::overloads::{Libraries as L, Object};\nuse crate::types::shape::{Info, Shape, Type, TypeName};\n"]
    out.append(f"/// Type identifiers, in ascending order.\npub(crate) static TYPE_IDENTS: [(&str, Type); {len(idents)}] = [")
    out += [f'    ("{n}", Type({t})),' for n, t in idents] + ["];\n"]
    out.append(f"/// Object types that Kubernetes declares.\npub(crate) static OBJECTS: [Object; {len(objects)}] = [")
    out += objects + ["];\n"]
    out.append(f"/// The types of signatures.\npub(crate) static TYPES: [Info; {len(types.rows)}] = [")
    for text, shape, open_, size in types.rows:
        out.append(f"    // {text}\n    Info {{ shape: Shape::{shape}, open: {str(open_).lower()}, size: {size} }},")
    out.append("];\n")
    out.append(f"/// Names of types.\npub(crate) static TYPE_NAMES: [&str; {len(types.names)}] = [")
    out += [f'    "{n}",' for n in types.names] + ["];"]
    write("types", "The types of signatures and of declared objects.", out)


def write(name, about, lines):
    """Writes one of the generated files."""
    path = Path(__file__).parent.parent / "pkg/cel/src/overloads" / f"{name}.rs"
    head = f"//! {about} Generated by `tools/cel-overloads.py`; do not edit."
    path.write_text("\n".join([head, "", *lines]) + "\n")


main()
