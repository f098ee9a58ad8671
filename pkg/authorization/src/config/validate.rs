//! Validates an `AuthorizationConfiguration` (upstream's apiserver `apis/apiserver/validation`).

use std::fs;
use std::io::ErrorKind;
use std::path::{Path as FilePath, PathBuf};
use std::time::Duration;

use apimachinery::field::{BadValue, Error, Path};
use apimachinery::names::name_is_dns_subdomain;
use apimachinery::time::format_duration;
use jsontree::json;

use super::decode::{Authorizer, File, Webhook};
use super::{AuthorizerConfig, Configuration, WebhookConfiguration};
use crate::Mode;
use crate::webhook::{Conditions, Options, Version};

/// Maximum timeout of a webhook in nanoseconds.
const TIMEOUT_MAX_NANOS: i64 = 30 * 1_000_000_000;

/// Builds the configuration of a file.
///
/// # Errors
/// All errors in the file.
pub(super) fn checked(file: &File) -> Result<Configuration, Vec<Error>> {
    let mut errors = Vec::new();
    let list = Path::root("authorizers");
    if file.authorizers.is_empty() {
        errors.push(Error::required(&list, "at least one authorization mode must be defined"));
    }
    let mut authorizers: Vec<AuthorizerConfig> = Vec::new();
    for (index, authorizer) in file.authorizers.iter().enumerate() {
        let path = list.index(index);
        let Some(mode) = mode(authorizer, &authorizers, &path, &mut errors) else { continue };
        errors.extend(name_error(&authorizer.name, &authorizers, &path.child("name")));
        let webhook = match (mode, &authorizer.webhook) {
            (Mode::Webhook, Some(webhook)) => of_webhook(webhook, &path, &mut errors),
            (Mode::Webhook, None) => {
                errors.push(Error::required(&path.child("webhook"), "required when type=Webhook"));
                None
            }
            (_, Some(_)) => {
                let detail = "may only be specified when type=Webhook";
                errors.push(Error::invalid(&path.child("webhook"), "non-null", detail));
                None
            }
            (_, None) => None,
        };
        authorizers.push(AuthorizerConfig { mode, name: authorizer.name.clone(), webhook });
    }
    if errors.is_empty() { Ok(Configuration { authorizers }) } else { Err(errors) }
}

fn mode(
    authorizer: &Authorizer,
    before: &[AuthorizerConfig],
    path: &Path<'_>,
    errors: &mut Vec<Error>,
) -> Option<Mode> {
    let at = path.child("type");
    let name = authorizer.mode.as_str();
    if name.is_empty() {
        errors.push(Error::required(&at, ""));
        return None;
    }
    let Some(mode) = Mode::parse(name) else {
        let mut supported = Mode::ALL.map(Mode::name);
        supported.sort_unstable();
        errors.push(Error::not_supported(&at, name, &supported));
        return None;
    };
    if mode != Mode::Webhook && before.iter().any(|other| other.mode == mode) {
        errors.push(Error::duplicate(&at, name));
        return None;
    }
    Some(mode)
}

fn name_error(name: &str, before: &[AuthorizerConfig], at: &Path<'_>) -> Option<Error> {
    if name.is_empty() {
        return Some(Error::required(at, ""));
    }
    if before.iter().any(|other| other.name == name) {
        return Some(Error::duplicate(at, name));
    }
    let wrong = name_is_dns_subdomain(name, false);
    let detail = || format!("authorizer name is invalid: {}", wrong.join(", "));
    (!wrong.is_empty()).then(|| Error::invalid(at, name, detail()))
}

/// Builds a webhook's configuration; `None` if it contains an error.
fn of_webhook(webhook: &Webhook, path: &Path<'_>, errors: &mut Vec<Error>) -> Option<WebhookConfiguration> {
    let before = errors.len();
    times(webhook, path, errors);
    let version = version(webhook, path, errors);
    match webhook.failure_policy.as_str() {
        "NoOpinion" | "Deny" => {}
        "" => errors.push(Error::required(&path.child("failurePolicy"), "")),
        other => {
            errors.push(Error::not_supported(&path.child("failurePolicy"), other, &["NoOpinion", "Deny"]));
        }
    }
    let kubeconfig = kubeconfig(webhook, &path.child("connectionInfo"), errors);
    let conditions = Conditions::compile(&webhook.conditions, &path.child("matchConditions"), errors);
    if errors.len() > before {
        return None;
    }
    let cached = |nanos: i64, cached: bool| if cached { nanos_of(nanos) } else { Duration::ZERO };
    Some(WebhookConfiguration {
        kubeconfig: kubeconfig?,
        timeout: nanos_of(webhook.timeout),
        options: Options {
            version: version?,
            authorized_ttl: cached(webhook.authorized_ttl, webhook.cache_authorized),
            unauthorized_ttl: cached(webhook.unauthorized_ttl, webhook.cache_unauthorized),
            deny_on_error: webhook.failure_policy == "Deny",
            conditions,
        },
    })
}

