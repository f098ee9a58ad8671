"""Sources of the client libraries: the Go module as a module proxy, and the Rust crate.

The archive mainstay-VERSION-goproxy.tar.gz is a directory for GOPROXY=file://DIRECTORY.
"""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile

import release

GO = release.ROOT / "clients/go"
RUST = release.ROOT / "clients/rust"


def go_proxy(facts, dist):
    manifest = (GO / "go.mod").read_bytes()
    module = re.match(r"module (\S+)", manifest.decode()).group(1)
    version = f"v{facts.version}"
    sources = [*release.files_below(GO), ("LICENSE", (release.ROOT / "LICENSE").read_bytes(), 0o644)]
    with tempfile.NamedTemporaryFile() as packed:
        release.write_zip(packed.name, [(f"{module}@{version}/{name}", data, 0o644) for name, data, _ in sources], facts.epoch)
        archive = packed.read()
    info = json.dumps({"Version": version, "Time": facts.date}).encode()
    files = {"list": f"{version}\n".encode(), f"{version}.info": info, f"{version}.mod": manifest, f"{version}.zip": archive}
    path = dist / f"mainstay-{facts.version}-goproxy.tar.gz"
    release.write_tar_gz(path, [(f"goproxy/{module}/@v/{name}", data, 0o644) for name, data in files.items()], facts.epoch)
    return path


def crate(dist):
    """Runs `cargo package` without the build, which the tests of the crate do."""
    if not shutil.which("cargo"):
        raise release.Skipped("cargo is missing")
    with tempfile.TemporaryDirectory() as work:
        subprocess.run(["cargo", "package", "--quiet", "--no-verify", "--allow-dirty", "--exclude-lockfile", "--offline",
                        f"--target-dir={work}"], cwd=RUST, check=True)
        made = next(pathlib.Path(work).glob("package/*.crate"))
        return pathlib.Path(shutil.copy(made, dist))


def build(facts, dist):
    yield go_proxy(facts, dist)
    yield crate(dist)
