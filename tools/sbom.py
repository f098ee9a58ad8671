#!/usr/bin/env python3
"""Writes the server's bill of materials (CycloneDX 1.5) and the licences of third parties.

    tools/sbom.py SBOM.json LICENSES.txt

Both follow from Cargo.lock and the crates' sources in cargo's registry. They cover the crates that the server is built
from, without those that only tests or other systems need. Two runs over one Cargo.lock give the same bytes. A crate
without a licence in its manifest is an error. A crate without a licence file is listed with its licence expression.
"""

import hashlib
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SERVER = "kube-apiserver"
# Names of licence files in crates.
LICENSE_FILES = re.compile(r"^(licen[sc]e|copying|notice|unlicense|copyright)", re.IGNORECASE)


def cargo(*arguments):
    return subprocess.run(["cargo", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def metadata():
    host = re.search(r"host: (\S+)", subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout)
    return json.loads(cargo("metadata", "--format-version=1", "--locked", f"--filter-platform={host.group(1)}"))


def built_into(data, name):
    """Returns the ID of package NAME, and the dependencies of each package that it is built from, by ID."""
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    first = next(p["id"] for p in data["packages"] if p["name"] == name)
    seen, todo = {}, [first]
    while todo:
        at = todo.pop()
        if at in seen:
            continue
        # Kind null is a normal dependency. Build dependencies count, because code generators put code into the binary.
        needs = [d["pkg"] for d in nodes[at]["deps"] if any(k["kind"] in (None, "build") for k in d["dep_kinds"])]
        seen[at] = sorted(set(needs))
        todo += needs
    return first, seen


def checksums():
    """Returns the checksums in Cargo.lock by package name and version."""
    lock = (ROOT / "Cargo.lock").read_text()
    found = re.findall(r'name = "([^"]+)"\nversion = "([^"]+)"\nsource = "[^"]+"\nchecksum = "([0-9a-f]+)"', lock)
    return {(name, version): checksum for name, version, checksum in found}


def reference(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, sums):
    made = {
        "type": "library",
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "purl": reference(package),
        # Old manifests use a slash for "or".
        "licenses": [{"expression": package["license"].replace("/", " OR ")}],
    }
    checksum = sums.get((package["name"], package["version"]))
    if checksum:
        made["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package.get("repository"):
        made["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return made


def license_texts(package):
    folder = pathlib.Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.is_file() and LICENSE_FILES.match(path.name))
    named = package.get("license_file")
    if named and folder / named not in files:
        files.append(folder / named)
    return [path.read_text(errors="replace").strip() for path in files]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    data, sums = metadata(), checksums()
    packages = {p["id"]: p for p in data["packages"]}
    first, built = built_into(data, SERVER)
    everything = sorted((packages[i] for i in built), key=lambda p: (p["name"], p["version"]))
    unlicensed = [reference(p) for p in everything if not p["license"] and not p["license_file"]]
    if unlicensed:
        sys.exit(f"no licence in the manifests of {', '.join(unlicensed)}")
    for package in everything:
        package["license"] = package["license"] or "LicenseRef-in-its-file"
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(packages[first], sums) | {"type": "application"}},
        "components": [component(p, sums) for p in everything if p["id"] != first],
        "dependencies": [
            {"ref": reference(packages[i]), "dependsOn": sorted(reference(packages[n]) for n in needs)}
            for i, needs in sorted(built.items(), key=lambda item: reference(packages[item[0]]))
        ],
    }
    pathlib.Path(sys.argv[1]).write_text(json.dumps(bill, indent=1) + "\n")

    # Identical texts appear once, with all crates that have them.
    by_text = {}
    for package in everything:
        if package["source"] is None:
            continue
        for text in license_texts(package) or [f"(The sources have no licence file. Licence in the manifest: {package['license']}.)"]:
            of = by_text.setdefault(hashlib.sha256(text.encode()).hexdigest(), (text, []))
            of[1].append(f"{package['name']} {package['version']} ({package['license']})")
    with open(sys.argv[2], "w") as out:
        out.write("Licences of the software that this server is built from.\n")
        for text, users in sorted(by_text.values(), key=lambda entry: entry[1]):
            out.write("\n" + "=" * 100 + "\n" + "\n".join(sorted(set(users))) + "\n" + "-" * 100 + "\n" + text + "\n")


main()
