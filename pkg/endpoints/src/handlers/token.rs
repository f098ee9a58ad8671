//! POST of `serviceaccounts/NAME/token`: issues a token for a service account (KEP-1205; upstream's
//! `registry/core/serviceaccount/storage/token.go`). A dry run also returns a token.

mod webhook;

use component_base::features::{Gate, Gates};

use api::options::CreateOptions;
use api::resources::{self, Resource};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::gvk::{GroupKind, GroupResource, split_api_version};
use apimachinery::status::{Reason, Status};
use apimachinery::time::UnixTime;
use authentication::service_account::{Claims, Grant, Reference, WARN_AFTER_SECONDS};
use jsontree::Value;
use registry::generic::Admit;
use registry::{StoredRef, Target, codec, meta};
use schema::object::{self, Object, get_i64, get_object, get_str};

use super::admission::Admission;
use super::ensure_namespace;
use super::write::{Dedup, Writer, dedup_owners};
use crate::api::TokenRequests;
use crate::routing::dispatch::Response;
use crate::scope::RequestScope;
use webhook::WebhookKind;

const GROUP: &str = "authentication.k8s.io";
const KIND: &str = "TokenRequest";

/// Limits of the requested lifetime, in seconds.
const LIFETIME_MIN: i64 = 10 * 60;
const LIFETIME_MAX: i64 = 1 << 32;

/// Extended lifetime, in seconds: one year. It applies to tokens that kubelets request for programs that may
/// not handle expiry.
const EXTENDED_LIFETIME: i64 = 365 * 24 * 60 * 60;

/// Handles a decoded TokenRequest.
///
/// # Errors
/// 400, 404, 409 and 422 for a request that does not match the stored objects; rejections by admission.
pub(super) async fn create(
    call: &RequestScope<'_>,
    mut request: Object,
    options: &CreateOptions,
) -> Result<Response, Box<Status>> {
    let requests = call.api.token_requests.as_ref().ok_or_else(Status::unknown_path)?;
    call.warnings.extend(dedup_owners(&mut request, Dedup::AsSent));
    ensure_namespace(call.resource(), &call.info.namespace, &mut request)?;
    default(&mut request);
    Writer::of(call, &options.field_manager).track(None, &mut request);
    let admit = Admission::of(call, options);
    admit.mutate(&mut request, None).await?;
    let name = call.name();
    check_name(&request, name)?;
    let account = find(call, "serviceaccounts", name, "").await?;
    let enforced = call.api.registry.gates().enabled(Gate::TokenRequestServiceAccountUIDValidation);
    if let Some(cause) = check_account(&request, &account, enforced)? {
        call.warnings.push(format!(
            "{cause} but TokenRequestServiceAccountUIDValidation is not enabled. In the future, this will return a \
             conflict error"
        ));
        call.context.notes.annotate("authentication.k8s.io/token-request-uid-mismatch", cause);
    }
    let now = call.api.registry.now();
    complete(&mut request, &account, &requests.api_audiences, now);
    let errors = errors(&request);
    if !errors.is_empty() {
        return Err(Status::invalid(&GroupKind::new(GROUP, KIND), "", &errors).into());
    }
    admit.validate(&request, None).await?;
    let bound = find_bound_object(call, &mut request, &account).await?;
    let requested_seconds = get_i64(&request, &["spec", "expirationSeconds"]).unwrap_or_default();
    let audiences = audiences(&request);
    let lifetime = requests.lifetime(requested_seconds, bound.pod.is_some(), &audiences);
    let id = requests.entropy.uid();
    let credential = format!("JTI={id}");
    let claims = Claims::of(Grant {
        id,
        namespace: call.info.namespace.clone(),
        account: reference(&account),
        pod: bound.pod,
        secret: bound.secret,
        node: bound.node,
        validating_webhook: bound.validating_webhook,
        mutating_webhook: bound.mutating_webhook,
        attestations: webhook::attestations(&request),
        audiences,
        now: now.seconds,
        seconds: lifetime.token_seconds,
        warn_after: lifetime.warn_after,
    });
    let token = requests.issuer.issue(claims).await;
    let token =
        token.map_err(|error| Status::internal_error(format!("failed to generate token: {error}")))?;
    call.context.notes.annotate("authentication.kubernetes.io/issued-credential-id", credential);
    if lifetime.reported_seconds != requested_seconds {
        let reported_seconds = lifetime.reported_seconds;
        call.warnings.push(format!(
            "requested expiration of {requested_seconds} seconds shortened to {reported_seconds} seconds"
        ));
        object::set(&mut request, &["spec", "expirationSeconds"], reported_seconds);
    }
    let end = UnixTime::from_seconds(now.seconds.saturating_add(lifetime.reported_seconds));
    object::set(&mut request, &["status", "token"], token);
    object::set(&mut request, &["status", "expirationTimestamp"], end.rfc3339().to_string());
    request.insert("kind", KIND.into());
    request.insert("apiVersion", call.endpoint().kind_group_version.into());
    call.reply()?.tree(201, &request)
}

