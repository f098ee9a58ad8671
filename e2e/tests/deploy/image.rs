//! The container image: built without a container engine, unpacked, and its program run as an unprivileged
//! user in a read-only root.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use e2e::process::{self, Finished, Lines};
use e2e::tools;
use serde_json::Value;
use tempfile::TempDir;

const LIMIT: Duration = Duration::from_secs(300);
const READY: &str = "export KUBECONFIG=";
/// User and program in the Containerfile.
const USER: &str = "65532:65532";
const PROGRAM: &str = "/usr/local/bin/kube-apiserver";

fn run(command: &mut Command) -> Finished {
    let done = process::run(command, "", LIMIT);
    assert!(done.status.success(), "{command:?}: {done:?}");
    done
}

/// Creates a directory like `make dist`, with the server under test. A dynamically linked server's libraries
/// are added to the image root.
fn make_root(dir: &Path) {
    let dist = dir.join("dist");
    let root = dir.join("made");
    std::fs::create_dir(&dist).unwrap();
    let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let program = dist.join(format!("kube-apiserver-linux-{arch}"));
    run(Command::new("strip").arg("-o").arg(program).arg(tools::apiserver()));
    std::fs::write(dist.join("THIRD-PARTY-LICENSES.txt"), "").unwrap();
    let tool = |name: &str| tools::root().join("tools").join(name);
    run(Command::new(tool("image-root.sh")).arg(&dist).arg(&root));
    let linked = process::run(Command::new("ldd").arg(tools::apiserver()), "", LIMIT);
    let words = linked.stdout.split_whitespace().filter(|word| word.starts_with('/'));
    for library in words.filter(|_| linked.status.success()) {
        let to = root.join(library.trim_start_matches('/'));
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(library, to).unwrap();
    }
    // A fast compression, because the program has no optimizations and is large.
    let mut archive = Command::new(tool("package/image_archive.py"));
    run(archive.arg(&root).arg(dir.join("image.tar")).env("ZSTD_CLEVEL", "1"));
}

/// Reads a blob of an unpacked archive and verifies its digest.
fn blob(image: &Path, described: &Value) -> (std::path::PathBuf, Vec<u8>) {
    let digest = described["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
    let path = image.join("blobs/sha256").join(digest);
    let sum = run(Command::new("sha256sum").arg(&path)).stdout;
    assert!(sum.starts_with(digest), "{digest} {sum}");
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(described["size"], bytes.len());
    (path, bytes)
}

/// Unpacks an archive's layer. Returns the image's run configuration.
fn unpack(dir: &Path, root: &Path) -> Value {
    let image = dir.join("image");
    std::fs::create_dir_all(&image).unwrap();
    run(Command::new("tar").arg("-xf").arg(dir.join("image.tar")).arg("-C").arg(&image));
    let index: Value = serde_json::from_slice(&std::fs::read(image.join("index.json")).unwrap()).unwrap();
    let manifest: Value = serde_json::from_slice(&blob(&image, &index["manifests"][0]).1).unwrap();
    assert_eq!(manifest["layers"].as_array().unwrap().len(), 1);
    let (layer, _) = blob(&image, &manifest["layers"][0]);
    std::fs::create_dir_all(root).unwrap();
    run(Command::new("tar").args(["--zstd", "-xf"]).arg(layer).arg("-C").arg(root));
    let config: Value = serde_json::from_slice(&blob(&image, &manifest["config"]).1).unwrap();
    config["config"].clone()
}

#[test]
fn image_runs_unprivileged_with_read_only_root() {
    let dir = TempDir::new().unwrap();
    let root = dir.path().join("root");
    make_root(dir.path());
    let config = unpack(dir.path(), &root);
    assert_eq!(config["User"], USER);
    assert_eq!(config["Entrypoint"], serde_json::json!([PROGRAM]));

    // Mount points that an engine provides.
    for name in ["data", "proc"] {
        std::fs::create_dir(root.join(name)).unwrap();
    }
    let is_root = rustix::process::geteuid().is_root();
    // Without root privileges, use a user namespace, where root maps to the current user.
    let unshare: &[&str] = if is_root { &["-m"] } else { &["-m", "-U", "-r"] };
    let user = if is_root { format!("--userspec={USER}") } else { String::new() };
    let allowed = Command::new("unshare").args(unshare).arg("true").output();
    if !allowed.is_ok_and(|done| done.status.success()) {
        println!("namespaces are not allowed here: the image is not run");
        return;
    }
    let port = tools::free_port();
    let script = format!(
        "set -e; mount --bind . .; cd \"$PWD\"; mount -o remount,bind,ro .; mount -t tmpfs -o mode=1777 tmpfs data; \
         mount --rbind /proc proc; exec chroot {user} . {PROGRAM} --bind-address=127.0.0.1 --secure-port={port} \
         --cert-dir=/data/pki --embedded-data-dir=/data/store"
    );
    let mut command = Command::new("unshare");
    command.args(unshare).args(["sh", "-c", &script]).current_dir(&root).env_clear();
    for variable in config["Env"].as_array().unwrap() {
        let (name, value) = variable.as_str().unwrap().split_once('=').unwrap();
        let value = if name == "PATH" { "/usr/bin:/bin:/usr/sbin:/sbin" } else { value };
        command.env(name, value);
    }
    let mut server = Lines::start(&mut command);
    let ready = server.find(LIMIT, |line| line.starts_with(READY));
    assert!(ready.is_some(), "the image's program becomes ready");
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child().id())).unwrap();
    let uids = status.lines().find(|line| line.starts_with("Uid:")).unwrap();
    assert!(!is_root || uids.split_whitespace().skip(1).all(|uid| uid == "65532"), "{uids}");
    // Only the mounted directory was written, which disappears with its namespace.
    let data = std::fs::read_dir(root.join("data")).unwrap().count();
    assert_eq!(data, 0);
}
