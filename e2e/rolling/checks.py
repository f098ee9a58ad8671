"""Checks of the cluster while no load runs, except that leaders renew their leases."""
from __future__ import annotations

import collections
import os
import re
import time

from client import Object
from cluster import Etcd, Replica
from load import KINDS, NAMESPACE, Loads, Report

# Keys that servers write for themselves, with the maximum number of writes per key, minute and replica.
OWN_WRITES = [
    (re.compile(r"/registry/masterleases/"), 7),
    (re.compile(r"/registry/leases/kube-system/apiserver-"), 7),
    (re.compile(r"/registry/peerserverleases/"), 7),
    (re.compile(r"compact_rev_key"), 1),
]
LEADERS = f"/registry/leases/{NAMESPACE}/"
# Writes of upstream's repair controller of addresses. It can take a Service that was just deleted for a Service without its
# address, because it reads both from informers of different age. It then restores the address, removes it a minute
# later, and records an event for each. This happens most often with upstream's servers alone (docs/reliability.md).
REPAIRS = re.compile(rf"/registry/(ipaddresses/|events/({NAMESPACE}|default)/)")
REPAIR_REASONS = ("ClusterIPNotAllocated", "IPAddressNotAllocated", "IPAddressWrongReference")
# Time for what servers do after the last request, such as the removal of an address.
SETTLE = 2.0
ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"


