#!/usr/bin/env python3
"""Makes the list of objects that a fresh cluster begins with from a dump of one.

    cargo xtask generate bootstrap DUMP

DUMP is a JSON array of objects as an upstream server of the release that is followed shows them right
after its first start. Kept is what every server creates alike: roles and bindings, priority classes,
flow schemas and priority levels, without what the server fills in. One object per line, so that a new
release shows as a readable difference.
"""
import json
import sys

KINDS = [
    "PriorityClass",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "PriorityLevelConfiguration",
    "FlowSchema",
]
SYSTEM_METADATA = ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"]


def cleaned(thing):
    """The object as a client would send it: no status, nothing of the server's, no nulls."""
    kept = {name: value for name, value in thing.items() if name != "status" and value is not None}
    kept["metadata"] = {
        name: value for name, value in thing["metadata"].items() if name not in SYSTEM_METADATA
    }
    return kept


def main():
    with open(sys.argv[1], encoding="utf-8") as dump:
        objects = [cleaned(thing) for thing in json.load(dump) if thing["kind"] in KINDS]
    name = lambda thing: (thing["metadata"].get("namespace", ""), thing["metadata"]["name"])
    for thing in sorted(objects, key=lambda thing: (KINDS.index(thing["kind"]), name(thing))):
        print(json.dumps(thing, separators=(",", ":"), ensure_ascii=False))


main()