/// Lifetime of a token, in seconds.
#[derive(Debug, PartialEq, Eq)]
struct Lifetime {
    /// Lifetime in the response.
    reported_seconds: i64,
    /// Lifetime in the token.
    token_seconds: i64,
    /// Age after which its use causes a warning.
    warn_after: Option<i64>,
}

impl TokenRequests {
    fn lifetime(&self, requested_seconds: i64, of_pod: bool, audiences: &[String]) -> Lifetime {
        let reported_seconds =
            if self.lifetime_max > 0 { requested_seconds.min(self.lifetime_max) } else { requested_seconds };
        let for_us = audiences.iter().all(|audience| self.api_audiences.contains(audience));
        if self.extend && of_pod && reported_seconds == WARN_AFTER_SECONDS && for_us {
            let token_seconds = EXTENDED_LIFETIME.min(self.extended_max);
            Lifetime { reported_seconds, token_seconds, warn_after: Some(reported_seconds) }
        } else {
            Lifetime { reported_seconds, token_seconds: reported_seconds, warn_after: None }
        }
    }
}

/// The name in the body must be the path's.
fn check_name(request: &Object, name: &str) -> Result<(), Box<Status>> {
    let request_name = meta::text(request, "name");
    if request_name.is_empty() || request_name == name {
        return Ok(());
    }
    let detail = "must match the service account name if specified";
    let error = Error::invalid(&Path::root("metadata").child("name"), request_name, detail);
    Err(Status::invalid(&GroupKind::new(GROUP, KIND), name, &[error].into()).into())
}

/// Checks that the uid in the body is the service account's. Returns a message if it is not and the check is
/// not enforced.
fn check_account(request: &Object, account: &Object, enforced: bool) -> Result<Option<String>, Box<Status>> {
    let request_uid = meta::text(request, "uid");
    let uid = meta::text(account, "uid");
    if request_uid.is_empty() || request_uid == uid {
        return Ok(None);
    }
    let cause = format!(
        "the UID in the token request ({request_uid}) does not match the UID of the service account ({uid})"
    );
    if !enforced {
        return Ok(Some(cause));
    }
    let name = meta::text(account, "name");
    Err(Status::conflict(&GroupResource::new(GROUP, KIND), name, &cause).into())
}

/// Applies the defaults of the kind, which do not depend on gates.
fn default(request: &mut Object) {
    if get_object(request, &["spec"]).is_none() {
        request.insert("spec", Object::new().into());
    }
    kinds::defaults::apply("authentication.k8s.io/v1", KIND, request, &Gates::default());
}

/// Fills in missing fields and clears those that a client may not set.
fn complete(request: &mut Object, account: &Object, api_audiences: &[String], now: UnixTime) {
    if audiences(request).is_empty() {
        object::set(request, &["spec", "audiences"], api_audiences.to_vec());
    }
    for name in ["name", "namespace", "uid"] {
        if meta::text(request, name).is_empty() {
            meta::set_text(request, name, meta::text(account, name));
        }
    }
    meta::set_text(request, "creationTimestamp", &now.rfc3339().to_string());
    request.remove("status");
}

fn errors(request: &Object) -> ErrorList {
    let seconds = get_i64(request, &["spec", "expirationSeconds"]).unwrap_or_default();
    let refuse =
        |detail| [Error::invalid(&Path::root("spec").child("expirationSeconds"), seconds, detail)].into();
    let errors = match seconds {
        ..LIFETIME_MIN => refuse("may not specify a duration less than 10 minutes"),
        LIFETIME_MIN..=LIFETIME_MAX => ErrorList::new(),
        _ => refuse("may not specify a duration larger than 2^32 seconds"),
    };
    webhook::validate(request, errors)
}

/// Object that a token is bound to.
#[derive(Default)]
struct BoundObject {
    pod: Option<Reference>,
    secret: Option<Reference>,
    node: Option<Reference>,
    validating_webhook: Option<Reference>,
    mutating_webhook: Option<Reference>,
}

