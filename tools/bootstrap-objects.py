#!/usr/bin/env python3
"""Generates the list of bootstrap objects from dumps of fresh clusters.

    cargo xtask generate bootstrap FACTS/bootstrap.json FACTS/bootstrap_all_gates.json

bootstrap.json is an array of objects from an upstream server of the release that Mainstay follows, read right after
its first start. bootstrap_all_gates.json contains what a server with every gate has besides: {"roles": {NAME: {"+":
[RULE]}}, "objects": [OBJECT]}. The list contains roles and bindings, priority classes, flow schemas and priority levels,
without fields that the server fills in. It has one object per line, so that the diff of a new release is readable.

The gate of each addition is in `pkg/controllers/src/bootstrap/gated.rs`. bootstrap_all_gates.json does not contain the
position of a rule: a rule keeps its place in the committed list, and a new one is appended.
"""
import json
import sys
from pathlib import Path

LIST = Path("pkg/controllers/src/bootstrap/objects.jsonl")
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
RBAC_METADATA = {
    "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
    "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
}


def cleaned(thing):
    """Returns the object as a client would send it: without status, system metadata and nulls."""
    kept = {name: value for name, value in thing.items() if name != "status" and value is not None}
    kept["metadata"] = {
        name: value for name, value in thing["metadata"].items() if name not in SYSTEM_METADATA
    }
    return kept


def gated(thing):
    """Returns an object of that file with the metadata of all roles and bindings."""
    rest = {name: value for name, value in thing.items() if name not in ("kind", "name")}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": thing["kind"],
        "metadata": {"name": thing["name"], **RBAC_METADATA},
        **rest,
    }


def merged(rules, more, committed):
    """Returns the rules with more of them, each after its predecessor in the committed list."""
    rules = list(rules)
    for rule in more:
        before = committed[: committed.index(rule)] if rule in committed else rules
        at = max((rules.index(other) for other in before if other in rules), default=-1)
        rules.insert(at + 1, rule)
    return rules


def identity(thing):
    metadata = thing["metadata"]
    return KINDS.index(thing["kind"]), metadata.get("namespace", ""), metadata["name"]


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main():
    every = load(sys.argv[2])
    objects = [cleaned(thing) for thing in load(sys.argv[1]) if thing["kind"] in KINDS]
    objects += [gated(thing) for thing in every["objects"]]
    committed = [json.loads(line) for line in LIST.read_text(encoding="utf-8").splitlines()]
    committed = {identity(thing): thing.get("rules", []) for thing in committed}
    for thing in objects:
        if thing["kind"] == "ClusterRole" and (change := every["roles"].get(thing["metadata"]["name"])):
            thing["rules"] = merged(thing["rules"], change["+"], committed.get(identity(thing), []))
    for thing in sorted(objects, key=identity):
        print(json.dumps(thing, separators=(",", ":"), ensure_ascii=False))


main()
