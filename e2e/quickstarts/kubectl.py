"""The user of kubectl on a laptop, and of the checksums."""

PAGES = ("docs/start/laptop.md", "README.md", "docs/verify.md")


def prepare(inputs):
    inputs.tool("kubectl")
    return {}
