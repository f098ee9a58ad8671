//! `--authorization-*`: the authorizers.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use authorization::Mode;
use authorization::config::{Configuration, WebhookConfiguration};
use authorization::webhook::{Conditions, Options, Version};
use controlplane::config::{AuthorizationConfig, ConfigurationFile};

use super::error::OptionError;
use super::{duration, is_standalone, path};
use crate::flags::Flags;

const FILE: &str = "authorization-config";
const WEBHOOK_FILE: &str = "authorization-webhook-config-file";

/// Flags that conflict with an authorization configuration file.
const CONFLICTING_FLAGS: [&str; 5] = [
    "authorization-mode",
    WEBHOOK_FILE,
    "authorization-webhook-version",
    "authorization-webhook-cache-authorized-ttl",
    "authorization-webhook-cache-unauthorized-ttl",
];

/// Timeout of the webhook that flags configure, in seconds.
const WEBHOOK_TIMEOUT_SECONDS: u64 = 30;

/// Builds the configuration; `None` if the flags are invalid.
pub(super) fn config(flags: &Flags) -> Option<AuthorizationConfig> {
    let policy_file = path(flags, "authorization-policy-file");
    if let Some(path) = path(flags, FILE) {
        let (configuration, text) = read(&path).ok()?;
        let file = Some(ConfigurationFile { path, text });
        return Some(AuthorizationConfig { configuration, file, policy_file });
    }
    let webhook = webhook(flags);
    let configuration = Configuration::of_modes(&modes(flags), webhook.as_ref());
    Some(AuthorizationConfig { configuration, file: None, policy_file })
}

/// True if a flag names the authorizers.
pub(super) fn is_configured(flags: &Flags) -> bool {
    flags.is_set("authorization-mode") || flags.optional(FILE).is_some()
}

/// Returns the modes of the flag. Upstream's default allows everything, which remains on etcd. Empty if a file
/// configures the authorizers.
fn modes(flags: &Flags) -> Vec<Mode> {
    match (flags.is_set("authorization-mode"), flags.optional(FILE)) {
        (false, Some(_)) => Vec::new(),
        (false, None) if is_standalone(flags) => vec![Mode::Node, Mode::Rbac],
        (false, None) => vec![Mode::AlwaysAllow],
        (true, _) => flags.list("authorization-mode").iter().filter_map(|name| Mode::parse(name)).collect(),
    }
}

/// Returns true if the flags allow everything to everyone.
pub(super) fn allows_everything(flags: &Flags) -> bool {
    modes(flags).contains(&Mode::AlwaysAllow)
}

fn webhook(flags: &Flags) -> Option<WebhookConfiguration> {
    Some(WebhookConfiguration {
        kubeconfig: path(flags, WEBHOOK_FILE)?,
        timeout: Duration::from_secs(WEBHOOK_TIMEOUT_SECONDS),
        options: Options {
            version: Version::parse(flags.text("authorization-webhook-version"))?,
            authorized_ttl: duration(flags, "authorization-webhook-cache-authorized-ttl"),
            unauthorized_ttl: duration(flags, "authorization-webhook-cache-unauthorized-ttl"),
            deny_on_error: false,
            conditions: Conditions::default(),
        },
    })
}

fn read(path: &PathBuf) -> Result<(Configuration, Vec<u8>), OptionError> {
    let text = fs::read(path).map_err(|source| {
        let reason = match source.kind() {
            ErrorKind::NotFound => "no such file or directory".to_owned(),
            _ => source.to_string(),
        };
        OptionError::File { message: format!("open {}: {reason}", path.display()), source }
    })?;
    Ok((Configuration::parse(&text, &BTreeSet::new())?, text))
}

/// Checks the flags, with upstream's error texts.
pub(super) fn errors(flags: &Flags, errors: &mut Vec<String>) {
    if let Some(path) = path(flags, FILE) {
        if CONFLICTING_FLAGS.iter().any(|name| flags.is_set(name)) {
            errors.push(format!(
                "--{FILE} can not be specified when --authorization-mode or --authorization-webhook-* flags are defined"
            ));
        } else {
            errors.extend(read(&path).err().map(|error| error.to_string()));
        }
        return;
    }
    let names = flags.list("authorization-mode");
    if flags.is_set("authorization-mode") && names.is_empty() {
        errors.push("at least one authorization-mode must be passed".to_owned());
    }
    let policies = flags.optional("authorization-policy-file");
    let webhook = flags.optional(WEBHOOK_FILE);
    for name in &names {
        match Mode::parse(name) {
            None => errors.push(format!("authorization-mode {name:?} is not a valid mode")),
            Some(Mode::Abac) if policies.is_none() => {
                errors.push("authorization-mode ABAC's authorization policy file not passed".to_owned());
            }
            Some(Mode::Webhook) if webhook.is_none() => {
                errors.push("authorization-mode Webhook's authorization config file not passed".to_owned());
            }
            Some(_) => {}
        }
    }
    let has = |mode: &str| names.iter().any(|name| name == mode);
    if policies.is_some() && !has("ABAC") {
        errors.push("cannot specify --authorization-policy-file without mode ABAC".to_owned());
    }
    if webhook.is_some() && !has("Webhook") {
        errors.push("cannot specify --authorization-webhook-config-file without mode Webhook".to_owned());
    }
    if names.iter().collect::<BTreeSet<_>>().len() < names.len() {
        let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
        errors.push(format!("authorization-mode [{}] has mode specified more than once", names.join(" ")));
    }
    let version = flags.text("authorization-webhook-version");
    if has("Webhook") && Version::parse(version).is_none() {
        errors.push(format!(
            "unsupported webhook authorizer version {version:?}, supported versions are \"v1\", \"v1beta1\""
        ));
    }
}
