"""mainstay.rb: the Homebrew formula for the archives in the directory."""

import hashlib

import release

CPUS = {"amd64": "intel", "arm64": "arm"}


def build(facts, dist):
    downloads = ""
    for arch in release.programs(dist):
        archive = dist / f"mainstay-{facts.version}-linux-{arch}.tar.gz"
        if not archive.exists():
            raise release.Skipped(f"{archive.name} is missing")
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
        downloads += f'  on_{CPUS[arch]} do\n    url "{facts.url}/{archive.name}"\n    sha256 "{digest}"\n  end\n'
    values = {"url": facts.url, "version": facts.version, "git_version": facts.git_version, "downloads": downloads}
    text = (release.ROOT / "deploy/homebrew/mainstay.rb").read_text().split("\n", 1)[1]
    for name, value in values.items():
        text = text.replace("{{" + name + "}}", value)
    path = dist / "mainstay.rb"
    path.write_text(text)
    yield path
