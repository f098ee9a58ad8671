#!/usr/bin/env python3
"""Builds a single-layer OCI image without a container engine.

    image-archive.py ROOT ARCHIVE [NAME]

ROOT is a directory from tools/image-root.sh. ARCHIVE is the output file; podman, `docker load`, `ctr images import` and
`kind load image-archive` accept it. The image's user, environment and entry point come from deploy/image/Containerfile.
Times and owners are left out, so the same root gives the same bytes.
"""
import gzip
import hashlib
import io
import json
import os
import platform
import sys
import tarfile

CONTAINERFILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "deploy", "image", "Containerfile")
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


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


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    root, archive = sys.argv[1:3]
    name = sys.argv[3] if len(sys.argv) == 4 else "kube-apiserver:v1.37.2-mainstay"
    plain = layer(root)
    packed = gzip.compress(plain, 9, mtime=0)
    blobs = {}

    def blob(media, data):
        digest = hashlib.sha256(data).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = data
        return {"mediaType": f"application/vnd.oci.image.{media}", "digest": f"sha256:{digest}", "size": len(data)}

    text = lambda value: json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    config = {
        "architecture": ARCHITECTURES.get(platform.machine(), platform.machine()), "os": "linux", "config": run_as(),
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(plain).hexdigest()]},
    }
    manifest = {
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": blob("config.v1+json", text(config)), "layers": [blob("layer.v1.tar+gzip", packed)],
    }
    described = blob("manifest.v1+json", text(manifest))
    described["annotations"] = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name.rpartition(":")[2]}
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [described]}
    files = {**blobs, "index.json": text(index), "oci-layout": text({"imageLayoutVersion": "1.0.0"})}
    with tarfile.open(archive, "w", format=tarfile.USTAR_FORMAT) as tar:
        for path in sorted(files):
            tar.addfile(entry(path, files[path]), io.BytesIO(files[path]))
    mebibytes = lambda data: f"{len(data) / 2**20:.1f} MiB"
    print(f"{archive}: one layer of {mebibytes(plain)}, {mebibytes(packed)} compressed")


if __name__ == "__main__":
    main()
