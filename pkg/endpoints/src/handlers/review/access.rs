//! Access reviews: evaluate if a user may perform an action.

mod selectors;

use api::semantic;
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::gvk::GroupKind;
use apimachinery::names::{is_label_key, is_label_value};
use apimachinery::selectors::Selectors;
use apimachinery::status::Status;
use apimachinery::user_info::UserInfo;
use authorization::{Attributes, Denial};
use jsontree::{Value, json};
use registry::generic::Admit;
use schema::builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_OBJECTMETA as OBJECT_META;
use schema::json_write;
use schema::object::{Object, get_object, get_str};

use super::super::admission::Admission;
use super::texts;
use crate::scope::RequestScope;

/// Subject of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReviewSubject {
    /// The named user.
    NamedUser,
    /// The named user, in the namespace of the request.
    NamedUserInNamespace,
    /// The user of the request.
    Sender,
}

/// Evaluates a review with the server's own authorizer. A denial is a result, not an error.
///
/// # Errors
/// 422 for an incomplete or ambiguous review.
pub(super) async fn review(
    call: &RequestScope<'_>,
    admit: &Admission<'_>,
    object: &Object,
    about: ReviewSubject,
) -> Result<Value, Box<Status>> {
    let errors = errors(object, about);
    if !errors.is_empty() {
        // Upstream leaves the kind empty here.
        return Err(Status::invalid(&GroupKind::new(call.endpoint().group, ""), "", &errors).into());
    }
    admit.validate(object, None).await?;
    let named = subject(object);
    let user = if about == ReviewSubject::Sender { call.user } else { &named };
    let selectors = selectors::of(object);
    let reviewed = attributes(object, user, &selectors);
    let (allowed, Denial { denied, reason, error }) =
        match call.api.authorizer.decide(reviewed).await.outcome() {
            Ok(reason) => (true, Denial { reason: reason.to_string(), ..Denial::default() }),
            Err(refused) => (false, refused),
        };
    let mut status = json!({"allowed": allowed});
    if denied {
        status["denied"] = true.into();
    }
    if !reason.is_empty() {
        status["reason"] = reason.into();
    }
    let mut errors = Vec::from_iter(error);
    errors.extend(selectors::evaluation_errors(&selectors));
    if !errors.is_empty() {
        status["evaluationError"] = errors.join("; ").into();
    }
    Ok(status)
}

fn subject(object: &Object) -> UserInfo {
    let text = |name: &str| get_str(object, &["spec", name]).unwrap_or("").to_owned();
    let spec = get_object(object, &["spec"]);
    let groups = spec.and_then(|spec| spec.get("groups")).map(texts).unwrap_or_default();
    let extra = get_object(object, &["spec", "extra"]).into_iter().flatten();
    let extra = extra.map(|(key, values)| (key.as_str().to_lowercase(), texts(values))).collect();
    UserInfo { name: text("user"), uid: text("uid"), groups, extra }
}

/// Returns the attributes that a review describes.
fn attributes<'r>(object: &'r Object, user: &'r UserInfo, selectors: &'r Selectors) -> Attributes<'r> {
    let user_only = Attributes::of_user(user);
    if let Some(resource) = get_object(object, &["spec", "resourceAttributes"]) {
        let text = |name| member(resource, name);
        return Attributes {
            verb: text("verb"),
            resource_request: true,
            group: text("group"),
            // An empty version means all versions.
            version: Some(text("version")).filter(|version| !version.is_empty()).unwrap_or("*"),
            namespace: text("namespace"),
            resource: text("resource"),
            subresource: text("subresource"),
            name: text("name"),
            selectors,
            ..user_only
        };
    }
    match get_object(object, &["spec", "nonResourceAttributes"]) {
        Some(path) => Attributes { verb: member(path, "verb"), path: member(path, "path"), ..user_only },
        None => user_only,
    }
}

fn member<'o>(object: &'o Object, name: &str) -> &'o str {
    object.get(name).and_then(Value::as_str).unwrap_or("")
}

