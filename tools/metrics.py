#!/usr/bin/env python3
"""Generates a list of upstream's metrics for the comparison with the server's page.

    cargo xtask generate metrics FACTS/metrics.json
    cargo xtask generate metrics-alpha FACTS/metrics.json

metrics.json is an array with one {"name", "type", "stability", "labels", "buckets", "seen", "deprecated"} per metric of
the release that Mainstay follows. The first list has the STABLE and BETA metrics, the second one the ALPHA metrics that
an upstream server exported. Deprecated metrics, which are hidden, and metrics of Go's runtime are absent.
"""
import json
import sys

STABILITIES = {"guaranteed": ["STABLE", "BETA"], "alpha": ["ALPHA"]}


def wanted(metric, which):
    if metric["stability"] not in STABILITIES[which] or metric.get("deprecated"):
        return False
    return which == "guaranteed" or metric.get("seen") and not metric["name"].startswith("go_")


def entry(metric):
    kept = {name: metric[name] for name in ("name", "type", "stability")}
    kept["labels"] = metric.get("labels", [])
    if buckets := metric.get("buckets"):
        kept["buckets"] = [bound for bound in buckets if bound != "+Inf"]
    return json.dumps(kept)


def main():
    with open(sys.argv[2], encoding="utf-8") as file:
        entries = [entry(metric) for metric in json.load(file) if wanted(metric, sys.argv[1])]
    print("[\n " + ",\n ".join(entries) + "\n]")


if __name__ == "__main__":
    main()
