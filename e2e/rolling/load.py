"""The load: writers of objects, custom resources, Services, scales and leases, all through the balancer.

Each object has one writer, so the writer knows what every response must contain.
"""
from __future__ import annotations

import collections
import dataclasses
import datetime
import random
import threading
import time
from collections.abc import Callable

from client import MERGE_PATCH, Client, Object, Response

NAMESPACE = "rolling"
GROUP = "rolling.example"
STEP = "rolling.example/step"
CORE = f"/api/v1/namespaces/{NAMESPACE}"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
WIDGETS = f"/apis/{GROUP}/v1/namespaces/{NAMESPACE}/widgets"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
LEASE_SECONDS = 10
# Names of deleted objects that a writer remembers.
DELETED_MAX = 2000
# A load that is late by more than this drops the missed steps, in seconds.
BEHIND_MAX = 1.0
FAILURES_SHOWN = 40


class Report:
    """Failed checks. Threads share it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.failures = 0

    def log(self, text: str) -> None:
        print(time.strftime("%H:%M:%S"), text, flush=True)

    def fail(self, text: str) -> None:
        with self.lock:
            self.failures += 1
            if self.failures <= FAILURES_SHOWN:
                self.log("FAILED: " + text)


class Gate:
    """Lets the loads run, or keeps them between two steps."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.is_open = False
        self.ended = False
        self.busy = 0

    def enter(self) -> bool:
        """Waits until the gate is open. False at the end of the test."""
        with self.changed:
            self.changed.wait_for(lambda: self.is_open or self.ended)
            self.busy += not self.ended
            return not self.ended

    def leave(self) -> None:
        with self.changed:
            self.busy -= 1
            self.changed.notify_all()

    def open(self) -> None:
        with self.changed:
            self.is_open = True
            self.changed.notify_all()

    def close(self) -> None:
        """Closes the gate and waits until no step runs."""
        with self.changed:
            self.is_open = False
            self.changed.wait_for(lambda: self.busy == 0)

    def end(self) -> None:
        with self.changed:
            self.ended = True
            self.changed.notify_all()


class Load(threading.Thread):
    """Runs `step` at a rate per second while the gate is open."""

    def __init__(self, name: str, port: int, rate: float, gate: Gate, report: Report) -> None:
        super().__init__(name=name, daemon=True)
        self.client = Client(port)
        self.interval = 1 / rate
        self.gate = gate
        self.report = report
        # The same steps in every run.
        self.random = random.Random(name)

    def step(self) -> None:
        raise NotImplementedError

    def run(self) -> None:
        due = time.monotonic()
        while self.gate.enter():
            try:
                self.step()
            except (AssertionError, LookupError, ValueError, TypeError) as error:
                self.report.fail(f"{self.name}: {type(error).__name__}: {error}")
            finally:
                self.gate.leave()
            due = max(due + self.interval, time.monotonic() - BEHIND_MAX)
            time.sleep(max(0.0, due - time.monotonic()))
        self.client.close()

    def expect(self, response: Response, statuses: set[int], what: str) -> bool:
        if response.status not in statuses:
            self.report.fail(f"{self.name}: {what}: {response}")
        return response.status in statuses


@dataclasses.dataclass(frozen=True)
class Kind:
    """A collection of objects: path, body by name, number of objects per writer."""
    path: str
    body: Callable[[int], Object]
    keep: int
    # Webhooks apply to the objects.
    calls_webhooks: bool = False


def config_map(_: int) -> Object:
    return {"data": {"a": "b" * 200}}


def service(number: int) -> Object:
    return {"spec": {"type": ["ClusterIP", "NodePort"][number % 2], "ports": [{"port": 80}]}}


def widget(number: int) -> Object:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "spec": {"size": number}}