/// Validates a review (upstream's `apis/authorization/validation`).
fn errors(object: &Object, about: ReviewSubject) -> ErrorList {
    let spec = Path::root("spec");
    let at_resource = spec.child("resourceAttributes");
    let at_path = spec.child("nonResourceAttributes");
    let resource = get_object(object, &["spec", "resourceAttributes"]);
    let path = get_object(object, &["spec", "nonResourceAttributes"]);
    let go_path = |path: &Object| json!({"Path": member(path, "path"), "Verb": member(path, "verb")});
    let mut errors = ErrorList::new();
    if resource.is_some() == path.is_some() {
        let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        errors.push(Error::invalid(&spec, &path.map_or(Value::Null, go_path), detail));
    }
    let named = subject(object);
    if about != ReviewSubject::Sender && named.name.is_empty() && named.groups.is_empty() {
        let detail = "at least one of user or group must be specified";
        errors.push(Error::invalid(&spec.child("user"), "", detail));
    }
    if let Some(resource) = resource {
        for (name, kind) in [("fieldSelector", Selector::Fields), ("labelSelector", Selector::Labels)] {
            if let Some(selector) = get_object(resource, &[name]) {
                selector_errors(selector, kind, &at_resource.child(name), &mut errors);
            }
        }
    }
    metadata_errors(object, about, &mut errors);
    if about == ReviewSubject::NamedUserInNamespace {
        let review_namespace = get_str(object, &["metadata", "namespace"]).unwrap_or("");
        if let Some(namespace) = resource.map(|resource| member(resource, "namespace"))
            && namespace != review_namespace
        {
            let detail = "must match metadata.namespace";
            errors.push(Error::invalid(&at_resource.child("namespace"), namespace, detail));
        }
        if let Some(path) = path {
            errors.push(Error::invalid(&at_path, &go_path(path), "disallowed on this kind of request"));
        }
    }
    errors
}

