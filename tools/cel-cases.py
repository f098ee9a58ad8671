#!/usr/bin/env python3
"""Generates the fixtures of pkg/cel from recordings of upstream's behaviour.

    tools/cel-cases.py FACTS [pkg/cel/tests/fixtures]

FACTS is a directory with cases.json, cel.json and conformance.json (recorded by running upstream's own tests).
Each fixture is a gzip file of JSON lines with sorted keys and without a time stamp. So the file changes only with
its content:

- KIND.jsonl.gz      one case per line, for every kind in cases.json: compile, estimate, crdcompile, eval, crd, check,
                     cost, interp, runtimecost, parse. Cases that differ only in the test that recorded them appear
                     once; "test" is the name of the first test.
- envs.jsonl.gz, schemas.jsonl.gz, function_sets.jsonl.gz
                     tables that cases refer to by name ("env", "schema", an environment's "functions"); each line
                     is {"name": …, "is": …}.
- conformance.jsonl.gz
                     cel-spec's simple tests; each line is a test with "file" and "section" added.

pkg/cel/tests/cases/support/fixtures.rs reads them.
"""

import gzip
import json
import pathlib
import sys

TABLES = ["envs", "schemas", "function_sets"]


def encode(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def write(path, lines):
    data = "".join(line + "\n" for line in lines).encode("utf-8", "surrogatepass")
    with open(path, "wb") as file:
        with gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
            packed.write(data)
    print(f"{path}: {len(lines)} lines, {path.stat().st_size} bytes")


def distinct(cases):
    """Returns the cases without duplicates; the "test" field is ignored in the comparison."""
    kept = {}
    for case in cases:
        kept.setdefault(encode({key: case[key] for key in case if key != "test"}), encode(case))
    return list(kept.values())


def conformance_tests(conformance):
    for file in conformance["files"]:
        for section in file.get("section", []):
            for test in section.get("test", []):
                yield encode({**test, "file": file["name"], "section": section["name"]})


def main(facts, out):
    facts, out = pathlib.Path(facts), pathlib.Path(out)
    recorded = json.loads((facts / "cases.json").read_text())
    for kind, cases in recorded["cases"].items():
        write(out / f"{kind}.jsonl.gz", distinct(cases))
    for table in TABLES:
        rows = recorded[table].items()
        write(out / f"{table}.jsonl.gz", [encode({"name": name, "is": value}) for name, value in rows])
    conformance = json.loads((facts / "conformance.json").read_text())
    write(out / "conformance.jsonl.gz", list(conformance_tests(conformance)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "pkg/cel/tests/fixtures")
