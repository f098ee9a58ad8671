//! Reviews: request objects that are evaluated and never stored (upstream's `registry/authorization` and
//! `registry/authentication/selfsubjectreview`).

mod access;
mod rules;

use api::resources::Review;
use apimachinery::status::Status;
use apimachinery::user_info::UserInfo;
use jsontree::{Value, json};
use registry::generic::Admit;
use registry::meta;
use schema::object::{Object, get, get_str};

use super::admission::Admission;
use crate::routing::dispatch::Response;
use crate::scope::RequestScope;
use access::ReviewSubject;

/// Evaluates a decoded review.
///
/// # Errors
/// Rejection by admission, or an invalid review.
pub(super) async fn review(
    call: &RequestScope<'_>,
    admit: &Admission<'_>,
    question: Review,
    mut object: Object,
) -> Result<Response, Box<Status>> {
    let endpoint = call.endpoint();
    admit.mutate(&mut object, None).await?;
    let status = match question {
        Review::SelfSubject => sender(call, admit, &mut object).await,
        Review::Token => token(call, admit, &object).await,
        Review::SubjectAccess => access::review(call, admit, &object, ReviewSubject::NamedUser).await,
        Review::LocalSubjectAccess => {
            access::review(call, admit, &object, ReviewSubject::NamedUserInNamespace).await
        }
        Review::SelfSubjectRules => rules::review(call, admit, &mut object).await,
        Review::SelfSubjectAccess => access::review(call, admit, &object, ReviewSubject::Sender).await,
    }?;
    object.insert("status", status);
    object.insert("kind", endpoint.kind.into());
    object.insert("apiVersion", endpoint.kind_group_version.into());
    call.reply()?.tree(201, &object)
}

/// `SelfSubjectReview`: returns the user of the request. The response contains nothing of the request object.
async fn sender(
    call: &RequestScope<'_>,
    admit: &Admission<'_>,
    object: &mut Object,
) -> Result<Value, Box<Status>> {
    admit.validate(object, None).await?;
    object.clear();
    meta::set_text(object, "creationTimestamp", &call.api.registry.now().rfc3339().to_string());
    Ok(json!({"userInfo": user_value(call.user)}))
}

fn user_value(user: &UserInfo) -> Value {
    let mut value = Object::new();
    let mut put = |name: &str, is_empty: bool, member: Value| {
        if !is_empty {
            value.insert(name, member);
        }
    };
    put("username", user.name.is_empty(), user.name.clone().into());
    put("uid", user.uid.is_empty(), user.uid.clone().into());
    put("groups", user.groups.is_empty(), user.groups.clone().into());
    put("extra", user.extra.is_empty(), json!(user.extra));
    Value::Object(value)
}

/// `TokenReview`: authenticates a token with the server's own authenticator. The token may have other
/// audiences than this API.
async fn token(
    call: &RequestScope<'_>,
    admit: &Admission<'_>,
    object: &Object,
) -> Result<Value, Box<Status>> {
    let token = get_str(object, &["spec", "token"]).unwrap_or("");
    if token.is_empty() {
        return Err(Status::bad_request("token is required for TokenReview in authentication").into());
    }
    admit.validate(object, None).await?;
    let audiences = get(object, &["spec", "audiences"]).map(texts).unwrap_or_default();
    Ok(match call.api.authenticator.review(call.user, token, &audiences, &call.context.notes).await {
        Ok(Some(authenticated)) => {
            let mut status = json!({"authenticated": true, "user": user_value(&authenticated.user)});
            if !authenticated.audiences.is_empty() {
                status["audiences"] = authenticated.audiences.into();
            }
            status
        }
        Ok(None) => json!({"user": {}}),
        Err(error) => json!({"user": {}, "error": error.to_string()}),
    })
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
