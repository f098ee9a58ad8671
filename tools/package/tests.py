"""Tests of the packages.

    python3 tools/package/tests.py [DIST]

DIST is the output of `make dist`. Without it, the packages contain a stand-in for the server, and tests that need a server are
skipped. A test whose tool is missing is skipped with a message.
"""

import contextlib
import functools
import hashlib
import http.server
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest
import zipfile

import envtest
import image_archive
import npm
import provenance
import release
import wheel

PACKAGE = pathlib.Path(__file__).resolve().parent
LICENSES = "THIRD-PARTY-LICENSES.txt"
# Prints its version, or its arguments and the line of a server that is ready.
STAND_IN = r"""
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "--version")) return puts("Kubernetes VERSION COMMIT") < 0;
  for (int i = 1; i < argc; i++) puts(argv[i]);
  puts("export KUBECONFIG=/stand-in.kubeconfig");
  fflush(stdout);
  if (argc > 1 && !strcmp(argv[1], "--wait")) sleep(60);
  return 0;
}
"""
FACTS = release.load()
REAL = len(sys.argv) > 1 and pathlib.Path(sys.argv[1]).is_dir()
DIST = None


def run(*command, **options):
    """Runs a program and returns its output."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}")
    return done.stdout


def needs(program):
    """Skips a test without this program, which is searched in target/tools/bin and on PATH."""
    try:
        return release.tool(program)
    except release.Skipped as reason:
        raise unittest.SkipTest(str(reason)) from None


def made(pattern):
    """Returns the file that matches, or skips the test if the package was not built."""
    found = sorted(DIST.glob(pattern))
    if not found:
        raise unittest.SkipTest(f"{pattern} was not built")
    return found[0]


def make_dist(folder, stand_in):
    """Builds the packages of a stand-in for two architectures."""
    folder.mkdir()
    for arch in release.ARCHITECTURES:
        shutil.copy(stand_in, folder / f"kube-apiserver-linux-{arch}")
    (folder / LICENSES).write_text("licences\n")
    run(sys.executable, PACKAGE, folder)
    return folder


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def served(folder):
    """Serves a folder on a local port and returns the URL."""
    handler = functools.partial(QuietHandler, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def setUpModule():
    global DIST
    work = pathlib.Path(unittest.enterModuleContext(tempfile.TemporaryDirectory()))
    if REAL:
        DIST = pathlib.Path(sys.argv[1]).resolve()
        return
    source = work / "stand-in.c"
    source.write_text(STAND_IN.replace("VERSION", FACTS.git_version).replace("COMMIT", FACTS.commit))
    run(shutil.which("cc") or "cc", "-o", work / "stand-in", source)
    DIST = make_dist(work / "dist", work / "stand-in")


class Case(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def server_only(self):
        if not REAL:
            self.skipTest("needs a server: run tools/package/tests.py with the output of `make dist`")


class All(Case):
    def test_two_runs_give_the_same_bytes(self):
        if REAL:
            self.skipTest("runs with the stand-in only")
        again = make_dist(self.work / "again", DIST / "kube-apiserver-linux-amd64")
        digests = lambda folder: {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
        self.assertEqual(digests(DIST), digests(again))

    def test_program_prints_the_version(self):
        self.server_only()
        self.assertIn(FACTS.git_version, run(release.programs(DIST)["amd64"], "--version"))

    def test_provenance_covers_every_file(self):
        subjects = json.loads(made(provenance.NAME).read_text())["subject"]
        for subject in subjects:
            content = (DIST / subject["name"]).read_bytes()
            self.assertEqual(subject["digest"]["sha256"], hashlib.sha256(content).hexdigest(), subject["name"])
        names = {path.name for path in DIST.iterdir() if path.is_file()} - provenance.LATER
        self.assertEqual({subject["name"] for subject in subjects}, names)

    def test_program_of_another_commit_is_rejected(self):
        if not FACTS.commit:
            self.skipTest("not a clone")
        (self.work / "kube-apiserver-linux-amd64").write_text("another")
        with self.assertRaises(SystemExit):
            provenance.check_commit(FACTS, self.work)

    def test_archive_has_program_and_licences(self):
        with tarfile.open(made("mainstay-*-linux-amd64.tar.gz")) as tar:
            names = {name.split("/", 1)[1] for name in tar.getnames()}
        self.assertLessEqual({"kube-apiserver", "LICENSE", LICENSES}, names)

    def test_formula_has_the_checksum_of_each_archive(self):
        formula = made("mainstay.rb").read_text()
        self.assertNotIn("{{", formula)
        for arch in release.programs(DIST):
            archive = made(f"mainstay-*-linux-{arch}.tar.gz")
            self.assertIn(hashlib.sha256(archive.read_bytes()).hexdigest(), formula)

    def test_formula_is_ruby(self):
        run(needs("ruby"), "-c", made("mainstay.rb"))

    def test_checksums_are_signed_and_verified(self):
        minisign = needs("minisign")
        run(minisign, "-G", "-W", "-p", self.work / "public", "-s", self.work / "secret")
        (self.work / "SHA256SUMS").write_text("0  a\n")
        run(release.ROOT / "tools/sign.sh", self.work, env={**os.environ, "MINISIGN_KEY": str(self.work / "secret")})
        run(minisign, "-V", "-p", self.work / "public", "-m", self.work / "SHA256SUMS")

    def test_cosign_signs_and_verifies(self):
        cosign, config = needs("cosign"), self.work / "config.json"
        path = f"{pathlib.Path(cosign).parent}:{os.environ['PATH']}"
        variables = {**os.environ, "PATH": path, "COSIGN_PASSWORD": "", "COSIGN_YES": "true"}
        (self.work / "SHA256SUMS").write_text("0  a\n")
        run(cosign, "generate-key-pair", cwd=self.work, env=variables)
        # Without the public services.
        run(cosign, "signing-config", "create", f"--out={config}", env=variables)
        variables |= {"COSIGN_KEY": str(self.work / "cosign.key"), "COSIGN_SIGNING_CONFIG": str(config)}
        run(release.ROOT / "tools/sign.sh", self.work, env=variables)
        verify = [cosign, "verify-blob", f"--key={self.work / 'cosign.pub'}", f"--bundle={self.work / 'SHA256SUMS.sigstore.json'}",
                  "--insecure-ignore-tlog=true", self.work / "SHA256SUMS"]
        run(*verify)
        (self.work / "SHA256SUMS").write_text("1  a\n")
        self.assertNotEqual(subprocess.run(verify, capture_output=True).returncode, 0)

    def test_only_published_crates_have_package_urls(self):
        bills = [self.work / name for name in ("cdx.json", "spdx.json", "licenses")]
        run(sys.executable, release.ROOT / "tools/sbom.py", *bills)
        for crate in json.loads(bills[0].read_text())["components"]:
            self.assertEqual("purl" in crate, "hashes" in crate, crate)
        spdx = json.loads(bills[1].read_text())
        for crate in spdx["packages"]:
            self.assertEqual("externalRefs" in crate, "checksums" in crate, crate)
        ids = {crate["SPDXID"] for crate in spdx["packages"]}
        self.assertLessEqual({relation["relatedSpdxElement"] for relation in spdx["relationships"]}, ids)


class Linux(Case):
    FILES = ["etc/kubernetes/kube-apiserver.env", "usr/bin/kube-apiserver", "usr/lib/systemd/system/kube-apiserver.service",
             "usr/lib/sysusers.d/mainstay.conf", "usr/share/doc/mainstay/copyright"]

    def check_root(self):
        for name in self.FILES:
            self.assertTrue((self.work / name).is_file(), name)
        self.assertIn(FACTS.git_version, run(self.work / "usr/bin/kube-apiserver", "--version"))

    def test_deb_unpacks_into_an_empty_root(self):
        dpkg, package = needs("dpkg"), made("*-amd64.deb")
        for name in ("updates", "info"):
            (self.work / "var/lib/dpkg" / name).mkdir(parents=True)
        for name in ("status", "available"):
            (self.work / "var/lib/dpkg" / name).touch()
        run(dpkg, f"--root={self.work}", "--force-not-root", "--force-architecture", "--unpack", package)
        # Configuring the package would run its scripts, for which an empty root has no shell.
        configuration = self.work / self.FILES[0]
        configuration.with_suffix(".env.dpkg-new").rename(configuration)
        self.check_root()
        owners = {line.split()[1] for line in run("dpkg-deb", "-c", package).splitlines()}
        self.assertEqual(owners, {"root/root"})

    def test_rpm_installs_into_an_empty_root(self):
        rpm, package = needs("rpm"), made("*-amd64.rpm")
        run(rpm, f"--root={self.work}", "--install", "--nodeps", "--noscripts", "--ignorearch", package)
        self.check_root()

    def test_unit_is_hardened(self):
        analyze = needs("systemd-analyze")
        run("dpkg-deb", "-x", made("*-amd64.deb"), self.work)
        unit = self.work / self.FILES[2]
        unit.write_text(unit.read_text().replace("/usr/bin/kube-apiserver", str(self.work / self.FILES[1])))
        run(analyze, "verify", unit)
        # Exposure 2.0 of 10; systemd calls up to 2 "OK".
        run(analyze, "security", "--offline=yes", "--threshold=20", unit)

    def test_scripts_are_valid_shell(self):
        for script in (release.ROOT / "deploy/packages").glob("*.sh"):
            run("sh", "-n", script)


class Image(Case):
    def blob(self, descriptor):
        path = self.work / "blobs/sha256" / descriptor["digest"].removeprefix("sha256:")
        content = path.read_bytes()
        self.assertEqual(hashlib.sha256(content).hexdigest(), path.name)
        self.assertEqual(len(content), descriptor["size"])
        return content

    def test_every_architecture_has_an_image(self):
        with tarfile.open(made("mainstay-*-image.tar")) as tar:
            tar.extractall(self.work, filter="data")
        top = json.loads((self.work / "index.json").read_text())["manifests"][0]
        self.assertEqual(top["annotations"]["io.containerd.image.name"], f"docker.io/library/kube-apiserver:{FACTS.tag}")
        nested = top["mediaType"].endswith("index.v1+json")
        images = json.loads(self.blob(top))["manifests"] if nested else [top]
        self.assertEqual({one["platform"]["architecture"] for one in images}, set(release.programs(DIST)))
        for one in images:
            self.check_image(one)

    def check_image(self, descriptor):
        manifest = json.loads(self.blob(descriptor))
        config = json.loads(self.blob(manifest["config"]))
        self.assertEqual(config["architecture"], descriptor["platform"]["architecture"])
        self.assertEqual(config["config"]["User"], "65532:65532")
        self.assertEqual(config["config"]["Labels"], image_archive.labels(FACTS))
        packed = self.blob(manifest["layers"][0])
        (self.work / "layer").write_bytes(subprocess.run([needs("zstd"), "-dc"], input=packed, capture_output=True, check=True).stdout)
        with tarfile.open(self.work / "layer") as tar:
            programs = [member.name for member in tar if member.isfile() and member.mode & 0o111]
        self.assertEqual(programs, ["usr/local/bin/kube-apiserver"])


class Clients(Case):
    def test_wheel_installs_the_program(self):
        environment = self.work / "environment"
        run(sys.executable, "-m", "venv", environment)
        run(environment / "bin/pip", "install", "--no-index", "--no-deps", made("mainstay_testserver-*-py3-none-*x86_64.whl"))
        run(environment / "bin/kube-apiserver", "--version")
        run(environment / "bin/python", "-c", "import mainstay_testserver as m; assert m._program().startswith(m.sysconfig.get_path('scripts'))")

    def test_fixture_starts_the_server(self):
        self.server_only()
        if not importlib.util.find_spec("pytest"):
            self.skipTest("pytest is missing")
        environment = self.work / "environment"
        run(sys.executable, "-m", "venv", "--system-site-packages", environment)
        run(environment / "bin/pip", "install", "--no-index", "--no-deps", made("mainstay_testserver-*-py3-none-*x86_64.whl"))
        variables = {name: value for name, value in os.environ.items() if name != "MAINSTAY_TESTSERVER"}
        run(environment / "bin/python", "-m", "pytest", wheel.SOURCE / "tests", "-p", "no:cacheprovider", env=variables)

    def test_wheel_lists_its_files(self):
        with zipfile.ZipFile(made("mainstay_testserver-*-py3-none-*x86_64.whl")) as archive:
            record = next(name for name in archive.namelist() if name.endswith("RECORD"))
            listed = {line.rsplit(",", 2)[0] for line in archive.read(record).decode().splitlines()}
            self.assertEqual(listed, set(archive.namelist()))

    def install_npm(self):
        version = json.loads((npm.SOURCE / "package.json").read_text())["version"]
        packages = [made(f"mainstay-testserver-linux-x64-{version}.tgz"), made(f"mainstay-testserver-{version}.tgz")]
        run(needs("npm"), "install", "--offline", "--no-audit", "--no-fund", f"--cache={self.work / 'cache'}", *packages, cwd=self.work)

    def test_npm_package_finds_the_program(self):
        self.install_npm()
        script = "import { startServer } from 'mainstay-testserver'; startServer().catch(e => console.log(e.message))"
        if REAL:
            script = "import { startServer } from 'mainstay-testserver'; await (await startServer()).stop()"
        printed = run(needs("node"), "--input-type=module", "-e", script, cwd=self.work)
        self.assertEqual(printed.strip(), "" if REAL else "the test server did not start:")

    def test_npm_package_forks(self):
        self.server_only()
        self.install_npm()
        shutil.copytree(npm.SOURCE / "test", self.work / "test")
        run(needs("node"), "--test", "test/", cwd=self.work)

    def test_go_module_resolves(self):
        go = needs("go")
        with tarfile.open(made("mainstay-*-goproxy.tar.gz")) as tar:
            tar.extractall(self.work, filter="data")
        variables = {**os.environ, "GOPROXY": f"file://{self.work}/goproxy", "GONOSUMDB": "*", "GOFLAGS": "-modcacherw",
                     "GOMODCACHE": str(self.work / "cache"), "GO111MODULE": "on"}
        info = json.loads(run(go, "mod", "download", "-json", f"mainstay.dev/testserver@v{FACTS.version}", env=variables, cwd=self.work))
        self.assertTrue(os.path.exists(os.path.join(info["Dir"], "environment.go")))

    def test_crate_has_licence_and_sources(self):
        with tarfile.open(made("mainstay-testserver-*.crate")) as tar:
            names = {name.split("/", 1)[1] for name in tar.getnames()}
        self.assertLessEqual({"Cargo.toml", "README.md", "src/lib.rs"}, names)


class Envtest(Case):
    def unpack(self):
        with tarfile.open(made("envtest-v*-linux-amd64.tar.gz")) as tar:
            tar.extractall(self.work, filter="data")
        return self.work / envtest.FOLDER

    def test_setup_envtest_installs_the_archive(self):
        tool = needs("setup-envtest")
        with served(DIST) as url:
            # The same archives, at the address of this server.
            index = json.loads(made("envtest-releases.yaml").read_text())
            for archives in index["releases"].values():
                for name, archive in archives.items():
                    archive["selfLink"] = f"{url}/{name}"
            (self.work / "index").mkdir()
            (self.work / "index/index.yaml").write_text(json.dumps(index))
            with served(self.work / "index") as indexes:
                minor = FACTS.kubernetes.rsplit(".", 1)[0]
                folder = run(tool, "use", minor, "--index", f"{indexes}/index.yaml", "--bin-dir", self.work / "bin", "--os", "linux",
                             "--arch", "amd64", "-p", "path").strip()
        self.assertEqual(set(os.listdir(folder)), {"mainstay", "kube-apiserver", "etcd"})

    def test_server_keeps_objects_in_memory(self):
        if REAL:
            self.skipTest("runs with the stand-in only")
        folder = self.unpack()
        printed = run(folder / "kube-apiserver", "--etcd-servers=http://127.0.0.1:1", "--secure-port=1", "--x=a b")
        self.assertEqual(printed.splitlines()[:3], ["--embedded-in-memory", "--secure-port=1", "--x=a b"])
        self.assertEqual(run(folder / "etcd", "--data-dir=a b").splitlines()[:2], ["etcd-stub", "--data-dir=a b"])
        self.assertEqual(run(folder / "kube-apiserver", "testserver", "--v=1").splitlines()[:2], ["testserver", "--v=1"])


    def test_envtest_runs_without_etcd(self):
        self.server_only()
        go = needs("go")
        variables = {**os.environ, "KUBEBUILDER_ASSETS": str(self.unpack())}
        printed = run(go, "run", "-mod=mod", "./archive", cwd=release.ROOT / "e2e/controller-runtime", env=variables)
        self.assertEqual(printed.splitlines()[-1], "ok")


class Arm64(Case):
    def test_server_creates_a_namespace(self):
        self.server_only()
        program = release.programs(DIST).get("arm64")
        if not program:
            self.skipTest("DIST has no program for arm64")
        command = [needs("qemu-aarch64"), program, "--embedded-in-memory", "--secure-port=16445"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                line = next(line for line in server.stdout if line.startswith("export KUBECONFIG="))
                variables = {**os.environ, "KUBECONFIG": line.strip().split("=", 1)[1]}
                created = run(needs("kubectl"), "create", "namespace", "qemu", env=variables)
                self.assertEqual(created, "namespace/qemu created\n")
            finally:
                server.terminate()


class Deploy(Case):
    def helm(self, command, *arguments):
        # A helm that `go install` built has an old release of Kubernetes as its default.
        version = f"--kube-version={FACTS.kubernetes}"
        words = [needs("helm"), *command, made("mainstay-chart-*.tgz"), version, *arguments]
        return subprocess.run(words, capture_output=True, text=True)

    def render(self, *arguments):
        return self.helm(["template", "cp"], *arguments)

    def test_chart_passes_lint(self):
        done = self.helm(["lint", "--strict"], "--set=image.repository=r/k", "--set=etcd.servers={https://a:2379}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_chart_renders(self):
        done = self.render("--set=image.repository=r/k", "--set=etcd.servers={https://a:2379,https://b:2379}",
                           "--set=serviceMonitor.enabled=true", "--set=flags.goaway-chance=null")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f'image: "r/k:{FACTS.tag}"', done.stdout)
        self.assertIn("--etcd-servers=https://a:2379,https://b:2379", done.stdout)
        self.assertIn("kind: ServiceMonitor", done.stdout)
        self.assertNotIn("goaway-chance", done.stdout)

    def test_chart_requires_an_etcd(self):
        done = self.render("--set=image.repository=r/k")
        self.assertIn("etcd.servers is required", done.stderr)

    def test_action_starts_the_server(self):
        archive = made("mainstay-*-linux-amd64.tar.gz")
        mirror = self.work / "mirror"
        mirror.mkdir()
        shutil.copy(archive, mirror)
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
        (mirror / "SHA256SUMS").write_text(f"{digest}  {archive.name}\n")
        done = self.start_action(mirror, "--embedded-in-memory --secure-port=16444" if REAL else "--wait")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex((self.work / "env").read_text(), "^KUBECONFIG=/.*kubeconfig\n$")
        # The server outlives the script.
        pid = dict(line.split("=") for line in (self.work / "output").read_text().splitlines())["pid"]
        os.kill(int(pid), signal.SIGTERM)

    def test_action_rejects_a_wrong_checksum(self):
        archive = made("mainstay-*-linux-amd64.tar.gz")
        mirror = self.work / "mirror"
        mirror.mkdir()
        shutil.copy(archive, mirror)
        (mirror / "SHA256SUMS").write_text(f"{'0' * 64}  {archive.name}\n")
        self.assertIn("checksum did NOT match", self.start_action(mirror, "--wait").stdout)
        self.assertFalse((self.work / "output").exists())

    def start_action(self, mirror, flags):
        with served(mirror) as url:
            variables = {**os.environ, "URL": url, "VERSION": FACTS.version, "FLAGS": flags, "RUNNER_TEMP": str(self.work),
                         **{f"GITHUB_{name}": str(self.work / name.lower()) for name in ("ENV", "OUTPUT", "PATH")}}
            return subprocess.run([release.ROOT / "deploy/action/start.sh"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, env=variables, timeout=120)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
