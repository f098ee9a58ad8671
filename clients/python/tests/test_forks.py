import base64
import json
import ssl
import urllib.error
import urllib.request

import pytest

from mainstay_testserver import Fork, Server, TestServerError


def call(fork, tmp_path, method, path, body=None):
    """Sends a request as the kubeconfig's administrator. Returns the status code and the object of the response."""
    config = json.loads(fork.kubeconfig)
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    pair = tmp_path / "pair.pem"
    pair.write_bytes(b"".join(base64.b64decode(user[f"client-{part}-data"]) for part in ("certificate", "key")))
    trust = base64.b64decode(cluster["certificate-authority-data"]).decode()
    context = ssl.create_default_context(cadata=trust)
    context.load_cert_chain(pair)
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(fork.server + path, data=data, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, context=context) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.mark.parametrize("round", [1, 2])
def test_tests_have_separate_control_planes(control_plane, tmp_path, round):
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}}
    assert call(control_plane, tmp_path, "POST", MAPS, body)[0] == 201
    with open(control_plane.kubeconfig_path) as file:
        assert file.read() == control_plane.kubeconfig


def test_close_ends_the_fork(mainstay_address, tmp_path):
    with Fork(mainstay_address) as fork:
        assert call(fork, tmp_path, "GET", MAPS)[0] == 200
    for _ in range(1000):
        try:
            call(fork, tmp_path, "GET", MAPS)
        except OSError:
            return
    pytest.fail("the closed fork still serves requests")


def test_missing_address_is_reported(monkeypatch):
    monkeypatch.delenv("MAINSTAY_TESTSERVER", raising=False)
    with pytest.raises(TestServerError, match="MAINSTAY_TESTSERVER is not set"):
        Fork()


def test_failed_start_is_reported():
    with pytest.raises(TestServerError, match="the test server did not start"):
        Server(program="false")
