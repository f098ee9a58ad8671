"""Control planes for tests: forks of the control plane of `kube-apiserver testserver`."""

import json
import os
import selectors
import shutil
import socket
import subprocess
import sysconfig
import tempfile
import time

__all__ = ["ADDRESS_VARIABLE", "Fork", "Server", "TestServerError"]

ADDRESS_VARIABLE = "MAINSTAY_TESTSERVER"
"""Name of the environment variable with the address of the test server."""

START_SECONDS_MAX = 60
STOP_SECONDS_MAX = 30
RESPONSE_SECONDS_MAX = 30
RESPONSE_BYTES_MAX = 1 << 20


class TestServerError(Exception):
    """Raised if the test server returns no fork. The message contains the reason."""

    __test__ = False


class Server:
    """A test server that this process starts and stops. A context manager.

    `program` is by default the kube-apiserver that the wheel installed, or else the one on PATH. `flags` are flags of
    `kube-apiserver testserver`. `address` is the address for forks. Raises `TestServerError`, with the last line of the
    log, if the server does not start.
    """

    def __init__(self, *flags, program=None):
        program = program or _program()
        self._folder = tempfile.TemporaryDirectory(prefix="mainstay-")
        self.address = f"unix:{self._folder.name}/socket"
        command = [program, "testserver", f"--listen={self.address}", *flags]
        with open(os.path.join(self._folder.name, "log"), "w") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        try:
            self._wait_until_ready()
        except BaseException:
            self.close()
            raise

    def close(self):
        """Stops the server, and so ends its forks."""
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def _wait_until_ready(self):
        # The server prints one line when it is ready. Its output ends if it fails.
        limit = time.monotonic() + START_SECONDS_MAX
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            ready = selector.select(limit - time.monotonic()) and self._process.stdout.readline()
        if not ready:
            with open(os.path.join(self._folder.name, "log"), errors="replace") as log:
                lines = log.read().splitlines()
            raise TestServerError(f"the test server did not start: {lines[-1] if lines else 'no log'}")


def _program():
    installed = os.path.join(sysconfig.get_path("scripts"), "kube-apiserver")
    found = installed if os.access(installed, os.X_OK) else shutil.which("kube-apiserver")
    if not found:
        raise TestServerError("kube-apiserver is neither in this environment nor on PATH")
    return found


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
