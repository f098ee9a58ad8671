//! The projected volume with the service account token, mounted into every container (KEP-1205, KEP-542).

use api::tree::{children, children_mut, text};
use apimachinery::names;
use jsontree::{Value, json};
use schema::object::Object;

use crate::meta::push;

const VOLUME_PREFIX: &str = "kube-api-access-";
/// The token path that clients read.
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// One hour and seven seconds. This value marks tokens whose lifetime may be extended for clients that do not
/// reload them (upstream's `WarnOnlyBoundTokenExpirationSeconds`).
const EXPIRATION_SECONDS: i64 = 3607;

/// Mounts the token unless another volume is mounted at its path. The volume gets a random name, unless the
/// pod already has such a volume.
pub(super) fn mount(spec: &mut Object, random: &mut dyn FnMut() -> u32) {
    let existing = children(spec, "volumes").map(|volume| text(volume, "name"));
    let existing = existing.into_iter().find(|name| name.starts_with(VOLUME_PREFIX)).map(str::to_owned);
    let brings_own = existing.is_some();
    let name = existing.unwrap_or_else(|| names::generate(VOLUME_PREFIX, random));
    let mut mounted = false;
    for containers in ["initContainers", "containers"] {
        for container in children_mut(spec, containers) {
            if children(container, "volumeMounts").any(|mount| text(mount, "mountPath") == MOUNT_PATH) {
                continue;
            }
            let mount = json!({"name": name, "readOnly": true, "mountPath": MOUNT_PATH});
            push(container, &["volumeMounts"], mount);
            mounted = true;
        }
    }
    if mounted && !brings_own {
        push(spec, &["volumes"], volume(&name));
    }
}

fn volume(name: &str) -> Value {
    json!({"name": name, "projected": {
        "defaultMode": 0o644,
        "sources": [
            {"serviceAccountToken": {"path": "token", "expirationSeconds": EXPIRATION_SECONDS}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [
                {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
            ]}},
        ],
    }})
}
