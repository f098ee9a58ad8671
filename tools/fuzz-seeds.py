#!/usr/bin/env python3
"""Writes the seed corpora of the fuzz targets to pkg/*/fuzz/corpus: objects of every kind and recorded cases from the
tests' fixtures, the texts below, and the inputs that earlier runs found (pkg/*/fuzz/inputs.tar.gz, written by
tools/fuzz-inputs.sh). The file name of a seed is its digest, so there are no duplicates.

fuzz-seeds.py FOLDER: writes the seeds without the inputs of earlier runs to FOLDER/CRATE/TARGET instead."""
import gzip
import hashlib
import json
import pathlib
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BASE = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None
SCHEMA = ROOT / "pkg/schema/testdata"
MERGE = ROOT / "pkg/fieldmanager/testdata/structured_merge"
CEL = ROOT / "pkg/cel/tests/fixtures"

TARGETS = [
    "/api/v1/namespaces/a/pods/b/log?follow=true&tailLines=10&limitBytes=9223372036854775807",
    "/apis/apps/v1/watch/namespaces/a/deployments?watch=1&resourceVersion=12&timeoutSeconds=1",
    "/api/v1/namespaces/..%2f%2e%2e/services/https:x:443/proxy//a/../b%20c?x=%zz&y=%e9",
    "/api/v1/pods?labelSelector=a%20in%20(b,c)&fieldSelector=metadata.name%3Dx&limit=-1&continue=eyJ2IjoiIn0",
]
SELECTORS = [
    "a in (b, c),d notin (e),!f,g,h=i,j==k,l!=m,n>5,o<-9223372036854775808",
    "metadata.name=x\\,y,spec.nodeName!=a\\=b,status.phase==\\\\",
]
NUMBERS = [
    "9223372036854775807Ei", "-0.000000001", "1e-2147483648", "12345678901234567890.123456789n", "+5E9",
    "2562047h47m16.854775807s", "-1.5h0.000001us", "9999-12-31T23:59:59.999999999Z",
    "0001-01-01T00:00:00.000000-23:59", "18446744073709551615", "a-b.c.example.com",
]
HEADS = [
    "GET /api/v1/pods?limit=5 HTTP/1.1\r\nHost: a:443\r\nAccept: */*\r\n\r\n",
    "POST / HTTP/1.1\r\nhost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n{}",
    "PUT / HTTP/1.1\r\nhost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nx: y\r\n\r\n",
    "CONNECT a:443 HTTP/1.0\r\n\r\n",
]
# Frames of HTTP/2: requests that refer to fields of each other, padding and priority, a block in two parts, an update of the
# table size, and another frame.
FRAMES = [bytes.fromhex(frame) for frame in [
    "000011010500000001828684418cf1e3c2e5f23a6ba0ab90f4ff", "00000c010500000003828684be5886a8eb10649cbf",
    "000018010500000005828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf", "0000090128000000070200000000" "0fbe0000",
    "000003010000000009400161000003090400000009016282", "00000401050000000b3fe11f82", "0000080000000000010001020304050607",
]]
PATHS = [
    ".spec.replicas", "{.items[*]['a.b','c'].d}", "..name", ".status.conditions[?(@.type==\"Ready\")].status",
    ".a[-1:0:-2]", "{range .items[*]}{.a}{\"\\n\"}{end}", ".a\\.b[?(@.c > 1.5)][?(@.d)]",
]
QUERIES = [
    "limit=500&continue=eyJ2Ijoi&resourceVersion=1&resourceVersionMatch=Exact&timeoutSeconds=9&watch=1",
    "watch=true&sendInitialEvents=true&allowWatchBookmarks=1&labelSelector=a%3Db&fieldSelector=metadata.name%3Dx",
    "dryRun=All&dryRun=x&fieldManager=a%20b&fieldValidation=Strict&force=1&pretty=1&includeObject=Metadata",
    "gracePeriodSeconds=-1&orphanDependents=true&propagationPolicy=Foreground&uid=u&resourceVersion=7",
]
DELETIONS = [
    {"gracePeriodSeconds": 30, "preconditions": {"uid": "u", "resourceVersion": "1"}, "dryRun": ["All"]},
    {"orphanDependents": False, "propagationPolicy": "Orphan", "ignoreStoreReadErrorWithClusterBreakingPotential": True},
]
PATCHES = [
    [{"op": "test", "path": "/kind", "value": "Pod"}, {"op": "move", "from": "/spec", "path": "/metadata/a"},
     {"op": "copy", "from": "/metadata", "path": "/b~1~0c"}, {"op": "add", "path": "/spec/containers/-", "value": {}},
     {"op": "remove", "path": "/metadata/labels"}, {"op": "replace", "path": "", "value": {"a": [1]}}],
    {"metadata": {"labels": {"a": None, "b": "c"}}, "spec": {"containers": [{"name": "x", "$patch": "delete"}]}},
    {"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}], "containers": [{"name": "a", "ports": [
        {"containerPort": 80, "protocol": "TCP"}]}], "$retainKeys": ["containers"], "volumes": [{"$patch": "replace"}]},
     "metadata": {"$deleteFromPrimitiveList/finalizers": ["f"]}},
]


