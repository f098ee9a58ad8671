//! Conversion of objects to the versions that webhooks and policies request.

use std::borrow::Cow;

use api::resources::{Handle, Resource};
use apimachinery::status::Status;
use async_trait::async_trait;
use jsontree::Value;
use schema::object::Object;
use schema::table::{Cardinality, Field, Message, Shape, Type};

use crate::{Attributes, ObjectError};

/// The resource and kind that a webhook or policy sees.
#[derive(Clone, Default)]
pub struct Invocation {
    /// An equivalent endpoint; `None` for the endpoint of the request.
    pub equivalent: Option<Handle>,
}

impl Invocation {
    /// Returns the endpoint whose resource and kind are shown.
    pub fn endpoint<'a>(&'a self, a: &Attributes<'a>) -> &'a Resource<'a> {
        self.equivalent.as_ref().map_or(a.endpoint, Handle::row)
    }
}

/// Finds equivalent endpoints and converts objects between their versions.
#[async_trait]
pub trait VersionConverter: Send + Sync + 'static {
    /// Changes whenever [`equivalents`](Self::equivalents) may have changed.
    fn generation(&self) -> u64;

    /// Returns the other endpoints for the same objects, in the order of preference.
    fn equivalents(&self, endpoint: &Resource<'_>) -> Vec<Handle>;

    /// Converts an object from its admission shape (see [`Attributes`]) to the version of an endpoint.
    ///
    /// # Errors
    /// The Status for the client.
    async fn to_version(
        &self,
        a: &Attributes<'_>,
        object: &Object,
        at: &Resource<'_>,
    ) -> Result<Object, Box<Status>>;

    /// Serializes an object that [`to_version`](Self::to_version) returned, as JSON for clients of the endpoint.
    ///
    /// # Errors
    /// The tree is not a valid object of its kind.
    fn to_json(&self, object: &Object, at: &Resource<'_>) -> Result<Vec<u8>, ObjectError>;

    /// Parses JSON that a webhook or policy has edited into the admission shape, with the defaults of that
    /// version.
    ///
    /// # Errors
    /// The JSON is not a valid object of the endpoint's kind.
    async fn parse_json(
        &self,
        a: &Attributes<'_>,
        text: &[u8],
        at: &Resource<'_>,
    ) -> Result<EditedObject, ObjectError>;
}

/// An object after an edit by a webhook or policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedObject {
    /// The object in admission shape.
    pub object: Object,
    /// Its labels are those of its pod template ([`kinds::defaults::shares_labels`]).
    pub shares_labels: bool,
}

impl EditedObject {
    /// Keeps the members of the object before the edit that the edited version lacks. Upstream converts the result into the
    /// existing object, so a webhook cannot remove what it cannot see.
    pub(crate) fn keep_unseen(&mut self, a: &Attributes<'_>, edited: &Resource<'_>, before: &Object) {
        if let Some(storage) = a.resource.storage.as_ref().filter(|_| a.endpoint.kind == a.resource.kind) {
            keep_unseen(edited.message, storage.message, before, &mut self.object);
        }
    }
}

/// Copies the members that the type `seen` lacks, here and in structs that are always present. A type with members of its own
/// represents some of the others in another form, so it lacks none.
fn keep_unseen(seen: &Message, stored: &Message, before: &Object, after: &mut Object) {
    let is_part = || seen.members.iter().all(|member| stored.names(member.name));
    if std::ptr::eq(seen, stored) || !is_part() {
        return;
    }
    for member in stored.members {
        let Some(former) = before.get(member.name) else { continue };
        let Some(counterpart) = seen.member(member.name) else {
            if !after.contains_key(member.name) {
                after.insert(member.field.member.clone(), former.clone());
            }
            continue;
        };
        if let (Some(seen), Some(stored)) = (always_present(counterpart), always_present(member.field))
            && let (Some(former), Some(Value::Object(after))) =
                (former.as_object(), after.get_mut(member.name))
        {
            keep_unseen(seen, stored, former, after);
        }
    }
}

