"""Control planes for tests: forks of the one that `kube-apiserver testserver` keeps."""

import json
import os
import socket
import tempfile

__all__ = ["ADDRESS_VARIABLE", "Fork", "TestServerError"]

ADDRESS_VARIABLE = "MAINSTAY_TESTSERVER"
"""The environment variable that says where forks are to be had."""

ANSWER_SECONDS_MAX = 30
ANSWER_BYTES_MAX = 1 << 20


class TestServerError(Exception):
    """There is no fork to be had, and why."""

    __test__ = False


class Fork:
    """A control plane that ends when it is closed, or with this process. A context manager."""

    def __init__(self, address=None):
        address = address or os.environ.get(ADDRESS_VARIABLE)
        if not address:
            raise TestServerError(f"{ADDRESS_VARIABLE} is not set: start `kube-apiserver testserver`")
        self._file = None
        self._connection = _connect(address)
        try:
            self.kubeconfig = _ask(self._connection)
        except BaseException:
            self._connection.close()
            raise

    @property
    def server(self):
        """The URL of the API server."""
        return json.loads(self.kubeconfig)["clusters"][0]["cluster"]["server"]

    @property
    def kubeconfig_path(self):
        """A file with the kubeconfig, for this user alone, which goes with the fork."""
        if self._file is None:
            self._file = tempfile.NamedTemporaryFile("w", prefix="kubeconfig-")
            self._file.write(self.kubeconfig)
            self._file.flush()
        return self._file.name

    def close(self):
        """Ends the control plane."""
        self._connection.close()
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


def _connect(address):
    if address.startswith("unix:"):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(ANSWER_SECONDS_MAX)
        try:
            connection.connect(address[len("unix:") :])
        except OSError:
            connection.close()
            raise
        return connection
    host, _, port = address.rpartition(":")
    return socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER_SECONDS_MAX)


def _ask(connection):
    connection.sendall(b"fork\n")
    with connection.makefile("rb") as reader:
        line = reader.readline(ANSWER_BYTES_MAX)
    if not line.endswith(b"\n"):
        raise TestServerError("the test server did not answer")
    answer = json.loads(line)
    if "kubeconfig" not in answer:
        raise TestServerError(f"the test server gives no fork: {answer.get('error')}")
    connection.settimeout(None)
    return answer["kubeconfig"]
