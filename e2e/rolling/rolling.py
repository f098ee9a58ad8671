#!/usr/bin/env python3
"""Migrates a control plane from upstream's servers to this one and back, on one etcd.

    rolling.py --upstream BINARY [--ours BINARY] [--seconds 60] [--mixed-seconds 1800]

Phases: two upstream replicas and one of ours serve the same load, then ours alone, then upstream alone, then one
upstream replica and ours.

Checks: while the cluster is idle, every write to etcd is one by which a server keeps its membership. All replicas
return the same lists at the same revision. No address or port of a Service is lost or allocated twice, and no lease
flaps.
"""
import argparse
import base64
import collections
import concurrent.futures
import json
import os
import random
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOLS = os.path.join(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target")), "tools", "bin")
TOKEN = "rolling-admin"
INSECURE = ssl._create_unverified_context()
# Keys that servers write for themselves, with the maximum number of writes per key, minute and replica.
OWN_WRITES = [
    (re.compile(r"/registry/masterleases/"), 7),
    (re.compile(r"/registry/leases/kube-system/apiserver-"), 7),
    (re.compile(r"/registry/peerserverleases/"), 7),
    (re.compile(r"compact_rev_key"), 1),
]
# Upstream's repair loop takes a Service under deletion for a Service without its address. It restores the address and
# removes it a minute later, with an event for each. This also happens without this server.
REPAIRS = re.compile(r"/registry/(ipaddresses/|events/default/(10[.]|[a-z-]+[0-9]+[.]))")
# Maximum number of Services that stay after each phase, so that addresses do not run out.
STAYING_MAX = 30
COMPARED = [
    "/api/v1/services", "/api/v1/namespaces", "/api/v1/configmaps", "/api/v1/endpoints", "/api/v1/serviceaccounts",
    "/apis/apps/v1/deployments", "/apis/networking.k8s.io/v1/ipaddresses", "/apis/networking.k8s.io/v1/servicecidrs",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/apis/discovery.k8s.io/v1/endpointslices", "/apis/apiregistration.k8s.io/v1/apiservices",
]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def openssl(*args):
    subprocess.run(["openssl", *args], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Replica:
    """A server process."""

    def __init__(self, name, binary, directory, etcd, address):
        self.name, self.binary, self.port = name, binary, free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        own = os.path.join(directory, name)
        os.makedirs(own, exist_ok=True)
        self.log_path = os.path.join(own, "log")
        f = lambda file: os.path.join(directory, file)
        self.args = [
            binary, "--secure-port", str(self.port), "--bind-address", "127.0.0.1", "--advertise-address", address,
            "--cert-dir", own, "--token-auth-file", f("tokens.csv"), "--etcd-servers", etcd,
            "--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", f("sa.pub"),
            "--service-account-signing-key-file", f("sa.key"), "--service-cluster-ip-range", "10.0.0.0/24",
            "--authorization-mode", "Node,RBAC", "--allow-privileged",
        ]
        self.process = None

    def start(self):
        # All replicas share this machine's host name, from which a server's identity follows.
        self.process = subprocess.Popen(self.args, stdout=open(self.log_path, "ab"), stderr=subprocess.STDOUT)
        deadline = time.time() + 120
        while time.time() < deadline:
            if self.process.poll() is not None:
                break
            try:
                if self.call("GET", "/readyz")[0] == 200:
                    return self
            except OSError:
                pass
            time.sleep(0.2)
        sys.exit(f"{self.name} does not become ready, see {self.log_path}")

    def stop(self):
        self.process.terminate()
        self.process.wait(90)

    def call(self, method, path, body=None, media="application/json"):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method)
        request.add_header("Authorization", f"Bearer {TOKEN}")
        request.add_header("Content-Type", media)
        request.add_header("Accept", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=60, context=INSECURE) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def get(self, path):
        code, body = self.call("GET", path)
        assert code == 200, (self.name, path, code, body[:300])
        return json.loads(body)


class Rolling:
    def __init__(self, args):
        self.args, self.wrong, self.orphans = args, [], set()
        self.dir = tempfile.mkdtemp(prefix="rolling-")
        self.random = random.Random(args.seed)
        with open(os.path.join(self.dir, "tokens.csv"), "w") as f:
            f.write(f'{TOKEN},admin,1,"system:masters"\n')
        key = os.path.join(self.dir, "sa.key")
        openssl("genrsa", "-out", key, "2048")
        openssl("rsa", "-in", key, "-pubout", "-out", os.path.join(self.dir, "sa.pub"))
        client, peer = free_port(), free_port()
        self.etcd_url = f"http://127.0.0.1:{client}"
        self.etcd = subprocess.Popen(
            [os.path.join(TOOLS, "etcd"), "--data-dir", os.path.join(self.dir, "etcd"), "--listen-client-urls", self.etcd_url,
             "--advertise-client-urls", self.etcd_url, "--listen-peer-urls", f"http://127.0.0.1:{peer}",
             "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}", "--initial-cluster",
             f"default=http://127.0.0.1:{peer}", "--log-level", "error", "--unsafe-no-fsync"])
        self.watched = os.path.join(self.dir, "writes")
        time.sleep(2)
        self.watch = subprocess.Popen(
            [os.path.join(TOOLS, "etcdctl"), "--endpoints", self.etcd_url, "watch", "--prefix", "", "--rev", "1", "-w", "json"],
            stdout=open(self.watched, "wb"), env={**os.environ, "ETCDCTL_API": "3"})

    def writes_since(self, revision):
        """Returns the number of writes by key after a revision."""
        time.sleep(1)
        found = collections.Counter()
        with open(self.watched, "rb") as f:
            for line in f:
                try:
                    events = json.loads(line).get("Events", [])
                except ValueError:
                    continue
                for event in events:
                    if int(event["kv"]["mod_revision"]) > revision:
                        found[base64.b64decode(event["kv"]["key"]).decode()] += 1
        return found

    def log(self, text):
        print(time.strftime("%H:%M:%S"), text, flush=True)

    def fail(self, text):
        self.wrong.append(text)
        self.log("WRONG: " + text)

    # Load.
    def work(self, replicas, phase, seconds):
        end, count, self.staying = time.time() + seconds, 0, 0
        while time.time() < end:
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                steps = [(self.random.choice(replicas), f"{phase}-{count + n}", n) for n in range(24)]
                list(pool.map(lambda step: self.step(*step), steps))
            count += 24
            self.compare(replicas, f"while {phase} works")
        return count

    def step(self, replica, name, n):
        default = "/api/v1/namespaces/default"
        kind = ["ClusterIP", "NodePort", "ConfigMap", "Deployment"][n % 4]
        if kind == "ConfigMap":
            path, body = f"{default}/configmaps", {"metadata": {"name": name}, "data": {"a": "b"}}
        elif kind == "Deployment":
            path = "/apis/apps/v1/namespaces/default/deployments"
            spec = {"selector": {"matchLabels": {"a": "b"}}, "template": {
                "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}
            body = {"metadata": {"name": name}, "spec": spec}
        else:
            path, body = f"{default}/services", {"metadata": {"name": name}, "spec": {"type": kind, "ports": [{"port": 80}]}}
        code, answer = replica.call("POST", path, body)
        if code != 201:
            return self.fail(f"{replica.name} POST {path}: {code} {answer[:200]}")
        patch = {"metadata": {"labels": {"by": replica.name}}}
        code, answer = replica.call("PATCH", f"{path}/{name}", patch, "application/merge-patch+json")
        if code != 200:
            self.fail(f"{replica.name} PATCH {path}/{name}: {code} {answer[:200]}")
        # Some Services stay, so that the next phase has allocations to keep.
        stays = kind in ("ClusterIP", "NodePort") and self.random.random() < 0.1 and self.staying < STAYING_MAX
        self.staying += stays
        if not stays:
            code, answer = replica.call("DELETE", f"{path}/{name}")
            if code != 200:
                self.fail(f"{replica.name} DELETE {path}/{name}: {code} {answer[:200]}")

    # Checks.
    def compare(self, replicas, when):
        if len(replicas) < 2:
            return
        for path in COMPARED:
            revision = replicas[0].get(path + "?limit=1")["metadata"]["resourceVersion"]
            query = f"{path}?resourceVersion={revision}&resourceVersionMatch=Exact"
            answers = {replica.name: replica.call("GET", query) for replica in replicas}
            if len({(code, body) for code, body in answers.values()}) > 1:
                sizes = {name: (code, len(body)) for name, (code, body) in answers.items()}
                self.fail(f"{path} at {revision} differs {when}: {sizes}")
                for name, (_, body) in answers.items():
                    with open(os.path.join(self.dir, f"differs-{name}-{path.rsplit('/', 1)[1]}"), "wb") as f:
                        f.write(body)

    def allocations(self, replicas, before):
        replica = replicas[0]
        services = replica.get("/api/v1/services")["items"]
        taken = collections.Counter(ip for s in services for ip in s["spec"].get("clusterIPs", []) if ip != "None")
        ports = collections.Counter(p["nodePort"] for s in services for p in s["spec"]["ports"] if "nodePort" in p)
        for what, count in [*taken.items(), *ports.items()]:
            if count > 1:
                self.fail(f"{what} is allocated {count} times")
        addresses = {a["metadata"]["name"]: a["spec"]["parentRef"] for a in
                     replica.get("/apis/networking.k8s.io/v1/ipaddresses")["items"]}
        if set(taken) - set(addresses):
            self.fail(f"addresses of Services without an IPAddress object: {set(taken) - set(addresses)}")
        orphans = set(addresses) - set(taken)
        if orphans and all(r.name == "ours" for r in replicas) and not orphans <= self.orphans:
            self.fail(f"IPAddress objects without a Service: {orphans - self.orphans}")
        self.orphans = orphans
        now = {s["metadata"]["name"]: (s["spec"]["clusterIPs"], [p.get("nodePort") for p in s["spec"]["ports"]]) for s in services}
        for name, had in before.items():
            if now.get(name) != had:
                self.fail(f"allocations of Service {name} changed from {had} to {now.get(name)}")
        return now

    def quiet(self, replicas, seconds):
        """Checks that an idle cluster has only expected writes, and that leases keep their holders."""
        time.sleep(12)
        revision = int(replicas[0].get("/api/v1/namespaces?limit=1")["metadata"]["resourceVersion"])
        transitions = self.transitions(replicas[0])
        time.sleep(seconds)
        writes = self.writes_since(revision)
        self.log(f"quiet for {seconds} s: {sum(writes.values())} writes to {len(writes)} keys")
        for key, count in writes.items():
            allowed = [per_minute for pattern, per_minute in OWN_WRITES if pattern.match(key)]
            if REPAIRS.match(key) and any(r.name != "ours" for r in replicas):
                self.log(f"upstream's repair wrote {key}")
            elif key.startswith("/registry/ipaddresses/") and key.rpartition("/")[2] in self.orphans:
                self.log(f"{key} was released; upstream's repair had left it behind")
            elif not allowed:
                self.fail(f"{key} was written {count} times in an idle cluster")
            elif count > allowed[0] * len(replicas) * (seconds / 60 + 1):
                self.fail(f"{key} was written {count} times in {seconds} s")
        after = self.transitions(replicas[0])
        if after != transitions:
            self.fail(f"leases or endpoints changed in an idle cluster: {transitions} {after}")

    def transitions(self, replica):
        leases = replica.get("/apis/coordination.k8s.io/v1/leases")["items"]
        found = {l["metadata"]["name"]: (l["spec"].get("holderIdentity"), l["spec"].get("leaseTransitions")) for l in leases}
        return found, replica.get("/api/v1/namespaces/default/endpoints/kubernetes").get("subsets")

    def run(self):
        seconds = self.args.seconds
        make = lambda name, binary, n: Replica(name, binary, self.dir, self.etcd_url, f"192.0.2.{n}")
        first, second = make("upstream-1", self.args.upstream, 1), make("upstream-2", self.args.upstream, 2)
        ours = make("ours", self.args.ours, 3)
        running = []
        try:
            kept = {}
            for phase, wanted in [("mixed", [first, second, ours]), ("ours", [ours]), ("upstream", [first, second]),
                                  ("mixed-again", [first, ours])]:
                for replica in wanted:
                    if replica not in running:
                        running.append(replica.start())
                for replica in [r for r in running if r not in wanted]:
                    replica.stop()
                    running.remove(replica)
                self.log(f"{phase}: {', '.join(r.name for r in wanted)}")
                self.allocations(wanted, kept)
                count = self.work(wanted, phase, self.args.mixed_seconds if phase == "mixed" else seconds)
                self.log(f"{phase}: {count} objects")
                kept = self.allocations(wanted, kept)
                self.quiet(wanted, min(60, max(20, seconds // 2)))
                self.compare(wanted, f"after {phase}")
        finally:
            for replica in running:
                replica.stop()
            for process in (self.watch, self.etcd):
                process.terminate()
                process.wait(30)
        if self.wrong:
            self.log(f"{len(self.wrong)} checks failed; logs and responses are in {self.dir}")
            return 1
        shutil.rmtree(self.dir)
        self.log("all checks passed")
        return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--upstream", required=True, help="path of upstream's kube-apiserver")
    parser.add_argument("--ours", default=os.path.join(ROOT, "target", "release", "kube-apiserver"), help="path of this server")
    parser.add_argument("--seconds", type=int, default=60, help="duration of the load in each phase")
    parser.add_argument("--mixed-seconds", type=int, help="duration of the load in the first phase (default: --seconds)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random choices")
    args = parser.parse_args()
    args.mixed_seconds = args.mixed_seconds or args.seconds
    sys.exit(Rolling(args).run())


if __name__ == "__main__":
    main()
