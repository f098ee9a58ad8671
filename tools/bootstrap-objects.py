#!/usr/bin/env python3
"""Generates the list of bootstrap objects from a dump of a fresh cluster.

    cargo xtask generate bootstrap DUMP.json

DUMP.json is an array of objects from an upstream server of the release that Mainstay follows, read right
after its first start. The list contains roles and bindings, priority classes, flow schemas and priority
levels, without fields that the server fills in. It has one object per line, so that the diff of a new
release is readable.
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
    """Returns the object as a client would send it: without status, system metadata and nulls."""
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
