#!/usr/bin/env python3
"""Builds an OCI image of one layer per architecture without a container engine.

    image_archive.py ROOT ARCHIVE [NAME]

ROOT is a directory from tools/image-root.sh, with a program for this machine. ARCHIVE is the output file; podman,
`docker load`, `ctr images import` and `kind load image-archive` accept it. The image's user, environment and entry point come
from deploy/image/Containerfile. Layers are compressed with zstd, which the OCI image format has had since version 1.1: containerd 1.5,
Docker 23 and Podman can read it. The image is a quarter smaller than with gzip. Owners are left out and times are the commit's, so the same root gives the same bytes.
"""
import hashlib
import io
import json
import os
import pathlib
import platform
import subprocess
import sys
import tarfile

import release

CONTAINERFILE = release.ROOT / "deploy/image/Containerfile"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
MEDIA = "application/vnd.oci.image."
# Engines add this to a name without a registry. Kubelets search the complete name, and containerd imports the name as it is.
REGISTRY = "docker.io/library/"
# Level of zstd, if the environment has none. It takes a minute.
COMPRESSION = {"ZSTD_CLEVEL": "19"}


def entry(name, data=None, mode=0o644):
    info = tarfile.TarInfo(name)
    info.mode, info.type = mode, tarfile.DIRTYPE if data is None else tarfile.REGTYPE
    info.size = len(data or b"")
    return info


def layer(root):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for directory, names, files in os.walk(root):
            names.sort()
            inside = os.path.relpath(directory, root)
            if inside != ".":
                tar.addfile(entry(inside, mode=0o755))
            for name in sorted(files):
                path = os.path.join(directory, name)
                with open(path, "rb") as f:
                    data = f.read()
                mode = 0o755 if os.access(path, os.X_OK) else 0o644
                tar.addfile(entry(os.path.normpath(os.path.join(inside, name)), data, mode), io.BytesIO(data))
    return out.getvalue()


def run_as():
    """Returns the image configuration from the Containerfile: environment, user and entry point."""
    config = {"Env": []}
    with open(CONTAINERFILE) as f:
        for line in f:
            word, _, rest = line.strip().partition(" ")
            if word == "ENV":
                config["Env"].append(rest)
            elif word == "USER":
                config["User"] = rest
            elif word == "ENTRYPOINT":
                config["Entrypoint"] = json.loads(rest)
    return config


def labels(facts):
    names = {"title": "kube-apiserver", "description": "Mainstay, a Kubernetes API server", "licenses": "Apache-2.0",
             "version": facts.git_version, "revision": facts.commit, "created": facts.date}
    return {f"org.opencontainers.image.{name}": value for name, value in names.items()}


def compress(data):
    """Compresses with one thread, because the output depends on the number of threads."""
    command = [release.tool("zstd"), "--single-thread", "--quiet", "--stdout"]
    return subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True, env=COMPRESSION | dict(os.environ)).stdout


def to_json(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


class Archive:
    """An OCI image layout."""

    def __init__(self):
        self.blobs = {}

    def add(self, media, data):
        """Adds a blob and returns its descriptor."""
        digest = hashlib.sha256(data).hexdigest()
        self.blobs[f"blobs/sha256/{digest}"] = data
        return {"mediaType": MEDIA + media, "digest": f"sha256:{digest}", "size": len(data)}

    def add_image(self, facts, root, arch):
        """Adds the image of an architecture and returns its descriptor."""
        plain = layer(root)
        config = {
            "architecture": arch, "os": "linux", "created": facts.date, "config": run_as() | {"Labels": labels(facts)},
            "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(plain).hexdigest()]},
        }
        packed = self.add("layer.v1.tar+zstd", compress(plain))
        manifest = {"schemaVersion": 2, "mediaType": MEDIA + "manifest.v1+json", "annotations": labels(facts),
                    "config": self.add("config.v1+json", to_json(config)), "layers": [packed]}
        print(f"linux/{arch}: one layer of {len(plain) / 2**20:.1f} MiB, {packed['size'] / 2**20:.1f} MiB compressed")
        return self.add("manifest.v1+json", to_json(manifest)) | {"platform": {"architecture": arch, "os": "linux"}}

    def write(self, path, name, images):
        """Writes the archive. Several images become one image index, of which engines select the machine's."""
        top = images[0]
        if len(images) > 1:
            top = self.add("index.v1+json", to_json(index(images)))
        top = top | {"annotations": {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name.rpartition(":")[2]}}
        files = {**self.blobs, "index.json": to_json(index([top])), "oci-layout": to_json({"imageLayoutVersion": "1.0.0"})}
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
            for file in sorted(files):
                tar.addfile(entry(file, files[file]), io.BytesIO(files[file]))


def index(images):
    return {"schemaVersion": 2, "mediaType": MEDIA + "index.v1+json", "manifests": images}


def write(facts, roots, path, name=None):
    """Writes an archive with the image of each root directory, by architecture."""
    archive = Archive()
    images = [archive.add_image(facts, root, arch) for arch, root in sorted(roots.items())]
    archive.write(path, name or f"{REGISTRY}kube-apiserver:{facts.tag}", images)


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    arch = ARCHITECTURES.get(platform.machine(), platform.machine())
    write(release.load(), {arch: sys.argv[1]}, pathlib.Path(sys.argv[2]), *sys.argv[3:])


if __name__ == "__main__":
    main()