/// Looks up the object that the token is bound to. Shortens the lifetime of a token for a webhook.
async fn find_bound_object(
    call: &RequestScope<'_>,
    request: &mut Object,
    account: &Object,
) -> Result<BoundObject, Box<Status>> {
    let Some(bound_ref) = get_object(request, &["spec", "boundObjectRef"]).cloned() else {
        return Ok(BoundObject::default());
    };
    let text = |name: &str| get_str(&bound_ref, &[name]).unwrap_or("");
    let kind = text("kind");
    let name = text("name");
    // Upstream treats an unparseable `apiVersion` as absent.
    let readable = Some(text("apiVersion")).filter(|version| version.matches('/').count() < 2);
    let (group, version) = split_api_version(readable.unwrap_or(""));
    let (object, bound) = match (group, kind, WebhookKind::of(&bound_ref)) {
        ("", "Pod", _) => {
            let pod = find(call, "pods", name, "").await?;
            check_pod(&pod, call.name())?;
            let node = node_of(call, &pod).await?;
            let bound = BoundObject { pod: Some(reference(&pod)), node, ..BoundObject::default() };
            (pod, bound)
        }
        ("", "Node", _) => {
            let node = find(call, "nodes", name, "").await?;
            let bound = BoundObject { node: Some(reference(&node)), ..BoundObject::default() };
            (node, bound)
        }
        ("", "Secret", _) => {
            let secret = find(call, "secrets", name, "").await?;
            let bound = BoundObject { secret: Some(reference(&secret)), ..BoundObject::default() };
            (secret, bound)
        }
        (.., Some(webhook_kind)) => {
            let configuration = webhook_kind.find(call, request, account, name).await?;
            let bound = webhook_kind.binding(reference(&configuration));
            (configuration, bound)
        }
        _ => {
            let message = format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
            return Err(Status::bad_request(message).into());
        }
    };
    let uid = text("uid");
    if !uid.is_empty() && uid != meta::text(&object, "uid") {
        let cause = format!(
            "the UID in the bound object reference ({uid}) does not match the UID in record. The object might \
             have been deleted and then recreated"
        );
        return Err(Status::conflict(&GroupResource::new(group, kind), name, &cause).into());
    }
    Ok(bound)
}

/// A token for a pod must be for the pod's service account.
fn check_pod(pod: &Object, account: &str) -> Result<(), Box<Status>> {
    if get_str(pod, &["spec", "serviceAccountName"]).unwrap_or("") == account {
        return Ok(());
    }
    let account = apimachinery::go_quote::quote(account);
    Err(Status::bad_request(format!(
        "cannot bind token for serviceaccount {account} to pod running with different serviceaccount name."
    ))
    .into())
}

/// Returns the node of a pod. The uid is omitted if the node does not exist.
async fn node_of(call: &RequestScope<'_>, pod: &Object) -> Result<Option<Reference>, Box<Status>> {
    let name = get_str(pod, &["spec", "nodeName"]).unwrap_or("");
    if name.is_empty() {
        return Ok(None);
    }
    let node = match find(call, "nodes", name, "0").await {
        Err(_) => find(call, "nodes", name, "").await,
        resolved => resolved,
    };
    match node {
        Ok(node) => Ok(Some(reference(&node))),
        Err(status) if status.reason == Reason::NotFound => {
            Ok(Some(Reference { name: name.to_owned(), uid: String::new() }))
        }
        Err(status) => Err(Status::internal_error(status.message).into()),
    }
}

/// Reads an object of the core group, in the request's namespace if it is namespaced.
async fn find(
    call: &RequestScope<'_>,
    plural: &str,
    name: &str,
    version: &str,
) -> Result<Object, Box<Status>> {
    if name.is_empty() {
        return Err(Status::bad_request("Name parameter required.").into());
    }
    let row = resources::find("", "v1", plural, "").ok_or_else(Status::unknown_path)?;
    read(call, row, name, version).await
}

async fn read(
    call: &RequestScope<'_>,
    row: &'static Resource<'static>,
    name: &str,
    version: &str,
) -> Result<Object, Box<Status>> {
    let target = Target { resource: row, namespace: &call.info.namespace, name };
    let element = call.api.registry.get(&target, version).await?;
    let storage = row.storage.as_ref().ok_or_else(Status::unknown_path)?;
    Ok(codec::decode(storage, StoredRef::element(&element))?)
}

fn reference(object: &Object) -> Reference {
    let text = |name: &str| meta::text(object, name).to_owned();
    Reference { name: text("name"), uid: text("uid") }
}

fn audiences(request: &Object) -> Vec<String> {
    let texts = object::get_list(request, &["spec", "audiences"]).iter();
    texts.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
