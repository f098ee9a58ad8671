"""A client of the balancer. It repeats requests after 429 with Retry-After and, unlike client-go, also writes without a
response. It counts every repetition."""
from __future__ import annotations

import collections
import dataclasses
import http.client
import json
import ssl
import time
from typing import Any

TOKEN = "rolling-admin"
JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
INSECURE = ssl._create_unverified_context()
# Timeout of one attempt, and of a request with all its attempts, in seconds.
ATTEMPT_MAX = 20.0
REQUEST_MAX = 40.0
PAUSE = 0.05
# Requests per connection. New connections spread the load over the replicas after a restart.
REQUESTS_PER_CONNECTION = 200

Object = dict[str, Any]


@dataclasses.dataclass
class Response:
    """A response. `unanswered`: an earlier attempt of the same request got no response and may have had an effect."""
    status: int
    body: bytes
    unanswered: bool = False

    def json(self) -> Object:
        return json.loads(self.body)

    def __str__(self) -> str:
        return f"{self.status} {self.body[:300].decode(errors='replace')}"


@dataclasses.dataclass
class Counts:
    """Requests of one client."""
    writes: int = 0
    reads: int = 0
    # Repeated attempts by reason.
    repeated: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    # The longest request with all attempts, in seconds.
    longest: float = 0.0

    def add(self, other: Counts) -> None:
        self.writes += other.writes
        self.reads += other.reads
        self.repeated += other.repeated
        self.longest = max(self.longest, other.longest)


class Client:
    """A keep-alive connection to one port. Not for concurrent use."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.counts = Counts()
        self.connection: http.client.HTTPSConnection | None = None
        self.requests = 0

    def call(self, method: str, path: str, body: Object | None = None, media: str = JSON) -> Response:
        """Sends a request until it gets a response other than 429 with Retry-After, for at most `REQUEST_MAX`.

        If an earlier attempt got no response (`unanswered`), the caller verifies its effect."""
        start = time.monotonic()
        unanswered = False
        data = None if body is None else json.dumps(body).encode()
        while True:
            try:
                response, again = self._attempt(method, path, data, media)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                self.counts.repeated[f"no response ({type(error).__name__})"] += 1
                unanswered = True
                response = Response(0, repr(error).encode())
                again = True
            if not again or time.monotonic() - start > REQUEST_MAX:
                break
            time.sleep(PAUSE)
        self.counts.longest = max(self.counts.longest, time.monotonic() - start)
        if method == "GET":
            self.counts.reads += 1
        elif 200 <= response.status < 300:
            self.counts.writes += 1
        response.unanswered = unanswered
        return response

    def get(self, path: str) -> Object:
        """Returns an object or a list. Any other response is a failed test."""
        response = self.call("GET", path)
        if response.status != 200:
            raise AssertionError(f"GET {path} on port {self.port}: {response}")
        return response.json()

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def _attempt(self, method: str, path: str, data: bytes | None, media: str) -> tuple[Response, bool]:
        """Returns a response, and true if the server wants the request again."""
        if self.connection is None or self.requests >= REQUESTS_PER_CONNECTION:
            self.close()
            self.requests = 0
            self.connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=ATTEMPT_MAX, context=INSECURE)
        self.requests += 1
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": media, "Accept": JSON}
        self.connection.request(method, path, data, headers)
        answer = self.connection.getresponse()
        response = Response(answer.status, answer.read())
        # With --shutdown-send-retry-after, a server that shuts down rejects new requests before they have an effect.
        again = answer.status == 429 and answer.headers.get("Retry-After") is not None
        if again:
            self.counts.repeated["429 with Retry-After"] += 1
            self.close()
        return response, again
