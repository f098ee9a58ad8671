#!/usr/bin/env python3
"""Runs upstream's Conformance specs against a running cluster and prints the results by SIG.

The folder given by --bin contains upstream's e2e.test and ginkgo of the release under test, and kubectl. The cluster
comes from --kubeconfig. It needs two schedulable nodes, and its nodes need the images that `e2e.test --list-images`
prints. --report prints the table of an earlier run, and --compare the specs whose states differ from another run's.

Exit code 0: every Conformance spec passed. A filter (--focus, --skip) leaves specs out, which the table counts.
"""

import argparse
import collections
import json
import os
import re
import subprocess
import sys

LABEL = "Conformance"
MESSAGE_CHARS_MAX = 300
# States of a spec without a verdict: filtered, or skipped by itself because the cluster lacks something.
NOT_RUN = ("skipped", "pending", "")
SIG = re.compile(r"\[(sig-[a-z-]+)\]")


class Spec:
    """A Conformance spec of a Ginkgo report."""

    def __init__(self, report):
        self.name = " ".join([*(report["ContainerHierarchyTexts"] or []), report["LeafNodeText"]])
        self.state = report["State"]
        self.seconds = report["RunTime"] / 1e9
        message = (report.get("Failure") or {}).get("Message", "")
        self.message = " ".join(message.split())[:MESSAGE_CHARS_MAX]
        sig = SIG.search(self.name)
        self.sig = sig.group(1) if sig else "other"

    @property
    def verdict(self):
        """`passed`, `failed` (also for timeouts, panics and interrupts) or `not run`."""
        if self.state == "passed":
            return "passed"
        return "not run" if self.state in NOT_RUN else "failed"


def labelled(report):
    """True if the spec or one of its containers has the label."""
    labels = [*(report["LeafNodeLabels"] or [])]
    for of_container in report["ContainerHierarchyLabels"] or []:
        labels += of_container or []
    return LABEL in labels


def read(path):
    """Returns the Conformance specs of a JSON report."""
    with open(path, encoding="utf-8") as file:
        suites = json.load(file)
    reports = [report for suite in suites for report in suite["SpecReports"] or []]
    return [Spec(report) for report in reports if report["LeafNodeType"] == "It" and labelled(report)]


def table(specs):
    """Returns the table in Markdown: one row per SIG, and the sum."""
    rows = collections.defaultdict(collections.Counter)
    for spec in specs:
        for row in (spec.sig, "all"):
            rows[row][spec.verdict] += 1
            rows[row]["specs"] += 1
            rows[row]["seconds"] += spec.seconds
    lines = ["| SIG | specs | passed | failed | not run | time of the specs, s |", "|---|---|---|---|---|---|"]
    for name in sorted(rows, key=lambda row: (row == "all", row)):
        row = rows[name]
        lines.append(f"| {name} | {row['specs']} | {row['passed']} | {row['failed']} | {row['not run']} | {row['seconds']:.0f} |")
    return "\n".join(lines)


def differences(specs, others):
    """Returns one line per spec that has another verdict in the other report."""
    verdicts = {spec.name: spec.verdict for spec in others}
    return [f"{spec.verdict}, there {verdicts[spec.name]}: {spec.name}"
            for spec in specs if verdicts.get(spec.name, spec.verdict) != spec.verdict]


def program(folder, name):
    """Returns the absolute path of a program in the folder, or ends the process."""
    path = os.path.abspath(os.path.join(folder, name))
    if not os.access(path, os.X_OK):
        sys.exit(f"conformance.py: no program {path}; docs/conformance.md lists what the folder contains")
    return path


def run(args):
    """Runs the specs. Returns the path of the report."""
    ginkgo = program(args.bin, "ginkgo")
    tests = program(args.bin, "e2e.test")
    kubectl = program(args.bin, "kubectl")
    os.makedirs(args.out, exist_ok=True)
    out = os.path.abspath(args.out)
    report = os.path.join(out, "report.json")
    if os.path.exists(report):
        os.remove(report)
    command = [ginkgo, "run", f"--procs={args.procs}", f"--timeout={args.timeout}", "--no-color", f"--label-filter={LABEL}",
               f"--output-dir={out}", "--json-report=report.json", "--silence-skips"]
    command += [f"--focus={focus}" for focus in args.focus] + [f"--skip={skip}" for skip in args.skip]
    command += [tests, "--", f"--kubeconfig={os.path.abspath(args.kubeconfig)}", "--provider=skeleton",
                f"--kubectl-path={kubectl}", "--disable-log-dump", f"--report-dir={out}", *args.argument]
    log = os.path.join(out, "log")
    print(f"log: {log}", flush=True)
    with open(log, "wb") as file:
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, check=False)
    if not os.path.exists(report):
        sys.exit(f"conformance.py: no report; see {log}")
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", help="folder with e2e.test, ginkgo and kubectl")
    parser.add_argument("--kubeconfig", default=os.environ.get("KUBECONFIG"), help="kubeconfig of a cluster administrator")
    parser.add_argument("--procs", type=int, default=4, help="specs that run at the same time; serial specs run alone")
    parser.add_argument("--timeout", default="6h", help="limit of the whole run")
    parser.add_argument("--focus", action="append", default=[], help="runs only specs that match this expression")
    parser.add_argument("--skip", action="append", default=[], help="leaves out specs that match this expression")
    parser.add_argument("--out", default="target/conformance", help="folder for the log and the reports")
    parser.add_argument("--argument", action="append", default=[], help="one more argument for e2e.test")
    parser.add_argument("--report", help="prints the table of this report and runs nothing")
    parser.add_argument("--compare", help="report of another run, such as one with upstream's server")
    args = parser.parse_args()
    if not args.report and not (args.bin and args.kubeconfig):
        parser.error("--bin and --kubeconfig (or KUBECONFIG) are required")
    specs = read(args.report or run(args))
    print(table(specs))
    for spec in specs:
        if spec.verdict == "failed":
            print(f"failed: {spec.name}: {spec.message}")
    if args.compare:
        print("\n".join(differences(specs, read(args.compare))))
    sys.exit(0 if specs and all(spec.verdict == "passed" for spec in specs) else 1)


if __name__ == "__main__":
    main()
