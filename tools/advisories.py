#!/usr/bin/env python3
"""advisories.py [LOCK…]: fails if a locked crate has an open RustSec advisory. Without arguments: all lock files.

ADVISORY_DB: path of a git repository or a directory with the database. Without it the database is cloned into
target/advisory-db. If it cannot be reached, the check is skipped with a message and exit code 0. Advisories that do not
apply are listed in deny.toml (advisories.ignore), which cargo-deny reads too.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = "https://github.com/rustsec/advisory-db"
CLONE_SECONDS_MAX = 120


class Unreachable(Exception):
    """The database cannot be read; the text is the reason."""


def database():
    """Returns the texts of all advisories."""
    given = os.environ.get("ADVISORY_DB")
    path = Path(given) if given else ROOT / "target" / "advisory-db"
    if not given:
        update(path)
    if (path / "crates").is_dir():
        return [file.read_text() for file in path.glob("crates/*/RUSTSEC-*.md")]
    listing = git("-C", str(path), "ls-tree", "-r", "HEAD", "crates")
    objects = [line.split()[2] for line in listing.splitlines() if "/RUSTSEC-" in line]
    texts = git("-C", str(path), "cat-file", "--batch", stdin="\n".join(objects))
    return re.split(r"^[0-9a-f]{40} blob \d+\n", texts, flags=re.MULTILINE)[1:]


def update(path):
    """Clones the database, or updates a clone."""
    if path.exists():
        git("-C", str(path), "pull", "--quiet", "--ff-only", "--depth", "1")
    else:
        git("clone", "--quiet", "--depth", "1", SOURCE, str(path))


def git(*arguments, stdin=None):
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(["git", *arguments], input=stdin, capture_output=True, text=True, check=True,
                              timeout=CLONE_SECONDS_MAX, env=environment)
    except subprocess.CalledProcessError as error:
        raise Unreachable((error.stderr.strip().splitlines() or ["git failed"])[-1]) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unreachable(str(error)) from error
    return done.stdout


def version(text):
    """Returns a sortable version: a release sorts after its pre-releases."""
    core, _, pre = text.split("+")[0].partition("-")
    numbers = [int(part) for part in core.split(".")]
    identifiers = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in pre.split(".") if part]
    return tuple(numbers + [0] * (3 - len(numbers))), (not pre, identifiers)


def satisfies(locked, requirement):
    """True if a version satisfies all comparators of a Cargo requirement. Raises ValueError for an unknown one."""
    return all(compare(locked, part.strip()) for part in requirement.split(","))


def compare(locked, comparator):
    parsed = re.fullmatch(r"(>=|<=|>|<|=|\^|~|)\s*(\d+(?:\.\d+){0,2}\S*)", comparator)
    if comparator == "*":
        return True
    if not parsed:
        raise ValueError(f"unknown requirement: {comparator}")
    operator, text = parsed.groups()
    lock, bound = version(locked), version(text)
    if operator in (">=", "<=", ">", "<", "="):
        return {">=": lock >= bound, "<=": lock <= bound, ">": lock > bound, "<": lock < bound, "=": lock == bound}[operator]
    count = len(text.split("-")[0].split("."))
    numbers = bound[0]
    leading = next((at for at, number in enumerate(numbers) if number), 2)
    fixed = min(count, 2) if operator == "~" else min(leading + 1, count)
    return lock >= bound and lock[0][:fixed] == numbers[:fixed]


def applies(advisory, locked):
    safe = advisory["versions"].get("patched", []) + advisory["versions"].get("unaffected", [])
    return not any(satisfies(locked, requirement) for requirement in safe)


def read(text):
    return tomllib.loads(text.removeprefix("```toml\n").split("\n```")[0])


def check_itself():
    """Fails if requirements are evaluated wrongly, which could hide an advisory."""
    for locked, requirement, expected in [
        ("1.2.3", ">= 1.2.3", True), ("1.2.2", ">= 1.2.3", False), ("0.9.11-rc.1", ">= 0.9.11", False),
        ("0.9.4", "^0.9.3", True), ("0.10.0", "^0.9.3", False), ("1.9.0", "^1.2", True), ("2.0.0", "^1.2", False),
        ("0.0.4", "^0.0.3", False), ("1.2.9", "~1.2.3", True), ("1.3.0", "~1.2", False), ("1.5.0", "< 1.0, >= 0.5", False),
        ("0.5.1+build", "< 1.0, >= 0.5", True), ("1.0.0", "1.0.0", True), ("1.0.0", "=1.0.1", False),
    ]:
        assert satisfies(locked, requirement) == expected, (locked, requirement)


def main():
    check_itself()
    locks = [Path(lock) for lock in sys.argv[1:]] or [ROOT / "Cargo.lock", *sorted(ROOT.glob("pkg/*/fuzz/Cargo.lock"))]
    try:
        advisories = [read(text) for text in database()]
        if not advisories:
            raise Unreachable("it contains no advisories")
    except Unreachable as reason:
        print(f"advisories: SKIPPED, the database is not reachable: {reason}")
        return 0
    settings = tomllib.loads((ROOT / "deny.toml").read_text())["advisories"]
    ignored = {entry["id"] for entry in settings.get("ignore", [])}
    by_crate = {}
    for advisory in advisories:
        if "withdrawn" not in advisory["advisory"] and advisory["advisory"].get("collection", "crates") == "crates":
            by_crate.setdefault(advisory["advisory"]["package"], []).append(advisory)
    found, packages = {}, 0
    for lock in locks:
        for package in tomllib.loads(lock.read_text())["package"]:
            packages += "source" in package
            for advisory in by_crate.get(package["name"], []) if "source" in package else []:
                if applies(advisory, package["version"]):
                    found.setdefault(advisory["advisory"]["id"], (advisory, package, lock))
    for name, (advisory, package, lock) in sorted(found.items()):
        kind = advisory["advisory"].get("informational", "vulnerability")
        note = ", ignored by deny.toml" if name in ignored else ""
        print(f"advisories: {name} ({kind}{note}): {package['name']} {package['version']} in {os.path.relpath(lock)}")
    unused = ignored - found.keys()
    for name in sorted(unused):
        print(f"advisories: deny.toml ignores {name}, which applies to no locked crate")
    print(f"advisories: {packages} packages in {len(locks)} lock files, {len(advisories)} advisories")
    return int(bool(found.keys() - ignored or unused))


if __name__ == "__main__":
    sys.exit(main())
