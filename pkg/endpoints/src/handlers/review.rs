//! Reviews: questions in the form of objects that are answered and never stored
//! (upstream's `registry/authorization` and `registry/authentication/selfsubjectreview`).

use apimachinery::field::{Error, Path};
use apimachinery::gvk::GroupKind;
use apimachinery::request_info::RequestInfo;
use apimachinery::status::Status;
use apimachinery::user_info::UserInfo;
use authorization::{Attributes, Decision};
use registry::meta;
use schema::object::{Object, get_object, get_str};
use serde_json::{Map, Value, json};

use crate::api::Call;
use crate::dispatch::Response;

/// Answers a review, given as decoded. `None` when the resource is none that is built.
pub(super) async fn review(call: &Call<'_>, mut object: Object) -> Option<Result<Response, Box<Status>>> {
    let endpoint = call.endpoint();
    let status = match endpoint.plural {
        "selfsubjectreviews" => {
            let now = call.api.registry.now().rfc3339().to_string();
            meta::set_text(&mut object, "creationTimestamp", &now);
            Ok(json!({"userInfo": user_value(call.user)}))
        }
        "subjectaccessreviews" | "localsubjectaccessreviews" => access(call, &object, subject(&object)).await,
        "selfsubjectaccessreviews" => access(call, &object, Ok(call.user.clone())).await,
        _ => return None,
    };
    Some(status.and_then(|status| {
        object.insert("status".to_owned(), status);
        object.insert("kind".to_owned(), endpoint.kind.into());
        object.insert("apiVersion".to_owned(), endpoint.kind_group_version.into());
        call.reply()?.tree(201, endpoint.message, &object)
    }))
}

fn user_value(user: &UserInfo) -> Value {
    let mut value = Map::new();
    let mut put = |name: &str, is_empty: bool, member: Value| {
        if !is_empty {
            value.insert(name.to_owned(), member);
        }
    };
    put("username", user.name.is_empty(), user.name.clone().into());
    put("uid", user.uid.is_empty(), user.uid.clone().into());
    put("groups", user.groups.is_empty(), user.groups.clone().into());
    put("extra", user.extra.is_empty(), json!(user.extra));
    Value::Object(value)
}

/// The user that a review asks about.
fn subject(object: &Object) -> Result<UserInfo, Error> {
    let text = |name: &str| get_str(object, &["spec", name]).unwrap_or("").to_owned();
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let spec = get_object(object, &["spec"]);
    let groups = spec.and_then(|spec| spec.get("groups")).map(texts).unwrap_or_default();
    let extra = get_object(object, &["spec", "extra"]);
    let extra =
        extra.into_iter().flatten().map(|(key, values)| (key.to_lowercase(), texts(values))).collect();
    let user = UserInfo { name: text("user"), uid: text("uid"), groups, extra };
    if user.name.is_empty() && user.groups.is_empty() {
        let spec = Path::root("spec");
        return Err(Error::invalid(
            &spec.child("user"),
            "",
            "at least one of user or group must be specified",
        ));
    }
    Ok(user)
}

/// Asks the server's own authorizer. A refusal is an answer, not an error.
async fn access(
    call: &Call<'_>,
    object: &Object,
    user: Result<UserInfo, Error>,
) -> Result<Value, Box<Status>> {
    let info = attributes(call, object);
    let (user, info) = match (user, info) {
        (Ok(user), Ok(info)) => (user, info),
        (Err(error), Ok(_)) | (_, Err(error)) => {
            // Upstream leaves the kind empty here.
            let kind = GroupKind::new(call.endpoint().group, "");
            return Err(Status::invalid(&kind, "", &[error]).into());
        }
    };
    let decision = call.api.authorizer.decide(Attributes { user: &user, info: &info }).await;
    let (allowed, denied, reason) = match decision {
        Decision::Allow => (true, false, String::new()),
        Decision::Deny(reason) => (false, true, reason),
        Decision::NoOpinion(reason) => (false, false, reason),
    };
    let mut status = json!({"allowed": allowed});
    if denied {
        status["denied"] = true.into();
    }
    if !reason.is_empty() {
        status["reason"] = reason.into();
    }
    Ok(status)
}

/// What a review asks about, as the chain would see a request for it.
fn attributes(call: &Call<'_>, object: &Object) -> Result<RequestInfo, Error> {
    let resource = get_object(object, &["spec", "resourceAttributes"]);
    let path = get_object(object, &["spec", "nonResourceAttributes"]);
    let text = |from: &Object, name: &str| from.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
    let spec = Path::root("spec");
    match (resource, path) {
        (Some(from), None) => {
            let given = text(from, "namespace");
            let local = call.endpoint().namespaced;
            if local && given != call.info.namespace {
                let detail = format!("must match metadata.namespace: {}", call.info.namespace);
                let at = spec.child("resourceAttributes");
                return Err(Error::invalid(&at.child("namespace"), given, detail));
            }
            Ok(RequestInfo {
                is_resource: true,
                verb: text(from, "verb"),
                group: text(from, "group"),
                version: text(from, "version"),
                namespace: given,
                resource: text(from, "resource"),
                subresource: text(from, "subresource"),
                name: text(from, "name"),
                ..RequestInfo::default()
            })
        }
        (None, Some(from)) => {
            Ok(RequestInfo { verb: text(from, "verb"), path: text(from, "path"), ..RequestInfo::default() })
        }
        (None, None) => {
            let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            Err(Error::invalid(&spec.child("resourceAttributes"), &Value::Null, detail))
        }
        (Some(_), Some(_)) => {
            let detail = "cannot be specified in combination with resourceAttributes";
            Err(Error::invalid(&spec.child("nonResourceAttributes"), &Value::Null, detail))
        }
    }
}
