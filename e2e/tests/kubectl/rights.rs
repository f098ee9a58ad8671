//! Permissions, queried and changed with `kubectl`, under RBAC.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use e2e::Server;
use serde_json::json;

/// Returns a CertificateSigningRequest for a signer.
fn request(name: &str, signer: &str) -> String {
    let key = rcgen::KeyPair::generate().unwrap();
    let csr = rcgen::CertificateParams::new(Vec::new()).unwrap().serialize_request(&key).unwrap();
    json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name},
        "spec": {"request": STANDARD.encode(csr.pem().unwrap()), "signerName": signer, "usages": ["client auth"]},
    })
    .to_string()
}

#[test]
fn user_can_do_only_granted_actions() {
    let server = Server::start_flagged(&["--authorization-mode=RBAC"]);
    let kubectl = server.kubectl();
    let csrs = "certificatesigningrequests";
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "approver"},
        "rules": [
            {"apiGroups": ["certificates.k8s.io"], "resources": [csrs], "verbs": ["get", "list"]},
            {"apiGroups": ["certificates.k8s.io"], "resources": [format!("{csrs}/approval")], "verbs": ["update"]},
            {
                "apiGroups": ["certificates.k8s.io"], "resources": ["signers"],
                "resourceNames": ["example.com/own"], "verbs": ["approve"],
            },
        ],
    });
    let first = kubectl.ok_with("auth reconcile -f -", &role.to_string());
    assert!(first.contains("clusterrole.rbac.authorization.k8s.io/approver reconciled"), "{first}");
    kubectl.ok("create clusterrolebinding approver --clusterrole=approver --user=bob");

    let list = kubectl.ok("auth can-i --list --as=bob");
    let line = |resource: &str| list.lines().find(|line| line.starts_with(resource)).map(str::to_owned);
    assert!(
        line("signers.certificates.k8s.io").is_some_and(|line| line.contains("example.com/own")),
        "{list}"
    );
    assert!(line("pods").is_none(), "{list}");
    assert_eq!(kubectl.ok("auth can-i get certificatesigningrequests --as=bob").trim(), "yes");
    assert!(!kubectl.run("auth can-i delete pods --as=bob", "").status.success());

    for (name, signer) in [("own", "example.com/own"), ("other", "example.com/other")] {
        kubectl.ok_with("create -f -", &request(name, signer));
    }
    kubectl.ok("certificate approve own --as=bob");
    let refused = kubectl.fails("certificate approve other --as=bob");
    assert!(
        refused.contains("not permitted to approve requests with signerName \"example.com/other\""),
        "{refused}"
    );
}
