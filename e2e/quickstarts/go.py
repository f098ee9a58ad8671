"""The author of tests in Go.

The tests are compiled outside of the clean root: one that uses envtest, and the page's with the module of the release. In the
clean root, `go` only runs them.
"""

import os
import pathlib
import shutil
import tarfile
import tempfile

PAGES = ("docs/start/go.md",)
MODULE = "mainstay.dev/testserver"
# A program that uses envtest.
ENVTEST = "e2e/controller-runtime"
GO = """store=${0%/bin/*}
case $1 in
  install) command -v setup-envtest >/dev/null ;;
  get) proxy=${GOPROXY%%,*} && [ -f "${proxy#file://}/MODULE/@v/${2#*@}.zip" ] ;;
  mod) ;;
  test) if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then exec "$store/envtest"; fi; "$store/demo.test" >/dev/null && echo ok ;;
  *) exit 2 ;;
esac
"""


def prepare(inputs):
    inputs.tool("setup-envtest")
    inputs.program("go", GO.replace("MODULE", MODULE))
    variables = {**os.environ, "CGO_ENABLED": "0"}
    inputs.run("go", "build", "-mod=mod", "-o", inputs.store / "envtest", "./archive", cwd=inputs.root / ENVTEST, env=variables)
    compile_page(inputs, variables)
    return {}


def compile_page(inputs, variables):
    """Compiles the page's test with the module of the release."""
    with tempfile.TemporaryDirectory() as work:
        archive = next(inputs.dist.glob("mainstay-*-goproxy.tar.gz"))
        with tarfile.open(archive) as tar:
            tar.extractall(work, filter="data")
        version = next(pathlib.Path(work).glob(f"goproxy/{MODULE}/@v/*.zip")).stem
        demo = pathlib.Path(work, "demo")
        demo.mkdir()
        inputs.files(PAGES[0], demo)
        proxies = inputs.run("go", "env", "GOPROXY").strip()
        variables = variables | {"GOPROXY": f"file://{work}/goproxy,{proxies}", "GONOSUMDB": MODULE, "GOFLAGS": "-modcacherw"}
        # Another build of the same version may be in the module cache.
        cache = pathlib.Path(inputs.run("go", "env", "GOMODCACHE").strip())
        for stale in (cache / f"{MODULE}@{version}", cache / "cache/download" / MODULE):
            shutil.rmtree(stale, ignore_errors=True)
        for step in (["mod", "init", "demo"], ["get", f"{MODULE}@{version}"], ["mod", "tidy"], ["vet", "./..."],
                     ["test", "-c", "-o", inputs.store / "demo.test", "."]):
            inputs.run("go", *step, cwd=demo, env=variables)