/// A review has no name or other metadata.
fn metadata_errors(object: &Object, about: ReviewSubject, errors: &mut ErrorList) {
    let Some(metadata) = get_object(object, &["metadata"]) else { return };
    let local = about == ReviewSubject::NamedUserInNamespace;
    let mut rest = metadata.clone();
    rest.remove("managedFields");
    if local {
        rest.remove("namespace");
    }
    if !semantic::equal(&OBJECT_META, &Object::new(), &rest) {
        let detail = if local { "must be empty except for namespace" } else { "must be empty" };
        let mut text = Vec::new();
        // Fails only for values that no decoder accepts.
        let _ = json_write::encode(&OBJECT_META, metadata, &mut text);
        let value = BadValue::Plain(String::from_utf8_lossy(&text).into_owned());
        errors.push(Error::invalid(&Path::root("metadata"), value, detail));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Selector {
    Fields,
    Labels,
}

fn requirements(selector: &Object) -> impl Iterator<Item = &Object> {
    selector.get("requirements").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}

fn selector_errors(selector: &Object, kind: Selector, at: &Path<'_>, errors: &mut ErrorList) {
    let raw = member(selector, "rawSelector");
    let empty = requirements(selector).next().is_none();
    let at_requirements = at.child("requirements");
    if !raw.is_empty() && !empty {
        let detail = "may not specified at the same time as requirements";
        errors.push(Error::invalid(&at.child("rawSelector"), raw, detail));
    }
    if raw.is_empty() && empty {
        let detail = format!("when {at} is specified, requirements or rawSelector is required");
        errors.push(Error::required(&at_requirements, detail));
    }
    for (index, requirement) in requirements(selector).enumerate() {
        let at = at_requirements.index(index);
        let key = member(requirement, "key");
        if kind == Selector::Fields && key.is_empty() {
            errors.push(Error::required(&at.child("key"), "must be specified"));
        }
        let values = requirement.get("values").map(texts).unwrap_or_default();
        let at_values = at.child("values");
        match member(requirement, "operator") {
            "In" | "NotIn" if values.is_empty() => {
                let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.push(Error::required(&at_values, detail));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(Error::forbidden(&at_values, detail));
            }
            _ => {}
        }
        if kind == Selector::Labels {
            let invalid = |detail: String| Error::invalid(&at.child("key"), key, detail);
            errors.extend(is_label_key(key).into_iter().map(invalid));
            for (index, value) in values.iter().enumerate() {
                let invalid = |detail: String| Error::invalid(&at_values.index(index), value, detail);
                errors.extend(is_label_value(value).into_iter().map(invalid));
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn object(value: Value) -> Object {
        value.as_object().unwrap().clone()
    }

    /// Checks the errors of a review of user `zed`; `spec` may override the user.
    fn check(about: ReviewSubject, mut spec: Value, expected: &[&str]) {
        if about != ReviewSubject::Sender && spec.get("user").is_none() {
            spec["user"] = "zed".into();
        }
        let review = object(json!({"metadata": {"namespace": "ns"}, "spec": spec}));
        let review = match about {
            ReviewSubject::NamedUserInNamespace => review,
            _ => object(json!({"spec": review["spec"]})),
        };
        let actual: Vec<String> = errors(&review, about).iter().map(Error::to_string).collect();
        assert_eq!(actual, expected, "{about:?} {review:?}");
    }

    #[test]
    fn review_needs_one_attribute_set_and_a_user() {
        let resource = json!({"namespace": "ns", "verb": "get", "resource": "pods"});
        let path = json!({"verb": "get", "path": "/"});
        let required = "spec: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified";
        let exclusive = "spec: Invalid value: {\"Path\":\"/\",\"Verb\":\"get\"}: exactly one of nonResourceAttributes or resourceAttributes must be specified";
        let no_subject = "spec.user: Invalid value: \"\": at least one of user or group must be specified";
        for about in [ReviewSubject::NamedUser, ReviewSubject::NamedUserInNamespace, ReviewSubject::Sender] {
            check(about, json!({"resourceAttributes": resource}), &[]);
            check(about, json!({}), &[required]);
        }
        for about in [ReviewSubject::NamedUser, ReviewSubject::Sender] {
            check(about, json!({"nonResourceAttributes": path}), &[]);
            check(
                about,
                json!({"resourceAttributes": resource, "nonResourceAttributes": path}),
                &[exclusive],
            );
        }
        check(
            ReviewSubject::NamedUser,
            json!({"user": "", "groups": ["g"], "nonResourceAttributes": path}),
            &[],
        );
        check(ReviewSubject::NamedUser, json!({"user": ""}), &[required, no_subject]);
    }

    #[test]
    fn local_review_uses_request_namespace() {
        let elsewhere = json!({"resourceAttributes": {"namespace": "other"}});
        let mismatch =
            "spec.resourceAttributes.namespace: Invalid value: \"other\": must match metadata.namespace";
        check(ReviewSubject::NamedUserInNamespace, elsewhere.clone(), &[mismatch]);
        check(ReviewSubject::NamedUser, elsewhere, &[]);
        let path = json!({"nonResourceAttributes": {"verb": "get", "path": "/"}});
        let disallowed = "spec.nonResourceAttributes: Invalid value: {\"Path\":\"/\",\"Verb\":\"get\"}: disallowed on this kind of request";
        check(ReviewSubject::NamedUserInNamespace, path, &[disallowed]);
    }

    #[test]
    fn a_review_has_no_metadata() {
        let check = |about: ReviewSubject, metadata: Value, expected: &[&str]| {
            let review =
                object(json!({"metadata": metadata, "spec": {"user": "z", "resourceAttributes": {}}}));
            let actual: Vec<String> = errors(&review, about).iter().map(Error::to_string).collect();
            assert_eq!(actual, expected, "{review:?}");
        };
        check(ReviewSubject::NamedUser, json!({"managedFields": []}), &[]);
        check(ReviewSubject::NamedUser, json!({"name": "", "creationTimestamp": null, "labels": {}}), &[]);
        let managed = json!({"managedFields": [{"operation": "Update", "manager": "m"}], "name": "x"});
        let named = "metadata: Invalid value: {\"name\":\"x\",\"managedFields\":[{\"manager\":\"m\",\"operation\":\"Update\"}]}: must be empty";
        check(ReviewSubject::NamedUser, managed, &[named]);
        let local = "metadata: Invalid value: {\"name\":\"x\"}: must be empty except for namespace";
        check(ReviewSubject::NamedUserInNamespace, json!({"name": "x"}), &[local]);
    }

    #[test]
    fn selector_must_be_raw_or_requirements() {
        let check = |name: &str, selector: Value, expected: &[&str]| {
            let prefix = format!("spec.resourceAttributes.{name}");
            let expected: Vec<String> = expected.iter().map(|text| text.replace('@', &prefix)).collect();
            let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
            check(ReviewSubject::NamedUser, json!({"resourceAttributes": {name: selector}}), &expected);
        };
        let requirements = json!([{"key": "a", "operator": "In", "values": ["b"]}]);
        for name in ["fieldSelector", "labelSelector"] {
            check(name, json!({"requirements": requirements}), &[]);
            check(name, json!({"rawSelector": "a=b"}), &[]);
            check(name, json!({"requirements": [{"key": "a", "operator": "Bogus"}]}), &[]);
            let exclusive =
                "@.rawSelector: Invalid value: \"a=b\": may not specified at the same time as requirements";
            check(name, json!({"rawSelector": "a=b", "requirements": requirements}), &[exclusive]);
            let none = "@.requirements: Required value: when @ is specified, requirements or rawSelector is required";
            check(name, json!({}), &[none]);
            let values =
                json!([{"key": "a", "operator": "Exists", "values": ["x"]}, {"key": "a", "operator": "In"}]);
            check(
                name,
                json!({"requirements": values}),
                &[
                    "@.requirements[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                    "@.requirements[1].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
                ],
            );
        }
        let keyless = json!({"requirements": [{"operator": "Bogus"}]});
        check("fieldSelector", keyless, &["@.requirements[0].key: Required value: must be specified"]);
    }
}
