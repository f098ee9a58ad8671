"""The pytest fixture."""

import pytest

from . import Fork


@pytest.fixture
def control_plane():
    """A control plane for this test alone. `kubeconfig_path` names a file that any client reads."""
    with Fork() as fork:
        yield fork
