//! Tokens with which the API server authenticates to admission webhooks: they are bound to a webhook
//! configuration and attest the API group of the admission review (`APIServerWebhookAuthenticationToken`).

use api::resources;
use api::tree::{child, children, maybe_integer, maybe_text, text, texts};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::gvk::GroupResource;
use apimachinery::names::is_dns1123_subdomain;
use apimachinery::status::Status;
use authentication::service_account::{ADMISSION_REVIEW_API_GROUPS, Attestations, user_info};
use authorization::Attributes;
use component_base::features::Gate;
use jsontree::Value;
use registry::meta;
use schema::object::{self, Object, get_i64, get_list, get_object};

use super::{BoundObject, Reference, audiences, read, reference};
use crate::scope::RequestScope;

const GROUP_VERSION: &str = "admissionregistration.k8s.io/v1";
/// Maximum lifetime of a token for a webhook, in seconds.
const LIFETIME_MAX: i64 = 10 * 60;
/// Attestation for all API groups. Only API servers are allowed to request it.
const ALL_GROUPS: &str = "*";
/// Port of a webhook's Service, unless it names another one.
const PORT: i64 = 443;

/// Kind of a webhook configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WebhookKind {
    Validating,
    Mutating,
}

impl WebhookKind {
    /// Returns the kind of a bound object reference; `None` if it is not to a webhook configuration.
    pub(super) fn of(bound_ref: &Object) -> Option<Self> {
        match (text(bound_ref, "apiVersion"), text(bound_ref, "kind")) {
            (GROUP_VERSION, "ValidatingWebhookConfiguration") => Some(WebhookKind::Validating),
            (GROUP_VERSION, "MutatingWebhookConfiguration") => Some(WebhookKind::Mutating),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            WebhookKind::Validating => "ValidatingWebhookConfiguration",
            WebhookKind::Mutating => "MutatingWebhookConfiguration",
        }
    }

    fn plural(self) -> &'static str {
        match self {
            WebhookKind::Validating => "validatingwebhookconfigurations",
            WebhookKind::Mutating => "mutatingwebhookconfigurations",
        }
    }

    pub(super) fn binding(self, configuration: Reference) -> BoundObject {
        let configuration = Some(configuration);
        match self {
            WebhookKind::Validating => {
                BoundObject { validating_webhook: configuration, ..BoundObject::default() }
            }
            WebhookKind::Mutating => {
                BoundObject { mutating_webhook: configuration, ..BoundObject::default() }
            }
        }
    }

    /// Returns the configuration that a token is bound to. Shortens the lifetime of the token.
    ///
    /// # Errors
    /// 400 if the feature is disabled or the token would be valid for this API; 403 if the service account may not
    /// attest the API group, or if no webhook of the configuration has the audience and the API group.
    pub(super) async fn find(
        self,
        call: &RequestScope<'_>,
        request: &mut Object,
        account: &Object,
        name: &str,
    ) -> Result<Object, Box<Status>> {
        if !call.api.registry.gates().enabled(Gate::APIServerWebhookAuthenticationToken) {
            let message = format!(
                "cannot bind token to object of type {GROUP_VERSION}, Kind={} (feature gate \
                 APIServerWebhookAuthenticationToken is disabled)",
                self.name()
            );
            return Err(Status::bad_request(message).into());
        }
        let audiences = audiences(request);
        let api_audiences = call.api.token_requests.as_ref().map(|requests| &*requests.api_audiences);
        if audiences.iter().any(|audience| api_audiences.unwrap_or_default().contains(audience)) {
            let message = "api server audiences are invalid for webhook token requests";
            return Err(Status::bad_request(message).into());
        }
        let seconds = get_i64(request, &["spec", "expirationSeconds"]).unwrap_or_default();
        object::set(request, &["spec", "expirationSeconds"], seconds.min(LIFETIME_MAX));
        let attestations = attestations(request);
        let group = attestations.get(ADMISSION_REVIEW_API_GROUPS).and_then(|groups| groups.first());
        let group = group.map_or("", String::as_str);
        check_permission(call, account, group).await?;
        let row = resources::find("admissionregistration.k8s.io", "v1", self.plural(), "");
        let now = call.api.registry.now();
        let configuration = match row {
            Some(row) => read(call, row, name, "").await.ok(),
            None => None,
        };
        let audience = audiences.first().map_or("", String::as_str);
        let usable = configuration.filter(|configuration| {
            let ended = meta::deletion_seconds(configuration).is_some_and(|at| at < now.seconds);
            !ended && accepts(configuration, audience, group)
        });
        usable.ok_or_else(|| {
            let resource = GroupResource::new("", "serviceaccounts/token");
            Status::forbidden(&resource, meta::text(account, "name"), "token request denied").into()
        })
    }
}

