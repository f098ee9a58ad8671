"""Plays the quick start of each audience, with only the files of `make dist` and the pages.

    python3 e2e/quickstarts DIST [--here] [AUDIENCE...]

DIST is the output of `make dist`. The pages' command blocks run in order, in one shell per page, on a machine with a clean
root, without network and without a compiler (sandbox.py). Outputs must be those of the pages. The commands need Linux with
user namespaces, or root.

--here: no clean root; programs are those of this machine. An audience is skipped if its inputs are missing.

Inputs that readers have or download, such as kubectl, pytest and the Kubernetes clients, are prepared outside, in
target/tools/quickstarts. That needs Go, Java with Maven, pip, npm and their registries once.
"""

import argparse
import importlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import pages
import sandbox

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOOLS = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / "tools"
AUDIENCES = ("kubectl", "go", "python", "javascript", "java", "operators")
PAGE_SECONDS_MAX = 240
# From nothing to the first result of kubectl, with the files of `make dist`.
FIRST_RESULT_SECONDS_MAX = 10
# Runs a page's blocks. Files in $OUT have the output of each block, and the time at its end.
PRELUDE = r"""
set -e
stop() { code=$?; [ $code = 0 ] || echo "$block $code" >"$OUT/failed"; }
trap stop EXIT
until_ready() {
  while read -r line <&"$server"; do
    echo "$line"
    case $line in
      "export "*) eval "$line" ;;
      "Serving "*) ;;
      *) continue ;;
    esac
    cat <&"$server" >/dev/null &
    return
  done
  tail -3 "$OUT/server.log"
  return 1
}
"""


class Skipped(Exception):
    """An audience whose inputs are missing; the text is the reason."""


class Inputs:
    """Programs and packages that a reader of an audience already has."""

    root = ROOT

    def __init__(self, name, dist, clean_root):
        self.dist = dist
        self.clean_root = clean_root
        self.store = TOOLS / "quickstarts" / name
        (self.store / "bin").mkdir(parents=True, exist_ok=True)

    def inside(self, path=""):
        """Returns the path of a file of the store for the reader."""
        return f"/store/{path}" if self.clean_root else str(self.store / path)

    def tool(self, name):
        """Copies a program of target/tools/bin to the reader's PATH."""
        if not (TOOLS / "bin" / name).exists():
            self.run(ROOT / "tools/fetch-tools.sh", name)
        shutil.copy(TOOLS / "bin" / name, self.store / "bin" / name)

    def program(self, name, text):
        path = self.store / "bin" / name
        path.write_text(f"#!/usr/bin/env bash\n{text}")
        path.chmod(0o755)

    def run(self, *command, **options):
        """Runs a program outside of the clean root."""
        if not shutil.which(command[0]):
            raise Skipped(f"{command[0]} is missing")
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
        if done.returncode:
            sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}")
        return done.stdout

    def blocks(self, page):
        return pages.blocks((ROOT / page).read_text())

    def files(self, page, folder):
        """Writes the files of a page to a folder, and returns their paths."""
        written = {pathlib.Path(folder, block.file): block.text for block in self.blocks(page) if block.file}
        for path, text in written.items():
            path.write_text(text)
        return list(written)


