#!/usr/bin/env python3
"""Makes the table of what the API's documents say of types beyond what the k8s-openapi crate says.

    (cd UPSTREAM && go run ./pkg/generated/openapi/cmd/models-schema) > MODELS.json
    cargo xtask generate descriptions UPSTREAM/api/openapi-spec/swagger.json MODELS.json

UPSTREAM is a checkout of the release that is followed. The crate is made from UPSTREAM's swagger.json,
which leaves out what a server adds: which values an enumeration has. The crate makes its own of lists
and of watch events, and it has no types for what stands in queries, nor for what this release serves only
while it behaves like an earlier one. All that is in the table:

- "types": definitions by name, each with the texts of its members; its own text is under "".
- "enums": a text that follows those of the members that are listed with it.
"""
import json
import sys

META = "io.k8s.apimachinery.pkg.apis.meta.v1."
CORE = "io.k8s.api.core.v1."
# What queries are made of.
OPTIONS = (
    [META + name + "Options" for name in ("Create", "Delete", "Get", "List", "Patch", "Update")]
    + [CORE + "Pod" + name + "Options" for name in ("Attach", "Exec", "Log", "PortForward", "Proxy")]
    + [CORE + name + "ProxyOptions" for name in ("Node", "Service")]
)
# What this release does not serve by itself, and releases did that it can behave like.
REMOVED = ["io.k8s.api.admissionregistration.v1beta1.ValidatingAdmissionPolicy" + end for end in ("List", "BindingList")]
# Every type has the same words for these; they are known already.
TYPE_META = ("apiVersion", "kind")


def texts(definition):
    """What is said of a definition, under "", and of its members, by name."""
    members = {"": definition} | definition.get("properties", {})
    return {name: member.get("description", "") for name, member in members.items()}


def is_list(definition):
    members = definition.get("properties", {})
    return "items" in members and members.get("metadata", {}).get("$ref", "").endswith(".ListMeta")


def reached(names, definitions):
    """Definitions, and those that they refer to."""
    found = set()
    while names:
        name = names.pop()
        if name not in found:
            found.add(name)
            members = definitions[name].get("properties", {}).values()
            parts = [part for member in members for part in (member, member.get("items", {}), *member.get("allOf", []))]
            names += [part["$ref"].rsplit("/", 1)[-1] for part in parts if "$ref" in part]
    return found


def main():
    with open(sys.argv[2], encoding="utf-8") as served:
        served = json.load(served)["definitions"]
    with open(sys.argv[1], encoding="utf-8") as published:
        published = json.load(published)["definitions"]
    types, enums = {}, {}
    lists = [name for name in published if is_list(published[name])]
    removed = reached(list(REMOVED), served) - set(published)
    for name in sorted(lists + [META + "WatchEvent"] + OPTIONS + list(removed)):
        types[name] = {member: text for member, text in texts(served[name]).items() if member not in TYPE_META}
    for name in sorted(set(published) - set(types)):
        said = texts(published[name])
        for member, text in texts(served[name]).items():
            if text != said[member]:
                assert text.startswith(said[member]), (name, member)
                enums.setdefault(text[len(said[member]) :], []).append(f"{name}.{member}")
    enums = [{"text": text, "members": members} for text, members in enums.items()]
    json.dump({"types": types, "enums": enums}, sys.stdout, indent=1, sort_keys=True, ensure_ascii=False)
    print()


main()
