//! Access reviews on the wire, and in the form for match conditions.

use std::sync::Arc;

use apimachinery::foreign_text::ForeignText;
use apimachinery::{fields, labels};
use jsontree::{Object, Value, json};

use crate::{Attributes, Error};

/// Maximum size in bytes of the client-controlled parts of a cached review.
const CACHED_BYTES_MAX: usize = 10_000;

/// Version of SubjectAccessReview.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// `authorization.k8s.io/v1`.
    V1,
    /// `authorization.k8s.io/v1beta1`, which has the field `group` for groups.
    V1Beta1,
}

impl Version {
    /// Returns the version with this name.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "v1" => Some(Version::V1),
            "v1beta1" => Some(Version::V1Beta1),
            _ => None,
        }
    }

    fn group_version(self) -> &'static str {
        match self {
            Version::V1 => "authorization.k8s.io/v1",
            Version::V1Beta1 => "authorization.k8s.io/v1beta1",
        }
    }

    /// Builds the body of a review.
    pub(super) fn build_review(self, spec: Value) -> Vec<u8> {
        let review = json!({
            "kind": "SubjectAccessReview",
            "apiVersion": self.group_version(),
            "metadata": {},
            "spec": spec,
            "status": {"allowed": false},
        });
        review.to_string().into_bytes()
    }

    /// Parses a response body.
    ///
    /// # Errors
    /// The body is not a review.
    pub(super) fn verdict(self, body: &[u8]) -> Result<ReviewStatus, Error> {
        let meta =
            schema::json::type_meta(body).map_err(|error| error.to_string()).map_err(Error::Evaluation)?;
        let is_expected = |actual: &str, expected: &str| actual.is_empty() || actual == expected;
        if !is_expected(&meta.kind, "SubjectAccessReview")
            || !is_expected(&meta.api_version, self.group_version())
        {
            return Err(Error::Evaluation(format!(
                "no kind {} is registered for version {}",
                ForeignText::new(&meta.kind).quoted(),
                ForeignText::new(&meta.api_version).quoted()
            )));
        }
        let review: Value = serde_json::from_slice(body)
            .map_err(|error| Error::Evaluation(ForeignText::displayed(error).into()))?;
        let status = match review.get("status") {
            None | Some(Value::Null) => return Ok(ReviewStatus::default()),
            Some(status) => status
                .as_object()
                .ok_or_else(|| Error::Evaluation("the status of the review is no object".to_owned()))?,
        };
        let flag = |name: &str| match status.get(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => {
                Err(Error::Evaluation(format!("status.{name} of the review is neither true nor false")))
            }
        };
        let reason = ForeignText::new(status.get("reason").and_then(Value::as_str).unwrap_or_default());
        let reason = reason.as_str().into();
        Ok(ReviewStatus { allowed: flag("allowed")?, denied: flag("denied")?, reason })
    }
}

/// Response of a webhook.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ReviewStatus {
    pub(super) allowed: bool,
    pub(super) denied: bool,
    pub(super) reason: Arc<str>,
}

/// True if the client-controlled parts are small enough for the cache.
pub(super) fn is_cacheable(attributes: &Attributes<'_>) -> bool {
    let a = attributes;
    let texts = [a.namespace, a.verb, a.group, a.version, a.resource, a.subresource, a.name, a.path];
    texts.iter().map(|text| text.len()).sum::<usize>() < CACHED_BYTES_MAX
}

/// Builds the spec of a review without empty fields, as upstream writes it.
pub(super) fn spec(attributes: &Attributes<'_>, version: Version) -> Value {
    let mut spec = Object::new();
    let user = attributes.user;
    let a = attributes;
    if a.resource_request {
        let mut members = texts(&resource(a), false);
        members.extend(selectors(a));
        spec.insert("resourceAttributes", Value::Object(members));
    } else {
        let path = texts(&[("path", a.path), ("verb", a.verb)], false);
        spec.insert("nonResourceAttributes", Value::Object(path));
    }
    spec.extend(texts(&[("user", &user.name), ("uid", &user.uid)], false));
    let groups = match version {
        Version::V1 => "groups",
        Version::V1Beta1 => "group",
    };
    if !user.groups.is_empty() {
        spec.insert(groups.to_owned(), json!(user.groups));
    }
    if !user.extra.is_empty() {
        spec.insert("extra", json!(user.extra));
    }
    Value::Object(spec)
}

/// Builds the spec with empty fields, for match conditions.
pub(super) fn for_conditions(attributes: &Attributes<'_>) -> Value {
    let user = attributes.user;
    let a = attributes;
    let mut request = texts(&[("user", &user.name), ("uid", &user.uid)], true);
    request.insert("groups", json!(user.groups));
    request.insert("extra", json!(user.extra));
    if a.resource_request {
        let mut members = texts(&resource(a), true);
        members.extend(selectors(a));
        request.insert("resourceAttributes", Value::Object(members));
    } else {
        let path = texts(&[("path", a.path), ("verb", a.verb)], true);
        request.insert("nonResourceAttributes", Value::Object(path));
    }
    Value::Object(request)
}

fn resource<'a>(a: &Attributes<'a>) -> [(&'static str, &'a str); 7] {
    [
        ("namespace", a.namespace),
        ("verb", a.verb),
        ("group", a.group),
        ("version", a.version),
        ("resource", a.resource),
        ("subresource", a.subresource),
        ("name", a.name),
    ]
}

/// Returns the non-empty selectors of a request.
fn selectors(a: &Attributes<'_>) -> impl Iterator<Item = (String, Value)> {
    let fields: Vec<Value> = a.selectors.fields.read.iter().map(field_requirement).collect();
    let labels: Vec<Value> = a.selectors.labels.read.iter().filter_map(label_requirement).collect();
    let selectors = [("fieldSelector", fields), ("labelSelector", labels)].into_iter();
    selectors
        .filter(|(_, requirements)| !requirements.is_empty())
        .map(|(name, requirements)| (name.to_owned(), json!({"requirements": requirements})))
}

fn field_requirement(requirement: &fields::Requirement) -> Value {
    let operator = match requirement.operator {
        fields::Operator::Equals => "In",
        fields::Operator::NotEquals => "NotIn",
    };
    json!({"key": requirement.field, "operator": operator, "values": [requirement.value]})
}

/// Converts a label requirement; `None` if reviews cannot express it. The review is then broader.
fn label_requirement(requirement: &labels::Requirement) -> Option<Value> {
    use labels::Operator;
    let operator = match requirement.operator() {
        Operator::Equals | Operator::DoubleEquals | Operator::In => "In",
        Operator::NotEquals | Operator::NotIn => "NotIn",
        Operator::Exists => "Exists",
        Operator::DoesNotExist => "DoesNotExist",
        Operator::GreaterThan | Operator::LessThan => return None,
    };
    let mut object = Object::new();
    object.insert("key", requirement.key().into());
    object.insert("operator", operator.into());
    if !requirement.values().is_empty() {
        object.insert("values", json!(requirement.values()));
    }
    Some(Value::Object(object))
}

/// Builds string fields; `all` includes empty ones.
fn texts(members: &[(&str, &str)], all: bool) -> Object {
    let selected = members.iter().filter(|(_, text)| all || !text.is_empty());
    selected.map(|(name, text)| ((*name).to_owned(), Value::from(*text))).collect()
}