class Page:
    """A page, and the reader's machine."""

    def __init__(self, page, inputs, environment, work):
        self.page, self.inputs, self.folder = page, inputs, pathlib.Path(work)
        self.home, self.out = self.folder / "home", self.folder / "home/.out"
        self.out.mkdir(parents=True)
        self.commands = [block for block in inputs.blocks(page) if block.command]
        self.environment = environment
        self.shown = {"/store": inputs.store, f"{sandbox.HOME}/dist": inputs.dist}
        inputs.files(page, self.home)
        if not inputs.clean_root:
            (self.home / "dist").symlink_to(inputs.dist)
        elif os.geteuid() == 0:
            for path in (self.home, *self.home.rglob("*")):
                os.chown(path, sandbox.USER, sandbox.USER)

    def script(self):
        script = PRELUDE
        for block in self.commands:
            text = f"{{ {block.text}}}"
            if block.server:
                text = f'exec {{server}}< <(exec 2>>"$OUT/server.log"\n{block.text})\nuntil_ready'
                text = f"{{ {text}\n}}"
            script += f'block={block.line}\n{text} >"$OUT/{block.line}" 2>&1\necho $EPOCHREALTIME >"$OUT/{block.line}.time"\n'
        return script

    def run(self):
        """Runs the blocks. Returns the failures, and the seconds at the end of each block."""
        (self.folder / "script").write_text(self.script())
        path = f"{self.inputs.inside('bin')}:/usr/bin:/bin"
        if not self.inputs.clean_root:
            path = f"{self.inputs.inside('bin')}:{os.environ['PATH']}"
        home = sandbox.HOME if self.inputs.clean_root else str(self.home)
        variables = {"PATH": path, "HOME": home, "OUT": f"{home}/.out", "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1", "NO_COLOR": "1", **self.environment}
        command = sandbox.command(self.folder, self.inputs.clean_root, self.shown)
        started = time.time()
        try:
            subprocess.run(command, env=variables, stdin=subprocess.DEVNULL, timeout=PAGE_SECONDS_MAX, start_new_session=True)
        except subprocess.TimeoutExpired:
            return [f"{self.page}: not done after {PAGE_SECONDS_MAX} s"], {}
        return self.failures(), self.times(started)

    def read(self, name):
        path = self.out / name
        return path.read_text(errors="replace") if path.exists() else ""

    def failures(self):
        failed = self.read("failed").split()
        if failed:
            line, code = failed
            return [f"{self.page}:{line}: exit code {code}\n{self.read(line)}{self.read('server.log')[-2000:]}"]
        wrong = [block for block in self.commands if block.expected and not pages.matches(block.expected, self.read(str(block.line)))]
        missing = [block for block in self.commands if not self.read(f"{block.line}.time")]
        return [f"{self.page}:{block.line}: other output:\n{self.read(str(block.line))}" for block in wrong] + [
            f"{self.page}:{block.line}: did not run" for block in missing]

    def times(self, started):
        ended = {block.line: self.read(f"{block.line}.time") for block in self.commands}
        return {line: float(text) - started for line, text in ended.items() if text}

    def first_result(self, times):
        """Returns the seconds until the end of the first command after the start of a server, or None."""
        servers = [block.line for block in self.commands if block.server]
        later = [line for line in times if servers and line > servers[0]]
        return times[later[0]] if later else None


def play(name, dist, clean_root):
    """Plays the pages of an audience, and returns the failures."""
    audience, inputs = importlib.import_module(name), Inputs(name, dist, clean_root)
    environment = audience.prepare(inputs)
    failures = []
    for page in audience.PAGES:
        # Not in a folder that other users cannot enter.
        with tempfile.TemporaryDirectory(prefix="quickstart-") as work:
            os.chmod(work, 0o755)
            played = Page(page, inputs, environment, work)
            found, times = played.run()
            first = played.first_result(times)
            if name == "kubectl" and clean_root and first and first > FIRST_RESULT_SECONDS_MAX:
                found.append(f"{page}: first result after {first:.1f} s (limit: {FIRST_RESULT_SECONDS_MAX} s)")
            total = max(times.values(), default=0)
            result = f"first result after {first:.2f} s, " if first else ""
            print(f"{name}: {page}: {len(times)} of {len(played.commands)} blocks, {result}end after {total:.2f} s", flush=True)
            failures += found
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dist", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--here", action="store_true")
    parser.add_argument("audiences", nargs="*", metavar="AUDIENCE", help=", ".join(AUDIENCES))
    arguments = parser.parse_intermixed_args()
    clean_root = None
    if not arguments.here:
        clean_root = TOOLS / "clean-root"
        subprocess.run([ROOT / "tools/fetch-tools.sh", "clean-root"], check=True)
    failures = []
    for name in arguments.audiences or AUDIENCES:
        try:
            failures += play(name, arguments.dist, clean_root)
        except Skipped as reason:
            print(f"{name}: SKIPPED, {reason}")
            failures += [] if arguments.here else [f"{name}: {reason}"]
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
