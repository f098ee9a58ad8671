//! One webhook of a configuration.

use std::time::Duration;

use api::tree::{child, maybe_text, text, texts};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cel::admission::Options;
use jsontree::Value;
use schema::object::Object;

use super::response::Review;
use crate::dynamic::Criteria;
use crate::expressions::Conditions;

/// Default timeout of a webhook.
const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ServicePort {
    pub namespace: Box<str>,
    pub name: Box<str>,
    pub port: u16,
    /// The URL path; may be empty.
    pub path: Box<str>,
}

/// Address and trusted CAs of a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    /// URL; empty if a Service is used.
    pub url: Box<str>,
    pub service: Option<ServicePort>,
    /// CA bundle in PEM; empty for the system's CAs.
    pub authorities: Box<[u8]>,
}

/// Side effects of a webhook, for dry runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SideEffects {
    None,
    Some,
    Unspecified,
}

pub struct Hook {
    /// Name of the configuration object.
    pub(super) configuration: Box<str>,
    /// Name, for messages and metrics.
    pub(super) name: Box<str>,
    /// Unique id. It is the same after a reload of the configuration.
    pub(super) uid: Box<str>,
    pub(super) criteria: Criteria,
    pub(super) conditions: Conditions,
    pub(super) ignores_failures: bool,
    pub(super) timeout: Duration,
    pub(super) side_effects: SideEffects,
    pub(super) review: Option<Review>,
    /// `reinvocationPolicy: IfNeeded`.
    pub(super) reinvokes: bool,
    pub(super) target: Target,
}

impl Hook {
    /// Reads the webhooks of a stored configuration.
    pub fn all_of(configuration: &Object) -> Vec<Self> {
        let name = crate::meta::text(configuration, "name");
        let mut hooks: Vec<Hook> = Vec::new();
        for webhook in api::tree::children(configuration, "webhooks") {
            let own = text(webhook, "name");
            let same = hooks.iter().filter(|hook| &*hook.name == own).count();
            hooks.push(Hook::read(name, webhook, same));
        }
        hooks
    }

    /// Reads the webhooks of a configuration from a manifest on the server's disk.
    pub fn all_of_manifest(configuration: &Object) -> Vec<Self> {
        let mut hooks = Hook::all_of(configuration);
        // The API may contain a configuration of the same name.
        hooks.iter_mut().for_each(|hook| hook.uid = format!("manifest/{}", hook.uid).into());
        hooks
    }

    fn read(configuration: &str, webhook: &Object, same: usize) -> Self {
        let name = text(webhook, "name");
        let seconds = webhook.get("timeoutSeconds").and_then(Value::as_u64);
        Hook {
            configuration: configuration.into(),
            name: name.into(),
            uid: format!("{configuration}/{name}/{same}").into(),
            criteria: Criteria::read(webhook),
            conditions: Conditions::read(webhook, Options { authorizer: true, ..Options::default() }),
            ignores_failures: text(webhook, "failurePolicy") == "Ignore",
            timeout: seconds.map_or(TIMEOUT, Duration::from_secs),
            side_effects: match maybe_text(webhook, "sideEffects") {
                None => SideEffects::Unspecified,
                Some("None" | "NoneOnDryRun") => SideEffects::None,
                Some(_) => SideEffects::Some,
            },
            review: texts(webhook, "admissionReviewVersions").find_map(Review::of_version),
            reinvokes: text(webhook, "reinvocationPolicy") == "IfNeeded",
            target: target(webhook),
        }
    }
}

fn target(webhook: &Object) -> Target {
    let empty = Object::new();
    let config = child(webhook, "clientConfig").unwrap_or(&empty);
    let service = child(config, "service").map(|service| {
        let port = service.get("port").and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok());
        let text = |name| Box::from(text(service, name));
        let namespace = text("namespace");
        let name = text("name");
        let path = text("path");
        ServicePort { namespace, name, port: port.unwrap_or(443), path }
    });
    Target {
        url: text(config, "url").into(),
        service,
        // Validation has checked that it is base64.
        authorities: STANDARD.decode(text(config, "caBundle")).unwrap_or_default().into(),
    }
}
