#!/usr/bin/env python3
"""Replaces the three replicas of a cluster one at a time by another release and back, under load.

    rolling.py --old BINARY [--old-flags FLAGS] [--new BINARY] [--new-flags FLAGS] [--seconds 60] [--idle 30]

haproxy distributes the load: 200 writes per second to ConfigMaps, custom resources, Services, Deployments, scales and
leases. A mutating and a validating webhook take part. --old and --new can be repeated: replicas take the programs in turn.

Claims, checked after each replacement: no request failed. No acknowledged write is lost, and every replica returns all
objects. All replicas return equal lists at one revision. No address or port of a Service is lost or allocated twice, and no
lease changed its holder. In the idle cluster, every write to etcd is one by which a server keeps its membership.
"""
import argparse
import os
import shlex
import shutil
import sys
import tempfile
import time

from checks import Checks
from client import Counts, Object
from cluster import ROOT, SLOTS, Balancer, Etcd, WebhookServer, Keys, Ports, Release, Replica, end
from load import CORE, GROUP, NAMESPACE, WIDGETS, Loads, Report

READY_MAX = 60.0
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"widgets.{GROUP}"},
    "spec": {"group": GROUP, "scope": "Namespaced", "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
             "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                 "type": "object", "properties": {"spec": {"type": "object", "properties": {
                     "size": {"type": "integer", "minimum": 0}, "color": {"type": "string", "default": "red"}}}}}}}]}}


def webhook(kind: str, path: str, hooks: WebhookServer) -> Object:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}
    hook = {"name": f"{path}.{GROUP}", "rules": [rule], "objectSelector": {"matchLabels": {"hooked": "yes"}},
            "clientConfig": {"url": f"https://127.0.0.1:{hooks.port}/{path}", "caBundle": hooks.authority},
            "sideEffects": "None", "failurePolicy": "Fail", "timeoutSeconds": 10, "admissionReviewVersions": ["v1"]}
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": GROUP}, "webhooks": [hook]}


