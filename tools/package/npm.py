"""The npm package of clients/javascript, and a package with the server per platform."""

import json

import release

SOURCE = release.ROOT / "clients/javascript"
# Architecture names of Node.js.
CPUS = {"amd64": "x64", "arm64": "arm64"}


def manifest(package):
    return ("package/package.json", (json.dumps(package, indent=2) + "\n").encode(), 0o644)


def build(facts, dist):
    package = json.loads((SOURCE / "package.json").read_text())
    servers = release.programs(dist)
    name = lambda arch: f"{package['name']}-linux-{CPUS[arch]}"
    for arch, server in servers.items():
        platform = {
            "name": name(arch), "version": package["version"], "license": package["license"],
            "description": f"The server of {package['name']} for linux/{CPUS[arch]}.", "os": ["linux"], "cpu": [CPUS[arch]],
        }
        licenses = (dist / "THIRD-PARTY-LICENSES.txt").read_bytes()
        entries = [manifest(platform), ("package/kube-apiserver", server.read_bytes(), 0o755),
                   ("package/LICENSE", (release.ROOT / "LICENSE").read_bytes(), 0o644),
                   ("package/THIRD-PARTY-LICENSES.txt", licenses, 0o644)]
        path = dist / f"{name(arch)}-{package['version']}.tgz"
        release.write_tar_gz(path, entries, facts.epoch)
        yield path
    package["optionalDependencies"] = {name(arch): package["version"] for arch in servers}
    entries = [manifest(package)] + [(f"package/{file}", (SOURCE / file).read_bytes(), 0o644) for file in package["files"]]
    entries.append(("package/LICENSE", (release.ROOT / "LICENSE").read_bytes(), 0o644))
    path = dist / f"{package['name']}-{package['version']}.tgz"
    release.write_tar_gz(path, entries, facts.epoch)
    yield path