/// Checks that the service account may attest an API group.
async fn check_permission(call: &RequestScope<'_>, account: &Object, group: &str) -> Result<(), Box<Status>> {
    let user = user_info(meta::text(account, "namespace"), &reference(account));
    let attributes = Attributes {
        verb: "attest",
        resource_request: true,
        group: "authentication.k8s.io",
        version: "*",
        resource: ADMISSION_REVIEW_API_GROUPS,
        name: group,
        ..Attributes::of_user(&user)
    };
    let Err(denial) = call.api.authorizer.decide(attributes).await.outcome() else { return Ok(()) };
    let reason = match denial.error {
        Some(error) if denial.reason.is_empty() => error,
        Some(error) => format!("{error}: {}", denial.reason),
        None => denial.reason,
    };
    Err(authorization::forbidden(attributes, &reason).into())
}

/// True if a webhook of the configuration has the audience and a rule for the API group.
fn accepts(configuration: &Object, audience: &str, group: &str) -> bool {
    let has_rule = |webhook: &Object| {
        let mut groups = children(webhook, "rules").flat_map(|rule| texts(rule, "apiGroups"));
        groups.any(|rule_group| rule_group == ALL_GROUPS || rule_group == group)
    };
    group == ALL_GROUPS
        || children(configuration, "webhooks")
            .any(|webhook| has_rule(webhook) && has_audience(webhook, audience))
}

/// True for the URL of a webhook, or `https://NAME.NAMESPACE.svc:PORT/PATH` of its Service.
fn has_audience(webhook: &Object, audience: &str) -> bool {
    let Some(client) = child(webhook, "clientConfig") else { return false };
    if maybe_text(client, "url") == Some(audience) {
        return true;
    }
    child(client, "service").is_some_and(|service| {
        let port = maybe_integer(service, "port").unwrap_or(PORT);
        let path = maybe_text(service, "path").unwrap_or_default();
        let slash = if path.starts_with('/') { "" } else { "/" };
        let name = text(service, "name");
        let namespace = text(service, "namespace");
        audience == format!("https://{name}.{namespace}.svc:{port}{slash}{path}")
    })
}

/// Returns the attestations of a request.
pub(super) fn attestations(request: &Object) -> Attestations {
    let attestations = get_object(request, &["spec", "attestations"]).into_iter().flatten();
    let owned = |value: &Value| {
        let values = value.as_array().into_iter().flatten();
        values.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    attestations.map(|(key, value)| (key.as_str().to_owned(), owned(value))).collect()
}

/// Adds the errors in the attestations of a request to the other errors. Without a webhook, attestations are
/// the only error.
pub(super) fn validate(request: &Object, mut errors: ErrorList) -> ErrorList {
    let spec = Path::root("spec");
    let at = spec.child("attestations");
    let given = attestations(request);
    let bound_ref = get_object(request, &["spec", "boundObjectRef"]);
    if bound_ref.and_then(WebhookKind::of).is_none() {
        if given.is_empty() {
            return errors;
        }
        let detail = "attestations may only be specified with a webhook bound object reference";
        return [Error::invalid(&at, value_of(request), detail)].into();
    }
    let audiences = get_list(request, &["spec", "audiences"]);
    if audiences.len() != 1 {
        let value = Value::from_iter(audiences.iter().cloned());
        let detail = "must be length 1 when bound to a webhook config";
        errors.push(Error::invalid(&spec.child("audiences"), &value, detail));
    }
    if given.len() != 1 {
        let detail = "webhook bound requests require exactly one admissionReviewAPIGroups attestation";
        errors.push(Error::invalid(&at, value_of(request), detail));
        return errors;
    }
    for (key, values) in &given {
        validate_values(key, values, &at.key(key), &mut errors);
    }
    errors
}

fn value_of(request: &Object) -> BadValue {
    object::get(request, &["spec", "attestations"]).unwrap_or(&Value::Null).into()
}

fn validate_values(key: &str, values: &[String], at: &Path<'_>, errors: &mut ErrorList) {
    if key != ADMISSION_REVIEW_API_GROUPS {
        errors.push(Error::not_supported(at, key, &[ADMISSION_REVIEW_API_GROUPS]));
        return;
    }
    let [group] = values else {
        let values = Value::from_iter(values.iter().map(|value| Value::from(value.as_str())));
        errors.push(Error::invalid(at, &values, "must specify a single value"));
        return;
    };
    let at = at.index(0);
    match group.as_str() {
        // The empty group could be the core group, or any name in an authorization request.
        "" => errors.push(Error::invalid(&at, "", "may not be an empty string")),
        ALL_GROUPS => {}
        group => {
            errors.extend(is_dns1123_subdomain(group).into_iter().map(|reason| {
                Error::invalid(&at, group, format!("must specify a valid API Group: {reason}"))
            }))
        }
    }
}

#[cfg(test)]
mod tests;
