"""mainstay-VERSION-image.tar: an OCI image archive with the image of each architecture."""

import pathlib
import subprocess
import tempfile

import image_archive
import release


def build(facts, dist):
    with tempfile.TemporaryDirectory() as work:
        roots = {arch: pathlib.Path(work) / arch for arch in release.programs(dist)}
        for arch, root in roots.items():
            subprocess.run([release.ROOT / "tools/image-root.sh", dist, root, arch], check=True)
        path = dist / f"mainstay-{facts.version}-image.tar"
        image_archive.write(facts, roots, path)
    yield path
