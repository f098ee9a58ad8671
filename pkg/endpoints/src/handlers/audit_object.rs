//! Records the request object for audit (apiserver `pkg/audit/request.go`, `LogRequestObject`). It is the
//! object in the version of the request, with that version's defaults, before any other change.
//!
//! If no audit policy needs the object, the cost is one check.

use std::borrow::Cow;

use apimachinery::request_notes::{MinimumLevel, RequestContent, SentObject};
use bytes::Bytes;
use registry::meta;
use schema::object::{Object, get_str};
use schema::{builtin, json_write};

use crate::response::encode;
use crate::scope::RequestScope;

/// Records an object that came in `version`, after [`to_storage_version`](super::to_storage_version).
pub(super) fn object(call: &RequestScope<'_>, object: &Object, version: &str) {
    let Some(recorded) = call.context.notes.required_content() else { return };
    let text = |name| meta::text(object, name).to_owned();
    let json = (recorded >= MinimumLevel::Request).then(|| json(call, object, version)).flatten();
    call.context.notes.set_content(RequestContent::Object(SentObject {
        namespace: text("namespace"),
        name: text("name"),
        uid: text("uid"),
        resource_version: text("resourceVersion"),
        json,
    }));
}

/// Records the options of a deletion. Upstream records its internal version, whatever version the request
/// has.
pub(super) fn options(call: &RequestScope<'_>, options: &Object) {
    let Some(recorded) = call.context.notes.required_content() else { return };
    let json = || {
        let mut options = options.clone();
        options.insert("kind".to_owned(), "DeleteOptions".into());
        options.insert("apiVersion".to_owned(), "meta.k8s.io/__internal".into());
        let message = &builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_DELETEOPTIONS;
        let mut out = Vec::new();
        json_write::encode(message, &options, &mut out).ok().map(|()| Bytes::from(out))
    };
    let json = if recorded >= MinimumLevel::Request { json() } else { None };
    call.context.notes.set_content(RequestContent::Object(SentObject { json, ..SentObject::default() }));
}

/// Records a patch unchanged.
pub(super) fn patch(call: &RequestScope<'_>, bytes: &Bytes) {
    if call.context.notes.required_content().is_some_and(|recorded| recorded >= MinimumLevel::Request) {
        call.context.notes.set_content(RequestContent::Patch(bytes.clone()));
    }
}

fn json(call: &RequestScope<'_>, object: &Object, version: &str) -> Option<Bytes> {
    let endpoint = call.endpoint();
    let message = if endpoint.kind_group_version == version {
        endpoint.message
    } else {
        builtin::kind(version, endpoint.kind)?
    };
    let mut out = Vec::new();
    json_write::encode(message, &in_version(call, object, version), &mut out).ok()?;
    Some(out.into())
}

/// Returns the object in a version. An object of another kind than its resource has no defaults yet.
fn in_version<'o>(call: &RequestScope<'_>, object: &'o Object, version: &str) -> Cow<'o, Object> {
    let endpoint = call.endpoint();
    let row = call.resource();
    if endpoint.kind != row.kind {
        let mut object = object.clone();
        kinds::defaults::apply(version, endpoint.kind, &mut object, call.api.registry.gates());
        return Cow::Owned(object);
    }
    let object_version = get_str(object, &["apiVersion"]).unwrap_or_default();
    match &row.storage {
        _ if object_version == version => Cow::Borrowed(object),
        Some(storage) if version == endpoint.kind_group_version => {
            Cow::Owned(encode::served(object.clone(), storage, endpoint))
        }
        _ => Cow::Owned(api::conversion::convert(object.clone(), object_version, version, endpoint.kind)),
    }
}
