"""Facts of a release, and writers of archives with reproducible bytes.

The versions have one source each: `version` in Cargo.toml, and `THIS_WITH_PATCH` in component-base. As a program, prints the
variables that a release build needs (tools/static-build.sh).
"""

import dataclasses
import datetime
import gzip
import io
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RELEASE_SOURCE = ROOT / "pkg/component-base/src/features/release.rs"
# Where files of the release are downloaded from, if DIST_URL is not set: `python3 -m http.server` in dist/.
LOCAL_URL = "http://127.0.0.1:8000"
ARCHITECTURES = ("amd64", "arm64")
# Times before this one do not fit into ZIP archives.
ZIP_EPOCH_MIN = 315532800


class Skipped(Exception):
    """A package that cannot be built on this machine; the text is the reason."""


@dataclasses.dataclass(frozen=True)
class Release:
    version: str
    kubernetes: str
    commit: str
    tree_state: str
    epoch: int
    url: str

    @property
    def git_version(self):
        return f"v{self.kubernetes}+mainstay.{self.version}"

    @property
    def tag(self):
        """The version for image tags, which cannot contain a plus sign."""
        return self.git_version.replace("+", "-")

    @property
    def date(self):
        return datetime.datetime.fromtimestamp(self.epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def git(*arguments):
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def load():
    """Returns the facts of the checked-out release. Without git, the commit is empty."""
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    kubernetes = re.search(r'THIS_WITH_PATCH: &str = "([^"]+)"', RELEASE_SOURCE.read_text()).group(1)
    commit = git("rev-parse", "HEAD")
    changed = git("status", "--porcelain", "--untracked-files=no")
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct") or "0"
    return Release(
        version=version, kubernetes=kubernetes, commit=commit,
        tree_state="" if not commit else "dirty" if changed else "clean",
        epoch=int(epoch), url=(os.environ.get("DIST_URL") or LOCAL_URL).rstrip("/"),
    )


def programs(dist, name="kube-apiserver"):
    """Returns the stripped programs of this name in the directory, by architecture."""
    found = {arch: dist / f"{name}-linux-{arch}" for arch in ARCHITECTURES}
    found = {arch: path for arch, path in found.items() if path.exists()}
    if not found:
        raise Skipped(f"{dist} has no {name}-linux-*")
    return found


def tool(name):
    """Returns the path of a program in target/tools/bin or on PATH."""
    local = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / "tools/bin" / name
    found = str(local) if local.exists() else shutil.which(name)
    if not found:
        raise Skipped(f"{name} is missing")
    return found


def write_tar_gz(path, entries, epoch):
    """Writes (name, bytes, mode) entries with fixed owners and times, in the given order."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data, mode in entries:
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.mtime = len(data), mode, epoch
            tar.addfile(info, io.BytesIO(data))
    path.write_bytes(gzip.compress(plain.getvalue(), 9, mtime=0))


def write_zip(path, entries, epoch):
    """Writes (name, bytes, mode) entries with fixed times, in the given order."""
    moment = datetime.datetime.fromtimestamp(max(epoch, ZIP_EPOCH_MIN), datetime.timezone.utc)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data, mode in entries:
            info = zipfile.ZipInfo(name, moment.timetuple()[:6])
            info.external_attr, info.create_system = (0o100000 | mode) << 16, 3
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)


def files_below(folder):
    """Returns (path from the folder, bytes, mode) of all files, in path order."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    mode = lambda path: 0o755 if os.access(path, os.X_OK) else 0o644
    return [(path.relative_to(folder).as_posix(), path.read_bytes(), mode(path)) for path in paths]


def main():
    release = load()
    print(f"MAINSTAY_GIT_COMMIT={release.commit}")
    print(f"MAINSTAY_GIT_TREE_STATE={release.tree_state}")
    print(f"MAINSTAY_BUILD_DATE={release.date}")


if __name__ == "__main__":
    main()
