"""Packages for Debian and for RPM-based systems, made by nfpm from deploy/packages."""

import os
import pathlib
import shutil
import subprocess
import tempfile

import release

PACKAGES = release.ROOT / "deploy/packages"
SYSTEMD = release.ROOT / "deploy/systemd"


def stage(facts, folder, server, licenses):
    """Copies the inputs of nfpm to one folder. Packages contain the times of their files."""
    shutil.copytree(PACKAGES, folder, dirs_exist_ok=True)
    # /usr/local belongs to the administrator, not to packages.
    unit = (SYSTEMD / "kube-apiserver.service").read_text().replace("/usr/local/bin/", "/usr/bin/")
    (folder / "kube-apiserver.service").write_text(unit)
    shutil.copy(SYSTEMD / "kube-apiserver.env", folder / "kube-apiserver.etcd.env")
    shutil.copy(release.ROOT / "LICENSE", folder / "copyright")
    shutil.copy(licenses, folder / "THIRD-PARTY-LICENSES.txt")
    shutil.copy(server, folder / "kube-apiserver")
    for path in folder.iterdir():
        os.utime(path, (facts.epoch, facts.epoch))


def build(facts, dist):
    nfpm = release.tool("nfpm")
    for arch, server in release.programs(dist).items():
        variables = {**os.environ, "SOURCE_DATE_EPOCH": str(facts.epoch), "PACKAGE_ARCH": arch,
                     "PACKAGE_VERSION": f"{facts.kubernetes}+mainstay.{facts.version}"}
        with tempfile.TemporaryDirectory() as work:
            stage(facts, pathlib.Path(work), server, dist / "THIRD-PARTY-LICENSES.txt")
            for kind in ("deb", "rpm"):
                path = (dist / f"mainstay-{facts.version}-linux-{arch}.{kind}").absolute()
                subprocess.run([nfpm, "package", f"--packager={kind}", f"--target={path}"], cwd=work, env=variables,
                               check=True, stdout=subprocess.DEVNULL)
                yield path
