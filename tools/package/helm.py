"""The Helm chart of deploy/helm as an archive."""

import release


def build(facts, dist):
    chart = release.ROOT / "deploy/helm/mainstay"
    path = dist / f"mainstay-chart-{facts.version}.tgz"
    release.write_tar_gz(path, [(f"mainstay/{name}", data, mode) for name, data, mode in release.files_below(chart)], facts.epoch)
    yield path
