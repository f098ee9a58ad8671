"""The pytest fixtures `control_plane` and `mainstay_address`."""

import os

import pytest

from . import ADDRESS_VARIABLE, Fork, Server


@pytest.fixture(scope="session")
def mainstay_flags():
    """Flags of the test server. Override it to start from a snapshot, for example."""
    return []


@pytest.fixture(scope="session")
def mainstay_address(mainstay_flags):
    """The address in MAINSTAY_TESTSERVER, or else of a test server that runs during this session."""
    address = os.environ.get(ADDRESS_VARIABLE)
    if address:
        yield address
        return
    with Server(*mainstay_flags) as server:
        yield server.address


@pytest.fixture
def control_plane(mainstay_address):
    """A separate control plane for this test. `kubeconfig_path` is the path of a kubeconfig for any client."""
    with Fork(mainstay_address) as fork:
        yield fork