class Migration:
    """The cluster, its load and the steps of the migration."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.report = Report()
        self.directory = tempfile.mkdtemp(prefix="rolling-")
        ports = Ports(args.first_port)
        keys = Keys(self.directory)
        self.etcd = Etcd(self.directory, ports)
        self.hooks = WebhookServer(self.directory, ports)
        self.replicas = [Replica(slot, self.directory, ports, keys, self.etcd) for slot in range(SLOTS)]
        self.balancer = Balancer(self.directory, ports, self.replicas)
        self.loads = Loads(self.balancer.port, args.rate, self.report)
        self.checks = Checks(self.etcd, self.report, self.directory)
        # Seconds under load until the last check, and the start of the load since then.
        self.loaded = 0.0
        self.opened = 0.0
        self.old = [Release("old", binary, tuple(shlex.split(args.old_flags))) for binary in args.old]
        self.new = [Release("new", binary, tuple(shlex.split(args.new_flags))) for binary in args.new]

    def prepare(self) -> None:
        """Starts the old replicas, and creates what the load needs."""
        for replica in self.replicas:
            replica.start(self.old[replica.slot % len(self.old)])
        for replica in self.replicas:
            replica.wait_ready()
        self.balancer.wait_all_up()
        client = self.replicas[0].client
        hooks = "/apis/admissionregistration.k8s.io/v1"
        for path, body in [
            ("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}}),
            ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD),
            (f"{hooks}/mutatingwebhookconfigurations", webhook("MutatingWebhookConfiguration", "mutate", self.hooks)),
            (f"{hooks}/validatingwebhookconfigurations", webhook("ValidatingWebhookConfiguration", "validate", self.hooks)),
        ]:
            response = client.call("POST", path, body)
            assert response.status == 201, f"POST {path}: {response}"
        deadline = time.monotonic() + READY_MAX
        while not all(self.is_prepared(replica) for replica in self.replicas):
            assert time.monotonic() < deadline, "a replica does not serve the custom resource or call the webhook"
            time.sleep(0.2)

    def is_prepared(self, replica: Replica) -> bool:
        """True if a replica serves the custom resource and calls the validating webhook."""
        body = {"metadata": {"generateName": "probe-", "labels": {"hooked": "yes"}}, "data": {"reject": "yes"}}
        denied = replica.client.call("POST", f"{CORE}/configmaps?dryRun=All", body)
        return denied.status == 403 and replica.client.call("GET", WIDGETS).status == 200

    def replace(self, slot: int, releases: list[Release]) -> None:
        replica = self.replicas[slot]
        start = time.monotonic()
        name = replica.name
        status = replica.stop()
        if status != 0:
            self.report.fail(f"{name} exits with {status} after SIGTERM")
        replica.start(releases[slot % len(releases)])
        replica.wait_ready()
        self.balancer.wait_all_up()
        self.report.log(f"{name} is {replica.name} after {time.monotonic() - start:.1f} s")

    def check(self, seconds: float) -> None:
        """Lets the load run, stops it, and checks the cluster."""
        time.sleep(seconds)
        self.loads.gate.close()
        self.loaded += time.monotonic() - self.opened
        self.report.log(f"checks with {', '.join(replica.name for replica in self.replicas)}")
        self.summary()
        self.checks.all(self.replicas, self.loads, self.args.idle)
        self.opened = time.monotonic()
        self.loads.gate.open()

    def summary(self) -> None:
        total = Counts()
        for load in self.loads.all:
            total.add(load.client.counts)
        self.report.log(f"  {total.writes} writes, {total.writes / self.loaded:.0f} per second of load, {total.reads} reads, "
                        f"repeated: {dict(total.repeated)}, longest request {total.longest:.2f} s, "
                        f"longest gap of a lease {max(leader.longest for leader in self.loads.leaders):.2f} s, "
                        f"{self.report.failures} failures")

    def run(self) -> int:
        try:
            self.prepare()
            self.opened = time.monotonic()
            self.loads.start()
            directions = [(slot, self.new) for slot in range(SLOTS)] + [(slot, self.old) for slot in range(SLOTS)]
            self.check_at(0)
            for number, (slot, releases) in enumerate(directions, 1):
                self.replace(slot, releases)
                self.check_at(number)
            self.loads.end()
        finally:
            for replica in self.replicas:
                replica.terminate()
            for replica in self.replicas:
                replica.stop()
            for process in (self.balancer.process, self.hooks.process, self.etcd.process):
                end(process)
        if self.report.failures:
            self.report.log(f"{self.report.failures} checks failed; logs and responses are in {self.directory}")
            return 1
        shutil.rmtree(self.directory)
        self.report.log("all checks passed")
        return 0

    def check_at(self, replacements: int) -> None:
        if replacements in self.args.check_after:
            self.check(self.args.seconds)


def main() -> None:
    ours = os.path.join(ROOT, "target", "release", "kube-apiserver")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", action="append", help="program of the old release (default: the new one)")
    parser.add_argument("--old-flags", default="", help="flags of the old release, such as --emulated-version=1.36")
    parser.add_argument("--new", action="append", help="program of the new release (default: target/release/kube-apiserver)")
    parser.add_argument("--new-flags", default="", help="flags of the new release")
    parser.add_argument("--rate", type=float, default=200.0, help="writes per second")
    parser.add_argument("--seconds", type=float, default=60.0, help="duration of the load before each check")
    parser.add_argument("--idle", type=float, default=30.0, help="duration of the idle cluster in each check, in seconds")
    parser.add_argument("--check-after", type=lambda text: {int(n) for n in text.split(",")}, default=set(range(7)),
                        help="numbers of replacements after which the cluster is checked (default: 0,1,2,3,4,5,6)")
    parser.add_argument("--first-port", type=int, help="ports after this one are used (default: by process)")
    args = parser.parse_args()
    args.new = args.new or [ours]
    args.old = args.old or args.new
    sys.exit(Migration(args).run())


if __name__ == "__main__":
    main()
