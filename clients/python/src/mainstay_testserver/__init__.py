"""Control planes for tests: forks of the control plane of `kube-apiserver testserver`."""

import json
import os
import socket
import tempfile

__all__ = ["ADDRESS_VARIABLE", "Fork", "TestServerError"]

ADDRESS_VARIABLE = "MAINSTAY_TESTSERVER"
"""Name of the environment variable with the address of the test server."""

RESPONSE_SECONDS_MAX = 30
RESPONSE_BYTES_MAX = 1 << 20


class TestServerError(Exception):
    """Raised if the test server returns no fork. The message contains the reason."""

    __test__ = False


class Fork:
    """A control plane that ends when it is closed, or with this process. A context manager.

    `address` is the address of the test server, by default the environment variable MAINSTAY_TESTSERVER. Raises
    `TestServerError` if there is no address or the test server returns no fork, and `OSError` if the connection fails.
    `kubeconfig` is an administrator's kubeconfig (JSON).
    """

    def __init__(self, address=None):
        address = address or os.environ.get(ADDRESS_VARIABLE)
        if not address:
            raise TestServerError(f"{ADDRESS_VARIABLE} is not set: start `kube-apiserver testserver`")
        self._file = None
        self._connection = _connect(address)
        try:
            self.kubeconfig = _request_fork(self._connection)
        except BaseException:
            self._connection.close()
            raise

    @property
    def server(self):
        """The URL of the API server."""
        return json.loads(self.kubeconfig)["clusters"][0]["cluster"]["server"]

    @property
    def kubeconfig_path(self):
        """Path of a file with the kubeconfig. Only this user can read it. It is deleted with the fork."""
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
        connection.settimeout(RESPONSE_SECONDS_MAX)
        try:
            connection.connect(address[len("unix:") :])
        except OSError:
            connection.close()
            raise
        return connection
    host, _, port = address.rpartition(":")
    return socket.create_connection((host.strip("[]"), int(port)), timeout=RESPONSE_SECONDS_MAX)


def _request_fork(connection):
    connection.sendall(b"fork\n")
    with connection.makefile("rb") as reader:
        line = reader.readline(RESPONSE_BYTES_MAX)
    if not line.endswith(b"\n"):
        raise TestServerError("no response from the test server")
    response = json.loads(line)
    if "kubeconfig" not in response:
        raise TestServerError(f"the test server rejected the fork: {response.get('error')}")
    connection.settimeout(None)
    return response["kubeconfig"]
