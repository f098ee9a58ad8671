#!/usr/bin/env python3
"""Load test with broken and malicious clients, and one quiet client that measures their effect.

  tools/load.py --port 6443 --token TOKEN --pid PID [--short] [--seed N] [--p99-max SECONDS]

The bad clients hold idle connections and connections without a TLS handshake, send one byte per second, do not read
responses, and reset connections with pipelined requests. Meanwhile the quiet client sends requests for /readyz and a list.

Prints the latency of the quiet client and the memory of the server: anonymous memory, because pages of the program's file stay
until the kernel needs them. Fails if a request of the quiet client fails, if its p99 reaches --p99-max (1 s by default), or if
the memory one minute later is more than 10 % above its value before the load. The same load precedes that value, to fill caches
whose size depends on the load. --short skips the memory check. TOKEN must grant all rights. Needs several thousand file descriptors. `make load` starts a
server for it; `make test` runs the short form."""
import argparse
import random
import resource
import socket
import ssl
import struct
import sys
import threading
import time

FULL = {"idle": 2000, "half_open": 500, "slow": 100, "pipelined": 50000, "settle": 60}
SHORT = {"idle": 200, "half_open": 50, "slow": 10, "pipelined": 2000, "settle": 5}
GROWTH_MAX = 1.1
BATCH = 100


class Server:
    def __init__(self, port, token, pid):
        self.port, self.token, self.pid = port, token, pid
        self.tls = ssl.create_default_context()
        self.tls.check_hostname, self.tls.verify_mode = False, ssl.CERT_NONE

    def tcp(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def connect(self):
        return self.tls.wrap_socket(self.tcp(), server_hostname="localhost")

    def get(self, path, token=True):
        proof = f"Authorization: Bearer {self.token}\r\n" if token else ""
        return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{proof}\r\n".encode()

    def memory(self):
        """Anonymous resident memory in MiB."""
        with open(f"/proc/{self.pid}/status") as status:
            line = next(line for line in status if line.startswith("RssAnon"))
        return int(line.split()[1]) / 1024


class Quiet(threading.Thread):
    """Quiet client: sequential requests on one connection, ten per second, with the latency of each in seconds."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.took, self.failures, self.done = server, [], [], threading.Event()

    def run(self):
        stream = self.server.connect()
        paths = ["/readyz", "/api/v1/namespaces/default/configmaps?limit=1"]
        while not self.done.wait(0.1):
            begun = time.monotonic()
            path = paths[len(self.took) % 2]
            stream.sendall(self.server.get(path))
            head = self.answer(stream)
            if not head.startswith("HTTP/1.1 200"):
                self.failures.append(f"{path}: {head}")
            self.took.append(time.monotonic() - begun)

    @staticmethod
    def answer(stream):
        """Returns the head of the response, and the start of the body of an error."""
        got = b""
        while b"\r\n\r\n" not in got:
            got += stream.recv(65536)
        head, body = got.split(b"\r\n\r\n", 1)
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        while len(body) < length:
            body += stream.recv(65536)
        error = b"" if head.startswith(b"HTTP/1.1 200") else body[:1000]
        return (head + b"\r\n\r\n" + error).decode(errors="replace")

    def report(self):
        took = sorted(self.took)
        p99 = took[int(len(took) * 0.99)]
        print(f"quiet client: {len(took)} requests, {len(self.failures)} failures, p50 {took[len(took) // 2] * 1000:.0f} ms, "
              f"p99 {p99 * 1000:.0f} ms, max {took[-1] * 1000:.0f} ms")
        for failure in self.failures[:5]:
            print(f"failure: {failure}")
        return p99


def reset(stream):
    """Closes the connection with a linger time of 0, so that the kernel sends RST instead of FIN."""
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    stream.close()


def pipeline(server, count, dice):
    """Sends BATCH pipelined requests per connection in one write, and reads a part of the responses or none."""
    for _ in range(0, count, BATCH):
        stream = server.connect()
        try:
            stream.sendall(server.get("/api/v1/namespaces/default/configmaps?limit=1") * BATCH)
            if dice.random() < 0.5:
                stream.recv(dice.randrange(1, 65536))
        except OSError:
            pass
        reset(stream)


def slow(server, count, dice):
    """Opens connections that alternate: complete requests with unread responses, and incomplete headers."""
    streams = [server.connect() for _ in range(count)]
    for at, stream in enumerate(streams):
        stream.sendall(b"GET /readyz HTTP/1.1\r\nX: " if at % 2 else server.get("/openapi/v2") * dice.randrange(1, 5))
    return streams


def drip(streams, done):
    while not done.wait(1):
        for stream in streams[1::2]:
            try:
                stream.sendall(b"x")
            except OSError:
                pass


def misbehave(server, load, dice):
    """Runs all bad clients until they have disconnected. Returns the largest observed memory of the server."""
    held = [server.connect() for _ in range(load["idle"])]
    held += [server.tcp() for _ in range(load["half_open"])]
    slow_ones, done = slow(server, load["slow"], dice), threading.Event()
    threading.Thread(target=drip, args=(slow_ones, done), daemon=True).start()
    peak = server.memory()
    pipeline(server, load["pipelined"], dice)
    peak = max(peak, server.memory())
    done.set()
    for stream in held + slow_ones:
        reset(stream)
    return peak


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--port", type=int, required=True)
    args.add_argument("--token", required=True)
    args.add_argument("--pid", type=int, required=True)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--p99-max", type=float, default=1.0)
    args.add_argument("--short", action="store_true")
    args = args.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    server, dice, load = Server(args.port, args.token, args.pid), random.Random(args.seed), SHORT if args.short else FULL
    if not args.short:
        misbehave(server, load, dice)
        time.sleep(load["settle"])
    before = server.memory()
    quiet = Quiet(server)
    quiet.start()
    peak = misbehave(server, load, dice)
    quiet.done.set()
    quiet.join()
    p99 = quiet.report()
    time.sleep(load["settle"])
    after = server.memory()
    print(f"memory: {before:.1f} MiB before, {peak:.1f} under load, {after:.1f} {load['settle']} s later")
    grown = not args.short and after > before * GROWTH_MAX
    sys.exit(p99 >= args.p99_max or bool(quiet.failures) or grown)


if __name__ == "__main__":
    main()
