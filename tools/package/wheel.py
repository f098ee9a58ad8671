"""The wheel of clients/python, with the server as a program of the environment."""

import base64
import hashlib
import tomllib

import release

SOURCE = release.ROOT / "clients/python"
# The server is static, so every C library will do.
PLATFORMS = {"amd64": "manylinux2014_x86_64.musllinux_1_1_x86_64", "arm64": "manylinux2014_aarch64.musllinux_1_1_aarch64"}


def metadata(project):
    lines = [
        "Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}",
        f"Summary: {project['description']}", f"License: {project['license']['text']}",
        f"Requires-Python: {project['requires-python']}", "Description-Content-Type: text/markdown",
        *(f"Classifier: {classifier}" for classifier in project["classifiers"]),
    ]
    for extra, needs in project["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}", *(f'Requires-Dist: {need}; extra == "{extra}"' for need in needs)]
    return "\n".join(lines) + "\n\n" + (SOURCE / project["readme"]).read_text()


def entry_points(project):
    sections = project["entry-points"].items()
    return "".join(f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in group.items()) for name, group in sections)


def record(entries, name):
    """Returns the list of the files with their hashes, which the format requires."""
    digest = lambda data: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return "".join(f"{path},sha256={digest(data)},{len(data)}\n" for path, data, _ in entries) + f"{name},,\n"


def build(facts, dist):
    project = tomllib.loads((SOURCE / "pyproject.toml").read_text())["project"]
    stem = f"{project['name'].replace('-', '_')}-{project['version']}"
    for arch, server in release.programs(dist).items():
        tag = f"py3-none-{PLATFORMS[arch]}"
        tags = "".join(f"Tag: py3-none-{platform}\n" for platform in PLATFORMS[arch].split("."))
        wheel = f"Wheel-Version: 1.0\nGenerator: mainstay\nRoot-Is-Purelib: false\n{tags}"
        entries = [entry for entry in release.files_below(SOURCE / "src") if entry[0].endswith(".py")]
        entries.append((f"{stem}.data/scripts/kube-apiserver", server.read_bytes(), 0o755))
        texts = {"METADATA": metadata(project), "WHEEL": wheel, "entry_points.txt": entry_points(project),
                 "licenses/LICENSE": (release.ROOT / "LICENSE").read_text(),
                 "licenses/THIRD-PARTY-LICENSES.txt": (dist / "THIRD-PARTY-LICENSES.txt").read_text()}
        entries += [(f"{stem}.dist-info/{name}", text.encode(), 0o644) for name, text in texts.items()]
        name = f"{stem}.dist-info/RECORD"
        entries.append((name, record(entries, name).encode(), 0o644))
        path = dist / f"{stem}-{tag}.whl"
        release.write_zip(path, entries, facts.epoch)
        yield path