fn nanos_of(nanos: i64) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
}

fn times(webhook: &Webhook, path: &Path<'_>, errors: &mut Vec<Error>) {
    let at = path.child("timeout");
    if webhook.timeout == 0 {
        errors.push(Error::required(&at, ""));
    } else if !(1..=TIMEOUT_MAX_NANOS).contains(&webhook.timeout) {
        let detail = "must be > 0s and <= 30s";
        errors.push(Error::invalid(&at, format_duration(webhook.timeout), detail));
    }
    let ttls = [("authorizedTTL", webhook.authorized_ttl), ("unauthorizedTTL", webhook.unauthorized_ttl)];
    for (name, nanos) in ttls {
        if nanos < 0 {
            errors.push(Error::invalid(&path.child(name), format_duration(nanos), "must be > 0s"));
        }
    }
}

fn version(webhook: &Webhook, path: &Path<'_>, errors: &mut Vec<Error>) -> Option<Version> {
    let at = path.child("subjectAccessReviewVersion");
    let version = Version::parse(&webhook.version);
    match webhook.version.as_str() {
        "" => errors.push(Error::required(&at, "")),
        other if version.is_none() => errors.push(Error::not_supported(&at, other, &["v1", "v1beta1"])),
        _ => {}
    }
    let at = path.child("matchConditionSubjectAccessReviewVersion");
    match webhook.condition_version.as_str() {
        "v1" => {}
        "" if webhook.conditions.is_empty() => {}
        "" => errors.push(Error::required(&at, "required if match conditions are specified")),
        other => errors.push(Error::not_supported(&at, other, &["v1"])),
    }
    version
}

/// Returns the kubeconfig file of a webhook. Upstream also accepts `InClusterConfig`, but its server cannot
/// start with it.
fn kubeconfig(webhook: &Webhook, path: &Path<'_>, errors: &mut Vec<Error>) -> Option<PathBuf> {
    let at = path.child("kubeConfigFile");
    let at_type = path.child("type");
    let file = webhook.kubeconfig.as_deref();
    match webhook.connection.as_str() {
        "" => errors.push(Error::required(&at_type, "")),
        "InClusterConfig" => {
            if let Some(file) = file {
                errors.push(Error::invalid(&at, file, "can only be set when type=KubeConfigFile"));
            }
            errors.push(Error::invalid(&at_type, "InClusterConfig", "is not possible for this server"));
        }
        "KubeConfigFile" => match file.filter(|file| !file.is_empty()) {
            None => errors.push(Error::required(&at, "")),
            Some(file) => match unusable(FilePath::new(file)) {
                None => return Some(PathBuf::from(file)),
                Some(detail) => errors.push(Error::invalid(&at, file, detail)),
            },
        },
        other => {
            let kind = json!(other);
            let file = json!(file);
            let shown = BadValue::Plain(format!("{{\"Type\":{kind},\"KubeConfigFile\":{file}}}"));
            errors.push(Error::not_supported(&at_type, shown, &["InClusterConfig", "KubeConfigFile"]));
        }
    }
    None
}

fn unusable(file: &FilePath) -> Option<String> {
    if !file.is_absolute() {
        return Some("must be an absolute path".to_owned());
    }
    match fs::metadata(file) {
        Ok(metadata) if metadata.is_file() => None,
        Ok(_) => Some("must be a regular file".to_owned()),
        Err(error) => {
            let reason = match error.kind() {
                ErrorKind::NotFound => "no such file or directory".to_owned(),
                ErrorKind::PermissionDenied => "permission denied".to_owned(),
                _ => error.to_string(),
            };
            Some(format!("error loading file: stat {}: {reason}", file.display()))
        }
    }
}
