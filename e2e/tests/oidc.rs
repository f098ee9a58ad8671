//! Users of an OpenID provider (`oidc-provider-mock` from PyPI) through `kubectl`: with a token, and with an
//! exec credential plugin.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use e2e::process::Lines;
use e2e::{Kubectl, Server, tools};

const LIMIT: Duration = Duration::from_secs(60);
const ALICE: &str =
    r#"{"sub": "alice", "email": "alice@example.org", "email_verified": true, "groups": ["dev"]}"#;
const RULE: &str = "create clusterrole reader --verb=list --resource=configmaps";

/// A provider on a port. Each start generates new keys.
struct Provider {
    _process: Lines,
    /// Alice's token.
    token: String,
}

impl Provider {
    fn start(port: u16, dir: &Path) -> Self {
        let python = tools::target().join("tools/oidc/bin/python");
        assert!(python.exists(), "these tests need oidc-provider-mock: run tools/fetch-tools.sh oidc");
        let process = Lines::start(
            Command::new(python)
                .arg(tools::root().join("e2e/oidc/provider.py"))
                .arg(port.to_string())
                .args([dir.join("provider.crt"), dir.join("provider.key")])
                .arg(ALICE),
        );
        let line =
            process.find(LIMIT, |line| line.starts_with("token ")).expect("the provider gives a token");
        Provider { _process: process, token: line["token ".len()..].to_owned() }
    }
}

/// Creates a self-signed certificate for 127.0.0.1.
fn certify(dir: &Path) -> PathBuf {
    let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    fs::write(dir.join("provider.key"), certified.signing_key.serialize_pem()).unwrap();
    fs::write(dir.join("provider.crt"), certified.cert.pem()).unwrap();
    dir.join("provider.crt")
}

/// Returns `kubectl` with the credentials in `user`.
fn kubectl_as(server: &Server, dir: &Path, user: &serde_json::Value) -> Kubectl {
    let admin = fs::read_to_string(server.kubeconfig()).unwrap();
    let mut config: serde_json::Value = serde_json::from_str(&admin).unwrap();
    config["users"][0]["user"] = user.clone();
    let path = dir.join("kubeconfig");
    fs::write(&path, config.to_string()).unwrap();
    Kubectl::new(&path, dir)
}

/// Creates a credential plugin that returns a token, in kubectl's format.
fn plugin(dir: &Path, token: &str) -> PathBuf {
    let path = dir.join("plugin");
    let credential = serde_json::json!({
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": token},
    });
    fs::write(&path, format!("#!/bin/sh\ncat <<'END'\n{credential}\nEND\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn oidc_users_authenticate_across_key_rotation() {
    let dir = tempfile::tempdir().unwrap();
    let authority = certify(dir.path());
    let port = tools::free_port();
    let first = Provider::start(port, dir.path());
    let server = Server::start_flagged(&[
        "--authorization-mode=RBAC",
        &format!("--oidc-issuer-url=https://127.0.0.1:{port}"),
        "--oidc-client-id=kubernetes",
        &format!("--oidc-ca-file={}", authority.display()),
        "--oidc-username-claim=email",
        "--oidc-groups-claim=groups",
        "--oidc-groups-prefix=oidc:",
    ]);
    server.allow_log("oidc");
    let admin = server.kubectl();
    admin.ok(RULE);
    admin.ok("create clusterrolebinding readers --clusterrole=reader --group=oidc:dev");

    let alice = kubectl_as(&server, dir.path(), &serde_json::json!({"token": first.token}));
    let review = alice.ok("auth whoami -o json");
    assert!(review.contains("alice@example.org") && review.contains("oidc:dev"), "{review}");
    alice.ok("get configmaps -A");
    let refused = alice.fails("get secrets -A");
    assert!(refused.contains("User \"alice@example.org\" cannot list resource \"secrets\""), "{refused}");

    // A restart has new keys; the old ones are gone.
    drop(first);
    let second = Provider::start(port, dir.path());
    let exec = serde_json::json!({
        "apiVersion": "client.authentication.k8s.io/v1", "command": plugin(dir.path(), &second.token),
        "interactiveMode": "Never",
    });
    let alice = kubectl_as(&server, dir.path(), &serde_json::json!({"exec": exec}));
    let review = alice.ok("auth whoami -o json");
    assert!(review.contains("alice@example.org"), "{review}");

    let stranger =
        kubectl_as(&server, dir.path(), &serde_json::json!({"token": format!("{}x", second.token)}));
    let refused = stranger.fails("auth whoami");
    assert!(refused.contains("Unauthorized") || refused.contains("logged in"), "{refused}");
}