def archive(name):
    with tarfile.open(SCHEMA / f"{name}.tar.gz") as tar:
        return {m.name: tar.extractfile(m).read() for m in tar.getmembers() if m.isfile()}


def cases(path, count):
    with gzip.open(path, "rt") as lines:
        return [json.loads(line) for _, line in zip(range(count), lines)]


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def write(crate, targets, seeds):
    for target in targets:
        corpus = BASE / crate / target if BASE else ROOT / "pkg" / crate / "fuzz/corpus" / target
        corpus.mkdir(parents=True, exist_ok=True)
        for seed in seeds:
            seed = seed.encode() if isinstance(seed, str) else seed
            (corpus / hashlib.sha1(seed).hexdigest()).write_bytes(seed)


def write_found():
    for path in ROOT.glob("pkg/*/fuzz/inputs.tar.gz"):
        crate = path.parent.parent.name
        with tarfile.open(path) as tar:
            for member in tar.getmembers():
                if member.isfile():
                    write(crate, [pathlib.PurePath(member.name).parent.name], [tar.extractfile(member).read()])


def main():
    if not BASE:
        write_found()
    objects = archive("fixtures") | archive("generated")
    messages = [body for name, body in objects.items() if name.endswith(".pb")]
    texts = [body for name, body in objects.items() if name.endswith(".json")]
    write("schema", ["decode", "transcode", "envelope"], messages)
    write("kinds", ["object"], messages)
    write("schema", ["json_decode", "strict"], texts)
    write("schema", ["yaml"], texts[::8] + [path.read_bytes() for path in ROOT.glob("deploy/**/*.yaml")])
    write("schema", ["cbor"], list(archive("cbor").values()))

    pods = [body for name, body in objects.items() if name.endswith("v1.Pod.json")][:12]
    patches = [compact(patch) for patch in PATCHES]
    write("schema", ["patch"], [pod + b"\0" + patch for pod in pods for patch in [*patches, pods[0]]])
    # Operations of four bytes: kind, from, to, value.
    bombs = [[6, 0, 0, 100, 7, 0, 99, 100, 3, 99, 0, 0], [6, 0, 0, 99, 2, 0, 200, 0], [0x86, 0, 0, 90, 5, 60, 0, 90]]
    write("schema", ["nesting"], [bytes(bomb * times) for bomb in bombs for times in (1, 30)])
    steps = [step for case in cases(MERGE / "updates.jsonl.gz", 400) for step in case["steps"]]
    applied = [compact(step["in"]) for step in steps if "in" in step]
    write("fieldmanager", ["apply"], [a + b"\0" + b for a, b in zip(applied, applied[1:])])
    write("fieldmanager", ["apply"], [a + b"\0" + b for a, b in zip(pods, pods[1:])])
    sets = cases(MERGE / "sets.jsonl.gz", 400)
    write("fieldmanager", ["field_sets"], [f"{case['a']}\0{case['b']}" for case in sets])

    schemas = [compact(case["is"]) for case in cases(CEL / "schemas.jsonl.gz", 400)]
    write("api", ["structural"], [schema + b'\0{"a":[1,{"b":null}],"spec":{"c":"d"}}' for schema in schemas])
    write("api", ["json_path"], [f"{path}\0".encode() + pods[0] for path in PATHS])
    write("kinds", ["options"], [f"{query}\0".encode() + compact(body) for query in QUERIES for body in DELETIONS])
    write("cel", ["expression"], {case["expr"] for case in cases(CEL / "eval.jsonl.gz", 4000)})
    write("apimachinery", ["target"], TARGETS)
    write("apimachinery", ["selectors"], SELECTORS)
    write("apimachinery", ["numbers"], NUMBERS)
    whole = b"".join(FRAMES)
    write("server", ["blocks"], [bytes([piece]) + frame for piece in (4, 5, 254, 255) for frame in [*FRAMES, whole]])
    write("server", ["heads"], [piece + head for head in HEADS for piece in ["\x01", "\x7f"]])


if __name__ == "__main__":
    main()
