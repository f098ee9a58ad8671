#!/usr/bin/env python3
"""Makes the table of feature gates from what an upstream server knows of them.

    cargo xtask generate gates GATES TREE

GATES is a JSON array with a {"name", "history"} per gate that the server of the release that is followed
has registered; a history is a list of [release, stage, default, locked], oldest first. TREE is upstream's
source tree of that release, of which only the list of gates that need other gates is read. One gate per
line, so that a new release shows as a readable difference.
"""
import json
import re
import sys
from pathlib import Path

DEPENDENCIES = re.compile(r"GateDependencies = map\[featuregate\.Feature\]\[\]featuregate\.Feature\{(.*?)\n\}", re.S)
FEATURE_FILES = "pkg/features/kube_features.go", "staging/src/k8s.io/*/pkg/features/kube_features.go"
STAGES = {"ALPHA": "alpha", "BETA": "beta", "GA": "stable", "DEPRECATED": "deprecated"}

HEADER = """//! Every feature gate of the release, with the releases in which it changed and the gates that it needs.
//!
//! Made by `tools/feature-gates.py` from the facts that it names, not by hand. Releases are minor ones of
//! Kubernetes 1.x; 0 stands for "always".

use super::{alpha, beta, deprecated, stable};

gates! {"""


def constants(tree):
    """Go names of features, with the names that users know."""
    found = {}
    for pattern in FEATURE_FILES:
        for path in Path(tree).glob(pattern):
            text = path.read_text(encoding="utf-8")
            found.update(re.findall(r'^\s*(\w+)\s+featuregate\.Feature\s+= "(\w+)"', text, re.M))
    return found


def dependencies(tree, known):
    """The gates that each gate needs; all others need none."""
    names, needs = constants(tree), {}
    for pattern in FEATURE_FILES:
        for path in Path(tree).glob(pattern):
            for block in DEPENDENCIES.findall(path.read_text(encoding="utf-8")):
                for gate, listed in re.findall(r"^\t([\w.]+):\s+\{([^}]+)\}", block, re.M):
                    name = lambda word: names.get(word, word)
                    gate, needed = name(gate.split(".")[-1]), re.findall(r"(\w+)\)?(?:,|$)", listed)
                    if gate in known:
                        needs[gate] = sorted(name(word) for word in needed)
    return needs


def spec(release, stage, default, locked):
    minor = int(release.split(".")[1])
    return f"{STAGES[stage]}({minor}){'.on()' if default else ''}{'.locked()' if locked else ''}"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        gates = sorted(json.load(file), key=lambda gate: gate["name"])
    needs = dependencies(sys.argv[2], {gate["name"] for gate in gates})
    print(HEADER)
    for gate in gates:
        history = ", ".join(spec(*entry) for entry in gate["history"])
        after = ", ".join(needs.get(gate["name"], []))
        print(f"    {gate['name']}: [{history}]{f', needs [{after}]' if after else ''};")
    print("}")


if __name__ == "__main__":
    main()
