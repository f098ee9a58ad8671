"""The author of tests in Python. Wheels of pytest and the official client come from a folder instead of PyPI."""

import sys

PAGES = ("docs/start/python.md",)
# Python in the clean root.
CLEAN_VERSION = "3.13"


def prepare(inputs):
    version = CLEAN_VERSION if inputs.clean_root else "{}.{}".format(*sys.version_info)
    wheels = inputs.store / f"wheels-{version}"
    if not wheels.exists():
        inputs.run(sys.executable, "-m", "pip", "download", "--only-binary=:all:", f"--python-version={version}", f"--dest={wheels}",
                   "pytest", "kubernetes")
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": inputs.inside(wheels.name), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
