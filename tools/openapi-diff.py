#!/usr/bin/env python3
"""Compares OpenAPI documents with those that upstream publishes, or prints the digests of upstream's.

    openapi-diff.py diff OURS UPSTREAM/api/openapi-spec
    cargo xtask generate openapi-digests UPSTREAM/api/openapi-spec

OURS is a folder with swagger.json and v3/<path with __ for />_openapi.json, downloaded with curl from a
server that serves every version. UPSTREAM is a checkout of the release that Mainstay follows. Its
documents have no enumerations and no version (hack/update-openapi-spec.sh), so the comparison ignores
these in ours. Differences are counted by class: the location in a document, without names and numbers.
"""
import collections
import hashlib
import json
import pathlib
import re
import sys

ENUM_TEXT = re.compile(r"\n\n+Possible enum values:\n.*", re.DOTALL)
# Paths that are served only with --enable-logs-handler.
LOGS = re.compile(r"^/?logs(/|_|$)")


def comparable(value):
    """Returns the value without enumerations, which a server adds to the published documents."""
    if isinstance(value, list):
        return [comparable(element) for element in value]
    if not isinstance(value, dict):
        return value
    members = {name: comparable(member) for name, member in value.items()}
    if isinstance(members.get("enum"), list):
        del members["enum"]
    if isinstance(members.get("description"), str):
        members["description"] = ENUM_TEXT.sub("", members["description"])
        if not members["description"]:
            del members["description"]
    return members


def document(path):
    found = json.loads(path.read_text(encoding="utf-8"))
    found["info"]["version"] = "unversioned"
    found["paths"] = {path: item for path, item in found["paths"].items() if not LOGS.match(path)}
    if path.name == "swagger.json":
        # The parameter of the logs path.
        found["parameters"].pop("logpath-Noq7euwC", None)
    return comparable(found)


def documents(folder):
    """Yields the published documents with the path of each on a server, below /openapi."""
    folder = pathlib.Path(folder)
    yield "v2", folder / "swagger.json"
    for path in sorted((folder / "v3").glob("*_openapi.json")):
        name = path.name.removesuffix("_openapi.json").replace("__", "/")
        if not LOGS.match(name):
            yield f"v3/{name}", path


def differences(want, got, where):
    if isinstance(want, dict) and isinstance(got, dict):
        for name in sorted(want.keys() | got.keys()):
            if name not in got:
                yield where + (name,), "missing", want[name]
            elif name not in want:
                yield where + (name,), "surplus", got[name]
            else:
                yield from differences(want[name], got[name], where + (name,))
    elif isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        for at, (one, other) in enumerate(zip(want, got)):
            yield from differences(one, other, where + (str(at),))
    elif want != got:
        yield where, "differs", (want, got)


def diff(ours, upstream):
    counts, samples = collections.Counter(), {}
    for name, path in documents(upstream):
        own = pathlib.Path(ours) / path.relative_to(upstream)
        if not own.exists():
            counts[name, "no document"] += 1
            continue
        for where, what, value in differences(document(path), document(own), ()):
            # Drops names, paths and indexes; the last remaining step is an OpenAPI keyword.
            inner = [step for step in where[2:] if not re.match(r"^(/|\d+$|.*[.].*[.])", step)]
            key = (name.split("/")[0], what, where[0], inner[-1] if inner else "")
            counts[key] += 1
            samples.setdefault(key, (name, where, value))
    for key, count in counts.most_common():
        print(count, *key)
        if key in samples:
            print("   ", json.dumps(samples[key])[:400])
    print("differences:", sum(counts.values()))


def digests(upstream):
    for name, path in documents(upstream):
        text = json.dumps(document(path), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        print(name, hashlib.sha256(text.encode()).hexdigest())


if __name__ == "__main__":
    {"diff": diff, "digests": digests}[sys.argv[1]](*sys.argv[2:])
