#!/usr/bin/env python3
"""mdBook preprocessor: links from the pages to files outside of docs/ lead to the repository.

    REPOSITORY_URL=https://example.com/blob/main mdbook build

mdBook runs it with the book as JSON on standard input (book.toml). Without REPOSITORY_URL, these links become plain text,
because the site does not contain their targets.
"""

import json
import os
import posixpath
import re
import sys

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")


def rewrite(text, page, repository):
    """Returns the page's text with links of the site. `page` is its path below docs/."""

    def replace(match):
        image, label, target = match.groups()
        if re.match(r"[a-z]+:|#|/", target):
            return match[0]
        path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
        if path == "docs" or path.startswith("docs/"):
            return match[0]
        return f"{image}[{label}]({repository.rstrip('/')}/{path})" if repository else label

    return "".join(part if code else LINK.sub(replace, part) for code, part in split(text))


def split(text):
    """Yields the parts of a page, and whether each is a fenced block of code."""
    code = False
    part = []
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("```"):
            if not code:
                yield code, "".join(part)
                part = [line]
            else:
                yield code, "".join(part) + line
                part = []
            code = not code
        else:
            part.append(line)
    yield code, "".join(part)


def rewrite_items(items, repository):
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if chapter:
            if chapter.get("path"):
                chapter["content"] = rewrite(chapter["content"], chapter["path"], repository)
            rewrite_items(chapter["sub_items"], repository)


def main():
    if sys.argv[1:2] == ["supports"]:
        return 0
    _, book = json.load(sys.stdin)
    # mdBook 0.4 has the chapters in `sections`.
    rewrite_items(book.get("items", book.get("sections", [])), os.environ.get("REPOSITORY_URL", ""))
    json.dump(book, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
