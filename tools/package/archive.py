"""mainstay-VERSION-linux-ARCH.tar.gz: the programs, licences and the systemd unit."""

import release


def build(facts, dist):
    others = [("LICENSE", release.ROOT / "LICENSE"), ("THIRD-PARTY-LICENSES.txt", dist / "THIRD-PARTY-LICENSES.txt")]
    units = [("kube-apiserver.service", release.ROOT / "deploy/systemd/kube-apiserver.service"),
             ("kube-apiserver.env", release.ROOT / "deploy/systemd/kube-apiserver.env")]
    for arch, server in release.programs(dist).items():
        name = f"mainstay-{facts.version}-linux-{arch}"
        programs = [("kube-apiserver", server), ("apibench", dist / f"apibench-linux-{arch}")]
        entries = [(f"{name}/{file}", path.read_bytes(), 0o755) for file, path in programs if path.exists()]
        entries += [(f"{name}/{file}", path.read_bytes(), 0o644) for file, path in others + units]
        path = dist / f"{name}.tar.gz"
        release.write_tar_gz(path, entries, facts.epoch)
        yield path
