"""Code blocks of Markdown pages, as a reader of the page uses them.

- `sh` is a command block. `sh server` runs until the page ends. `sh source` needs a clone of the repository and is left out.
- `text output` is the expected output of the command block before it. `…` stands for any text, a line `…` for any lines.
- A block of another language whose first line is a comment with a file name is that file.
- A command block whose first line is `# Not tested: REASON` is left out.
"""

import dataclasses
import re

FENCE = re.compile(r"^( *)```(.*)$")
FILE_NAME = re.compile(r"^(?:#|//) ([\w.-]+\.\w+)$")
UNTESTED = "# Not tested: "
ANY = "…"


@dataclasses.dataclass
class Block:
    line: int
    info: list
    text: str
    expected: str | None = None

    @property
    def server(self):
        return "server" in self.info

    @property
    def command(self):
        return self.info[:1] == ["sh"] and "source" not in self.info and not self.text.startswith(UNTESTED)

    @property
    def file(self):
        """The name of the file whose content the block is, or None."""
        if self.info[:1] in (["sh"], ["text"]):
            return None
        found = FILE_NAME.match(self.text.split("\n", 1)[0])
        return found.group(1) if found else None


def blocks(page):
    """Returns the blocks of a page. An expected output belongs to its command block."""
    found, current = [], None
    for number, line in enumerate(page.splitlines(), 1):
        fence = FENCE.match(line)
        if current and fence:
            add(found, current)
            current = None
        elif current:
            current.text += line + "\n"
        elif fence:
            current = Block(number + 1, fence.group(2).split(), "")
    return found


def add(found, block):
    if block.info != ["text", "output"]:
        found.append(block)
    elif found:
        found[-1].expected = block.text


def matches(expected, actual):
    """True if an output is as expected. Space at the ends of lines does not count."""
    lines = [line.rstrip() for line in expected.strip("\n").splitlines()]
    parts = [r"(?:.*\n)*" if line == ANY else ".*".join(map(re.escape, line.split(ANY))) + "\n" for line in lines]
    text = "".join(line.rstrip() + "\n" for line in actual.strip("\n").splitlines())
    return re.fullmatch("".join(parts), text) is not None