def deployment(_: int) -> Object:
    return {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {
        "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}


KINDS = {
    "map": Kind(f"{CORE}/configmaps", config_map, 40),
    "hooked": Kind(f"{CORE}/configmaps", config_map, 20, calls_webhooks=True),
    "service": Kind(f"{CORE}/services", service, 8),
    "widget": Kind(WIDGETS, widget, 40),
    "deployment": Kind(DEPLOYMENTS, deployment, 20),
}


def step_of(item: Object) -> int:
    return int(item["metadata"].get("annotations", {}).get(STEP, -1))


class Objects(Load):
    """Creates, changes, reads and deletes objects of one kind. `live` has the last acknowledged state of each."""

    def __init__(self, kind: str, writer: int, port: int, rate: float, gate: Gate, report: Report) -> None:
        super().__init__(f"{kind}-{writer}", port, rate, gate, report)
        self.kind = KINDS[kind]
        self.number = 0
        self.deletions = 0
        self.live: dict[str, Object] = {}
        self.deleted: collections.deque[str] = collections.deque(maxlen=DELETED_MAX)

    def step(self) -> None:
        self.number += 1
        choice = self.random.random()
        if len(self.live) < 2 or choice < 0.25 and len(self.live) < self.kind.keep:
            return self.create()
        name = self.random.choice(list(self.live))
        if choice < 0.5:
            return self.delete(name)
        if choice < 0.7:
            return self.patch(name)
        if choice < 0.85:
            return self.put(name)
        if choice < 0.95 or not self.kind.calls_webhooks:
            return self.read(name)
        return self.denied()

    def create(self) -> None:
        name = f"{self.name}-{self.number}"
        labels = {"hooked": "yes"} if self.kind.calls_webhooks else {}
        meta = {"name": name, "labels": labels, "annotations": {STEP: str(self.number)}}
        response = self.client.call("POST", self.kind.path, {**self.kind.body(self.number), "metadata": meta})
        if response.unanswered and response.status == 409:
            response = self.client.call("GET", f"{self.kind.path}/{name}")
            response.status = 201 if response.status == 200 else response.status
        self.acknowledge(name, response, 201, "create")

    def patch(self, name: str) -> None:
        body = {"metadata": {"annotations": {STEP: str(self.number)}}}
        self.acknowledge(name, self.client.call("PATCH", f"{self.kind.path}/{name}", body, MERGE_PATCH), 200, "patch")

    def put(self, name: str) -> None:
        body = self.live[name]
        body["metadata"]["annotations"][STEP] = str(self.number)
        response = self.client.call("PUT", f"{self.kind.path}/{name}", body)
        if response.unanswered and response.status == 409:
            # The attempt without a response was the one that had the effect.
            response = self.client.call("GET", f"{self.kind.path}/{name}")
        self.acknowledge(name, response, 200, "put")

    def acknowledge(self, name: str, response: Response, status: int, what: str) -> None:
        if not self.expect(response, {status}, f"{what} {name}"):
            # The state is unknown.
            self.live.pop(name, None)
            return
        item = response.json()
        if step_of(item) != self.number:
            self.report.fail(f"{self.name}: {what} {name} returns step {step_of(item)} instead of {self.number}")
        if self.kind.calls_webhooks and item["metadata"]["labels"].get("mutated") != "yes":
            self.report.fail(f"{self.name}: {what} {name} was not mutated by the webhook")
        self.live[name] = item

    def delete(self, name: str) -> None:
        response = self.client.call("DELETE", f"{self.kind.path}/{name}")
        if self.expect(response, {200, 404} if response.unanswered else {200}, f"delete {name}"):
            self.deleted.append(name)
            self.deletions += 1
        del self.live[name]

    def read(self, name: str) -> None:
        response = self.client.call("GET", f"{self.kind.path}/{name}")
        if self.expect(response, {200}, f"get {name}"):
            self.compare(response.json(), "balancer")

    def denied(self) -> None:
        meta = {"name": f"{self.name}-denied", "labels": {"hooked": "yes"}}
        body = {"metadata": meta, "data": {"reject": "yes"}}
        response = self.client.call("POST", self.kind.path, body)
        if self.expect(response, {403}, "create of a rejected object") and b"the test rejects it" not in response.body:
            self.report.fail(f"{self.name}: not the webhook's denial: {response}")

    def compare(self, item: Object, where: str) -> None:
        """Compares an object with its last acknowledged state."""
        meta = item["metadata"]
        last = self.live[item["metadata"]["name"]]["metadata"]
        found = (meta["uid"], meta["resourceVersion"], step_of(item))
        wanted = (last["uid"], last["resourceVersion"], step_of(self.live[meta["name"]]))
        if found != wanted:
            self.report.fail(f"{meta['name']} through {where} is {found}, acknowledged was {wanted}")

    def verify(self, items: dict[str, Object], where: str) -> None:
        """Checks a list of the whole collection: no acknowledged write is lost."""
        for name in self.live:
            if name in items:
                self.compare(items[name], where)
            else:
                self.report.fail(f"{name} is acknowledged and missing through {where}")
        for name in self.deleted:
            if name in items:
                self.report.fail(f"{name} was deleted and exists through {where}")


class Scale(Load):
    """Scales one Deployment, with patches and updates of `/scale` in turn."""

    def __init__(self, writer: int, port: int, rate: float, gate: Gate, report: Report) -> None:
        super().__init__(f"scaled-{writer}", port, rate, gate, report)
        self.path = f"{DEPLOYMENTS}/{self.name}"
        self.replicas = 0
        self.scale = Object()

    def step(self) -> None:
        if not self.scale:
            body = {**deployment(0), "metadata": {"name": self.name}}
            self.expect(self.client.call("POST", DEPLOYMENTS, body), {201, 409}, "create the scaled Deployment")
            self.scale = self.client.get(f"{self.path}/scale")
        self.replicas = self.replicas % 50 + 1
        if self.replicas % 2:
            response = self.client.call("PATCH", f"{self.path}/scale", {"spec": {"replicas": self.replicas}}, MERGE_PATCH)
        else:
            self.scale["spec"]["replicas"] = self.replicas
            response = self.client.call("PUT", f"{self.path}/scale", self.scale)
            if response.unanswered and response.status == 409:
                response = self.client.call("GET", f"{self.path}/scale")
        if not self.expect(response, {200}, "scale"):
            self.scale = {}
            return
        self.scale = response.json()
        self.verify_scale(self.scale, "balancer")
        if self.replicas % 10 == 0:
            self.verify_scale(self.client.get(self.path), "balancer")

    def verify_scale(self, item: Object, where: str) -> None:
        if item["spec"]["replicas"] != self.replicas:
            self.report.fail(f"{self.name} has {item['spec']['replicas']} replicas through {where}, not {self.replicas}")


class Lease(Load):
    """Holds a lease as a leader does. Another candidate would take it after `LEASE_SECONDS` without a renewal."""

    def __init__(self, writer: int, port: int, gate: Gate, report: Report) -> None:
        super().__init__(f"leader-{writer}", port, 1.0, gate, report)
        self.lease = Object()
        self.renewed = 0.0
        self.longest = 0.0

    def step(self) -> None:
        spec = {"holderIdentity": self.name, "leaseDurationSeconds": LEASE_SECONDS, "leaseTransitions": 0,
                "renewTime": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")}
        if self.lease:
            seen = self.client.get(f"{LEASES}/{self.name}")
            if seen["spec"] != self.lease["spec"]:
                self.report.fail(f"{self.name} reads {seen['spec']}, renewed was {self.lease['spec']}")
            response = self.client.call("PUT", f"{LEASES}/{self.name}", {**self.lease, "spec": spec})
            if response.unanswered and response.status == 409:
                response = self.client.call("GET", f"{LEASES}/{self.name}")
        else:
            response = self.client.call("POST", LEASES, {"metadata": {"name": self.name}, "spec": spec})
        if not self.expect(response, {200, 201}, "renew"):
            return
        gap = time.monotonic() - self.renewed if self.renewed else 0.0
        self.lease = response.json()
        self.renewed = time.monotonic()
        self.longest = max(self.longest, gap)
        if self.lease["spec"] != spec:
            self.report.fail(f"{self.name} has {self.lease['spec']} after a renewal with {spec}")
        if gap > LEASE_SECONDS:
            self.report.fail(f"{self.name} was not renewed for {gap:.1f} s: another candidate takes it")


@dataclasses.dataclass(frozen=True)
class Share:
    """Writers of one kind, and their share of the rate."""
    kind: str
    writers: int
    share: float


# About four fifths of the steps of `Objects` are writes.
SHARES = [Share("map", 5, 0.36), Share("hooked", 2, 0.12), Share("service", 4, 0.27), Share("widget", 4, 0.27),
          Share("deployment", 1, 0.06)]
SCALERS = 2
SCALER_SHARE = 0.05
LEADERS = 8


class Loads:
    """All loads. Leaders have a gate of their own, because leases are also renewed in an idle cluster."""

    def __init__(self, port: int, rate: float, report: Report) -> None:
        self.gate = Gate()
        self.leader_gate = Gate()
        self.objects = [Objects(s.kind, n, port, rate * s.share / s.writers, self.gate, report)
                        for s in SHARES for n in range(s.writers)]
        self.scales = [Scale(n, port, rate * SCALER_SHARE, self.gate, report) for n in range(SCALERS)]
        self.leaders = [Lease(n, port, self.leader_gate, report) for n in range(LEADERS)]
        self.all: list[Load] = [*self.objects, *self.scales, *self.leaders]

    def start(self) -> None:
        for load in self.all:
            load.start()
        self.leader_gate.open()
        self.gate.open()

    def end(self) -> None:
        for gate in (self.gate, self.leader_gate):
            gate.end()
        for load in self.all:
            load.join(60)
