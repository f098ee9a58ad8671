"""The user of kubectl on a laptop."""

PAGES = ("docs/start/laptop.md", "README.md")


def prepare(inputs):
    inputs.tool("kubectl")
    return {}
