"""Processes of the test: etcd, three replicas, haproxy and the server of the webhooks."""
from __future__ import annotations

import base64
import collections
import dataclasses
import json
import os
import re
import socket
import subprocess
import sys
import time

from client import TOKEN, Client

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TOOLS = os.path.join(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target")), "tools", "bin")
SLOTS = 3
START_MAX = 120.0
STOP_MAX = 90.0
TOOL_MAX = 60.0
POLL = 0.1
# Interval of haproxy's health checks. Two failed ones take a replica out.
CHECK = "500ms"
# Longer than two checks.
SHUTDOWN = ["--shutdown-delay-duration=2s", "--shutdown-send-retry-after=true",
            "--shutdown-watch-termination-grace-period=2s"]
PANIC = re.compile(rb"panicked at|^panic: ", re.M)


class Ports:
    """Free ports below the kernel's ephemeral ports, so that no connection takes the port of a stopped replica."""

    def __init__(self, first: int | None) -> None:
        self.next = first or 20_000 + os.getpid() % 11_000

    def free(self) -> int:
        while True:
            self.next += 1
            with socket.socket() as s:
                try:
                    s.bind(("127.0.0.1", self.next))
                    return self.next
                except OSError:
                    pass


def run(*args: str) -> bytes:
    return subprocess.run(args, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TOOL_MAX).stdout


def end(process: subprocess.Popen[bytes]) -> int:
    """Terminates a process and returns its exit status."""
    process.terminate()
    try:
        return process.wait(STOP_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return -9


class Keys:
    """The files that all replicas share."""

    def __init__(self, directory: str) -> None:
        self.tokens, self.private, self.public = (os.path.join(directory, name) for name in ("tokens.csv", "sa.key", "sa.pub"))
        with open(self.tokens, "w") as f:
            f.write(f'{TOKEN},admin,1,"system:masters"\n')
        run("openssl", "genrsa", "-out", self.private, "2048")
        run("openssl", "rsa", "-in", self.private, "-pubout", "-out", self.public)


class Etcd:
    """An etcd with one member."""

    def __init__(self, directory: str, ports: Ports) -> None:
        client = ports.free()
        peer = ports.free()
        self.url = f"http://127.0.0.1:{client}"
        peer_url = f"http://127.0.0.1:{peer}"
        # Only processes end here, never the machine. The page cache keeps the data.
        args = ["--data-dir", os.path.join(directory, "etcd"), "--listen-client-urls", self.url,
                "--advertise-client-urls", self.url, "--listen-peer-urls", peer_url, "--initial-advertise-peer-urls",
                peer_url, "--initial-cluster", f"default={peer_url}", "--log-level", "error", "--unsafe-no-fsync",
                "--quota-backend-bytes", str(6 << 30)]
        with open(os.path.join(directory, "etcd.log"), "ab") as log:
            self.process = subprocess.Popen([os.path.join(TOOLS, "etcd"), *args], stdout=log, stderr=log)
        self._ctl("endpoint", "health")

    def revision(self) -> int:
        found = json.loads(self._ctl("get", "x", "-w", "json"))
        return int(found["header"]["revision"])

    def writes(self, after: int) -> collections.Counter[str]:
        """Returns the number of writes by key after a revision."""
        last = self.revision()
        found = collections.Counter[str]()
        seen = after
        watch = subprocess.Popen(
            self._command("watch", "--prefix", "", "--rev", str(after + 1), "-w", "json"), stdout=subprocess.PIPE)
        assert watch.stdout is not None
        while seen < last:
            line = watch.stdout.readline()
            if not line:
                raise AssertionError("etcdctl watch ends")
            for event in json.loads(line).get("Events", []):
                seen = int(event["kv"]["mod_revision"])
                if seen <= last:
                    found[base64.b64decode(event["kv"]["key"]).decode()] += 1
        end(watch)
        return found

    def _command(self, *args: str) -> list[str]:
        return [os.path.join(TOOLS, "etcdctl"), "--endpoints", self.url, *args]

    def _ctl(self, *args: str) -> bytes:
        return run(*self._command(*args))


@dataclasses.dataclass(frozen=True)
class Release:
    """A server program with its flags."""
    name: str
    binary: str
    flags: tuple[str, ...] = ()


class Replica:
    """One of the three places behind the balancer. Its program changes, its addresses stay."""

    def __init__(self, slot: int, directory: str, ports: Ports, keys: Keys, etcd: Etcd) -> None:
        self.slot = slot
        self.port = ports.free()
        self.directory = os.path.join(directory, f"replica-{slot}")
        os.makedirs(self.directory)
        self.log_path = os.path.join(self.directory, "log")
        # Replicas share the host name, from which their identity follows. They therefore share one identity lease.
        self.flags = [
            "--secure-port", str(self.port), "--bind-address", "127.0.0.1", "--advertise-address", f"192.0.2.{slot + 1}",
            "--cert-dir", self.directory, "--token-auth-file", keys.tokens, "--etcd-servers", etcd.url,
            "--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", keys.public,
            "--service-account-signing-key-file", keys.private, "--service-cluster-ip-range", "10.0.0.0/24",
            "--authorization-mode", "Node,RBAC", "--allow-privileged", *SHUTDOWN]
        self.client = Client(self.port)
        self.release: Release | None = None
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        return f"{self.slot}:{self.release.name if self.release else 'stopped'}"

    def start(self, release: Release) -> None:
        """Starts a program without waiting for it."""
        self.release = release
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen([release.binary, *self.flags, *release.flags], stdout=log, stderr=log)

    def wait_ready(self) -> None:
        deadline = time.monotonic() + START_MAX
        while time.monotonic() < deadline and self.process is not None and self.process.poll() is None:
            probe = Client(self.port)
            try:
                if probe._attempt("GET", "/readyz", None, "text/plain")[0].status == 200:
                    return
            except OSError:
                pass
            finally:
                probe.close()
            time.sleep(POLL)
        sys.exit(f"{self.name} does not become ready, see {self.log_path}")

    def stop(self) -> int:
        """Terminates the program and returns its exit status."""
        self.client.close()
        status = 0 if self.process is None else end(self.process)
        self.release = self.process = None
        return status

    def terminate(self) -> None:
        """Begins the termination. `stop` waits for it."""
        if self.process is not None:
            self.process.terminate()

    def is_upstream(self) -> bool:
        return "mainstay" not in self.client.get("/version")["gitVersion"]

    def panics(self) -> int:
        with open(self.log_path, "rb") as f:
            return len(PANIC.findall(f.read()))


class Balancer:
    """haproxy with the configuration of `deploy/haproxy` and local ports."""

    def __init__(self, directory: str, ports: Ports, replicas: list[Replica]) -> None:
        self.port = ports.free()
        self.control = os.path.join(directory, "haproxy.sock")
        with open(os.path.join(ROOT, "deploy", "haproxy", "haproxy.cfg")) as f:
            text = f.read()
        changes = {"bind :6443": f"bind 127.0.0.1:{self.port}", "inter 2s": f"inter {CHECK}",
                   "global\n": f"global\n    stats socket {self.control}\n"}
        changes |= {f"10.0.0.1{r.slot}:6443": f"127.0.0.1:{r.port}" for r in replicas}
        for old, new in changes.items():
            assert old in text, old
            text = text.replace(old, new, 1)
        path = os.path.join(directory, "haproxy.cfg")
        with open(path, "w") as f:
            f.write(text)
        with open(os.path.join(directory, "haproxy.log"), "ab") as log:
            self.process = subprocess.Popen([os.path.join(TOOLS, "haproxy"), "-db", "-f", path], stdout=log, stderr=log)

    def wait_all_up(self) -> None:
        deadline = time.monotonic() + START_MAX
        statuses: list[str] = []
        while time.monotonic() < deadline:
            try:
                statuses = self._statuses()
            except OSError:
                pass
            if statuses == ["UP"] * SLOTS:
                return
            time.sleep(POLL)
        sys.exit(f"haproxy does not find every replica ready: {statuses}")

    def _statuses(self) -> list[str]:
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(5)
            s.connect(self.control)
            s.sendall(b"show stat\n")
            text = b"".join(iter(lambda: s.recv(1 << 16), b"")).decode()
        rows = [row.split(",") for row in text.splitlines()]
        return [row[17] for row in rows if len(row) > 17 and row[1].startswith("apiserver-")]


class WebhookServer:
    """The server of the webhooks, with its own certificate."""

    def __init__(self, directory: str, ports: Ports) -> None:
        self.port = ports.free()
        key = os.path.join(directory, "hooks.key")
        certificate = os.path.join(directory, "hooks.crt")
        run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
            "-subj", "/CN=hooks", "-addext", "subjectAltName=IP:127.0.0.1")
        with open(certificate, "rb") as f:
            self.authority = base64.b64encode(f.read()).decode()
        args = [sys.executable, os.path.join(HERE, "hooks.py"), str(self.port), certificate, key]
        with open(os.path.join(directory, "hooks.log"), "ab") as log:
            self.process = subprocess.Popen(args, stdout=log, stderr=log)
