//! Checks the secrets of a pod against those that its service account lists.

use api::tree::{child, children, text};
use schema::object::Object;

use crate::error::RejectionReason;
use crate::meta;

/// Rejects the first secret of a pod that its account does not list.
pub(super) fn check(account: &Object, spec: &Object) -> Result<(), RejectionReason> {
    let of = text_of_account(account);
    for volume in children(spec, "volumes") {
        let Some(secret) = child(volume, "secret") else { continue };
        let name = text(secret, "secretName");
        if !lists(account, "secrets", name) {
            return Err(RejectionReason(format!(
                "volume with secret.secretName=\"{name}\" is not allowed because {of} that secret"
            )));
        }
    }
    for (list, word) in meta::CONTAINER_LISTS.iter().filter(|(list, _)| *list != "ephemeralContainers") {
        check_containers(account, spec, list, word)?;
    }
    for (i, secret) in children(spec, "imagePullSecrets").enumerate() {
        let name = text(secret, "name");
        if !lists(account, "imagePullSecrets", name) {
            return Err(RejectionReason(format!(
                "imagePullSecrets[{i}].name=\"{name}\" is not allowed because {of} that imagePullSecret"
            )));
        }
    }
    Ok(())
}

/// Checks the secrets of ephemeral containers, which are added later.
pub(super) fn check_ephemeral(account: &Object, spec: &Object) -> Result<(), RejectionReason> {
    check_containers(account, spec, "ephemeralContainers", "ephemeral container")
}

fn check_containers(account: &Object, spec: &Object, list: &str, word: &str) -> Result<(), RejectionReason> {
    let of = text_of_account(account);
    for container in children(spec, list) {
        let called = text(container, "name");
        for env in children(container, "env") {
            let Some(name) = env_secret(env) else { continue };
            if !lists(account, "secrets", name) {
                return Err(RejectionReason(format!(
                    "{word} {called} with envVar {} referencing secret.secretName=\"{name}\" is not allowed because {of} that secret",
                    text(env, "name")
                )));
            }
        }
        for secret in children(container, "envFrom").filter_map(|env| child(env, "secretRef")) {
            let name = text(secret, "name");
            if !lists(account, "secrets", name) {
                return Err(RejectionReason(format!(
                    "{word} {called} with envFrom referencing secret.secretName=\"{name}\" is not allowed because {of} that secret"
                )));
            }
        }
    }
    Ok(())
}

fn env_secret(env: &Object) -> Option<&str> {
    Some(text(child(child(env, "valueFrom")?, "secretKeyRef")?, "name"))
}

fn lists(account: &Object, member: &str, name: &str) -> bool {
    children(account, member).any(|secret| text(secret, "name") == name)
}

fn text_of_account(account: &Object) -> String {
    format!("service account {} does not reference", meta::text(account, "name"))
}
