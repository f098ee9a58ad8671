"""envtest-vVERSION-linux-ARCH.tar.gz and its index, for setup-envtest.

setup-envtest finds archives by Kubernetes' version. The archive needs no etcd and has no kubectl.
"""

import hashlib
import json

import release

# Folder of upstream's archives.
FOLDER = "controller-tools/envtest"


def build(facts, dist):
    archives = {}
    for arch, server in release.programs(dist).items():
        entries = [(f"{FOLDER}/mainstay", server.read_bytes(), 0o755)]
        entries += [(f"{FOLDER}/{name}", data, mode) for name, data, mode in release.files_below(release.ROOT / "deploy/envtest")]
        path = dist / f"envtest-v{facts.kubernetes}-linux-{arch}.tar.gz"
        release.write_tar_gz(path, entries, facts.epoch)
        archives[path.name] = {"hash": hashlib.sha512(path.read_bytes()).hexdigest(), "selfLink": f"{facts.url}/{path.name}"}
        yield path
    index = dist / "envtest-releases.yaml"
    # JSON is YAML.
    index.write_text(json.dumps({"releases": {f"v{facts.kubernetes}": archives}}, indent=1) + "\n")
    yield index