class Checks:
    """Compares replicas with each other, with acknowledged writes and with the state of the last check."""

    def __init__(self, etcd: Etcd, report: Report, directory: str) -> None:
        self.etcd = etcd
        self.report = report
        self.directory = directory
        self.allocated: Object = {}
        self.events: set[str] = set()
        self.deletions = 0
        self.orphans: set[str] = set()

    def all(self, replicas: list[Replica], loads: Loads, idle_seconds: float) -> None:
        self.acknowledged(replicas, loads)
        self.lists(replicas)
        time.sleep(SETTLE)
        upstream = any(replica.is_upstream() for replica in replicas)
        self.allocations(replicas[0], upstream)
        self.repairs(replicas[0], loads)
        self.idle(replicas, idle_seconds, upstream)
        for replica in replicas:
            if replica.panics():
                self.report.fail(f"{replica.name} panicked, see {replica.log_path}")

    def acknowledged(self, replicas: list[Replica], loads: Loads) -> None:
        """Every acknowledged write is visible through every replica."""
        for replica in replicas:
            for path in sorted({kind.path for kind in KINDS.values()}):
                items = {item["metadata"]["name"]: item for item in replica.client.get(path)["items"]}
                for load in loads.objects:
                    if load.kind.path == path:
                        load.verify(items, replica.name)
            for scale in loads.scales:
                scale.verify_scale(replica.client.get(scale.path), replica.name)

    def lists(self, replicas: list[Replica]) -> None:
        """All replicas return the same bytes for every list that all of them serve, at one revision."""
        served = [collection_paths(replica) for replica in replicas]
        common = set.intersection(*served)
        only = sorted(set.union(*served) - common)
        self.report.log(f"  lists: {len(common)} compared, {len(only)} are not served by all replicas")
        for path in sorted(common):
            revision = replicas[0].client.get(path + "?limit=1")["metadata"].get("resourceVersion")
            if not revision:
                continue
            query = f"{path}?resourceVersion={revision}&resourceVersionMatch=Exact"
            bodies = {replica.name: replica.client.call("GET", query) for replica in replicas}
            if len({(r.status, r.body) for r in bodies.values()}) > 1:
                self.report.fail(f"{path} at {revision} differs: { {n: (r.status, len(r.body)) for n, r in bodies.items()} }")
                for name, response in bodies.items():
                    file = f"differs-{name}{path.replace('/', '-')}"
                    with open(os.path.join(self.directory, file), "wb") as f:
                        f.write(response.body)
            elif any(r.status != 200 for r in bodies.values()):
                self.report.fail(f"{query}: {bodies[replicas[0].name]}")

    def allocations(self, replica: Replica, upstream: bool) -> None:
        """No address or port is allocated twice, lost or changed."""
        services = replica.client.get("/api/v1/services")["items"]
        addresses = {a["metadata"]["name"] for a in replica.client.get(ADDRESSES)["items"]}
        taken = [ip for s in services for ip in s["spec"].get("clusterIPs", []) if ip != "None"]
        ports = [p["nodePort"] for s in services for p in s["spec"]["ports"] if "nodePort" in p]
        for what, count in collections.Counter([*taken, *ports]).items():
            if count > 1:
                self.report.fail(f"{what} is allocated {count} times")
        if set(taken) - addresses:
            self.report.fail(f"addresses of Services without an IPAddress object: {set(taken) - addresses}")
        orphans = addresses - set(taken)
        if orphans - self.orphans and not upstream:
            self.report.fail(f"IPAddress objects without a Service: {orphans - self.orphans}")
        self.orphans = orphans
        now = {s["metadata"]["uid"]: (s["metadata"]["name"], s["spec"]["clusterIPs"],
                                      [p.get("nodePort") for p in s["spec"]["ports"]]) for s in services}
        for uid, had in self.allocated.items():
            if now.get(uid, had) != had:
                self.report.fail(f"allocations changed from {had} to {now[uid]}")
        self.allocated = now

    def repairs(self, replica: Replica, loads: Loads) -> None:
        """Logs the number of repairs and of deleted Services since the last check."""
        events = replica.client.get("/api/v1/events")["items"]
        found = [(e["metadata"]["namespace"] + "/" + e["metadata"]["name"], e) for e in events]
        new = [e for name, e in found if name not in self.events]
        self.events |= {name for name, _ in found}
        count = {reason: sum(e["reason"] == reason for e in new) for reason in REPAIR_REASONS}
        deleted = sum(load.deletions for load in loads.objects if load.kind is KINDS["service"])
        self.report.log(f"  {deleted - self.deletions} Services deleted, events of repairs: {count}, "
                        f"{len(self.orphans)} addresses without a Service")
        self.deletions = deleted

    def idle(self, replicas: list[Replica], seconds: float, upstream: bool) -> None:
        """An idle cluster has only expected writes, and leases keep their holders."""
        before = self.holders(replicas[0])
        revision = self.etcd.revision()
        time.sleep(seconds)
        writes = self.etcd.writes(revision)
        after = self.holders(replicas[0])
        repairs = 0
        for key, count in writes.items():
            allowed = [per_minute for pattern, per_minute in OWN_WRITES if pattern.match(key)]
            left_behind = key.startswith("/registry/ipaddresses/") and key.rpartition("/")[2] in self.orphans
            if left_behind or upstream and REPAIRS.match(key):
                repairs += count
            elif not key.startswith(LEADERS) and not allowed:
                self.report.fail(f"{key} was written {count} times in an idle cluster")
            elif allowed and count > allowed[0] * len(replicas) * (seconds / 60 + 1):
                self.report.fail(f"{key} was written {count} times in {seconds} s")
        own = sum(count for key, count in writes.items() if not key.startswith(LEADERS))
        self.report.log(f"  idle for {seconds:.0f} s: {own} writes of servers, {repairs} of them repairs")
        if before != after:
            self.report.fail(f"leases or endpoints changed in an idle cluster: {before} {after}")

    def holders(self, replica: Replica) -> tuple[Object, Object | None]:
        leases = replica.client.get("/apis/coordination.k8s.io/v1/leases")["items"]
        found = {i["metadata"]["namespace"] + "/" + i["metadata"]["name"]:
                 (i["spec"].get("holderIdentity"), i["spec"].get("leaseTransitions")) for i in leases}
        return found, replica.client.get("/api/v1/namespaces/default/endpoints/kubernetes").get("subsets")


def collection_paths(replica: Replica) -> set[str]:
    """Returns the paths of all collections that a replica serves."""
    groups = [f"/apis/{v['groupVersion']}" for g in replica.client.get("/apis")["groups"] for v in g["versions"]]
    return {f"{root}/{resource['name']}" for root in ["/api/v1", *groups]
            for resource in replica.client.get(root)["resources"]
            if "list" in resource["verbs"] and "get" in resource["verbs"]}