/// Returns the struct of a field that is neither a pointer nor a list or map.
fn always_present(field: &Field) -> Option<&'static Message> {
    match field.ty {
        Type::Message(message)
            if field.cardinality == Cardinality::One && !field.pointer && message.shape == Shape::Struct =>
        {
            Some(message)
        }
        _ => None,
    }
}

/// A request in the version that a webhook or policy sees.
pub struct VersionedAttributes<'a> {
    pub attributes: &'a Attributes<'a>,
    /// The endpoint whose resource and kind are shown.
    pub endpoint: &'a Resource<'a>,
    /// The object to be written, or the options of a connection; `None` for deletions.
    pub object: Option<Cow<'a, Object>>,
    /// The stored object; `None` for creations and connections.
    pub old: Option<Cow<'a, Object>>,
}

impl<'a> VersionedAttributes<'a> {
    /// Converts an operation to the version of `endpoint`.
    ///
    /// # Errors
    /// The Status for the client if an object cannot be converted.
    pub async fn new(
        versions: &dyn VersionConverter,
        attributes: &'a Attributes<'a>,
        endpoint: &'a Resource<'a>,
        object: Option<&'a Object>,
    ) -> Result<Self, Box<Status>> {
        Ok(VersionedAttributes {
            attributes,
            endpoint,
            object: convert_optional(versions, attributes, endpoint, object).await?,
            old: convert_optional(versions, attributes, endpoint, attributes.old).await?,
        })
    }
}

async fn convert_optional<'a>(
    versions: &dyn VersionConverter,
    a: &Attributes<'_>,
    endpoint: &Resource<'_>,
    object: Option<&'a Object>,
) -> Result<Option<Cow<'a, Object>>, Box<Status>> {
    let Some(object) = object else { return Ok(None) };
    let version = api::tree::text(object, "apiVersion");
    let kind = api::tree::text(object, "kind");
    if (version, kind) == (endpoint.kind_group_version, endpoint.kind) {
        return Ok(Some(Cow::Borrowed(object)));
    }
    versions.to_version(a, object, endpoint).await.map(|object| Some(Cow::Owned(object)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use jsontree::json;
    use schema::builtin;

    use super::*;

    fn kept(seen: &str, stored: &str, kind: &str, before: &Value, after: Value) -> Value {
        let Value::Object(mut after) = after else { panic!("not an object: {after}") };
        let message = |version| builtin::kind(version, kind).unwrap();
        keep_unseen(message(seen), message(stored), before.as_object().unwrap(), &mut after);
        Value::Object(after)
    }

    #[test]
    fn members_that_the_version_lacks_are_kept() {
        let before = json!({"spec": {"nodeName": "a", "pkixPublicKey": "aw==", "proofOfPossession": "cA=="}});
        let versions = ["certificates.k8s.io/v1", "certificates.k8s.io/v1beta1"];
        assert_eq!(
            kept(
                versions[0],
                versions[1],
                "PodCertificateRequest",
                &before,
                json!({"spec": {"nodeName": "b"}})
            ),
            json!({"spec": {"nodeName": "b", "pkixPublicKey": "aw==", "proofOfPossession": "cA=="}}),
        );
    }

    #[test]
    fn members_in_another_form_are_not_kept() {
        let before = json!({"spec": {"metrics": [{"type": "Resource"}], "maxReplicas": 3}});
        let after = json!({"spec": {"maxReplicas": 4}});
        let versions = ["autoscaling/v1", "autoscaling/v2"];
        assert_eq!(kept(versions[0], versions[1], "HorizontalPodAutoscaler", &before, after.clone()), after);
    }

    #[test]
    fn removed_members_of_the_version_stay_removed() {
        let before = json!({"spec": {"nodeName": "a"}});
        let after = json!({"spec": {}});
        assert_eq!(kept("v1", "v1", "Pod", &before, after.clone()), after);
    }
}
