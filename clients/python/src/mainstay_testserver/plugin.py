"""The pytest fixture `control_plane`."""

import pytest

from . import Fork


@pytest.fixture
def control_plane():
    """A separate control plane for this test. `kubeconfig_path` is the path of a kubeconfig for any client."""
    with Fork() as fork:
        yield fork
