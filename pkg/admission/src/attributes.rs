//! What admission is told of a request.

use api::options::{CreateOptions, DeleteOptions, PatchOptions, UpdateOptions};
use api::resources::Resource;
use apimachinery::gvk::GroupResource;
use apimachinery::request_context::RequestContext;
use apimachinery::status::Status;
use apimachinery::user_info::UserInfo;
use schema::object::Object;

/// What is about to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A new object.
    Create,
    /// A changed object.
    Update,
    /// A deletion.
    Delete,
    /// A connection to a pod, a node or a Service; its options are the object.
    Connect,
}

impl Operation {
    /// As rules of webhooks and policies say it.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
            Operation::Connect => "CONNECT",
        }
    }
}

/// The options that the client sent with the operation.
#[derive(Debug, Clone, Copy)]
pub enum Options<'a> {
    /// Of a write: `CreateOptions` or `UpdateOptions`, as it turns out to be the one or the other.
    Write {
        /// Anything in here means that nothing is stored.
        dry_run: &'a [String],
        /// Who makes the change; empty if the client does not say.
        field_manager: &'a str,
        /// `Ignore`, `Warn`, `Strict`, or empty.
        field_validation: &'a str,
    },
    /// Of a deletion, with the grace period that the kind fills in.
    Delete(&'a DeleteOptions),
    /// Connections have none.
    None,
}

impl Options<'_> {
    /// Whether nothing will be stored or removed.
    pub fn dry_run(&self) -> bool {
        match self {
            Options::Write { dry_run, .. } => !dry_run.is_empty(),
            Options::Delete(options) => !options.dry_run.is_empty(),
            Options::None => false,
        }
    }
}

impl<'a> From<&'a CreateOptions> for Options<'a> {
    fn from(options: &'a CreateOptions) -> Self {
        let CreateOptions { dry_run, field_manager, field_validation } = options;
        Options::Write { dry_run, field_manager, field_validation }
    }
}

impl<'a> From<&'a UpdateOptions> for Options<'a> {
    fn from(options: &'a UpdateOptions) -> Self {
        let UpdateOptions { dry_run, field_manager, field_validation } = options;
        Options::Write { dry_run, field_manager, field_validation }
    }
}

impl<'a> From<&'a PatchOptions> for Options<'a> {
    /// Patches are updates or creations to admission; whether an apply is forced is not told.
    fn from(options: &'a PatchOptions) -> Self {
        let PatchOptions { dry_run, field_manager, field_validation, force: _ } = options;
        Options::Write { dry_run, field_manager, field_validation }
    }
}

/// An operation that asks for admission. Objects have the shape of their storage version.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a> {
    /// What is about to happen.
    pub operation: Operation,
    /// Who asks for it.
    pub user: &'a UserInfo,
    /// The row of the resource itself, in the version of the request.
    pub resource: &'a Resource<'a>,
    /// The row of the endpoint that the request went to: the resource's own or one of its subresources'. It
    /// names the kind of the object, in the version that the client speaks.
    pub endpoint: &'a Resource<'a>,
    /// Namespace, or empty. Namespaces are in themselves.
    pub namespace: &'a str,
    /// Name. Empty while a generated one is not known, and for each object of a deleted collection.
    pub name: &'a str,
    /// While there is no name: what a generated one will begin with, or empty.
    pub generate_name: &'a str,
    /// The object as it is; `None` for creations and connections.
    pub old: Option<&'a Object>,
    /// The options of the operation.
    pub options: Options<'a>,
    /// The request: its id, its time, where it came from.
    pub request: &'a RequestContext,
}

impl<'a> Attributes<'a> {
    /// Subresource, or empty.
    pub fn subresource(&self) -> &'a str {
        self.endpoint.subresource
    }

    /// Whether this is about a resource, or about that subresource of it.
    pub fn is(&self, group: &str, plural: &str, subresource: &str) -> bool {
        (self.resource.group, self.resource.plural, self.subresource()) == (group, plural, subresource)
    }

    /// Whether this is about pods themselves, not a subresource of them.
    pub fn is_pod(&self) -> bool {
        self.is("", "pods", "")
    }

    /// Whether this is about namespaces, or a subresource that shows one.
    pub fn is_namespace(&self) -> bool {
        self.resource.group.is_empty() && self.resource.kind == "Namespace"
    }

    /// Whether a new object is about to be written.
    pub fn creates(&self) -> bool {
        self.operation == Operation::Create
    }

    /// Whether a new or changed object is about to be written.
    pub fn writes(&self) -> bool {
        matches!(self.operation, Operation::Create | Operation::Update)
    }

    /// Whether nothing will be stored or removed.
    pub fn dry_run(&self) -> bool {
        self.options.dry_run()
    }

    /// The options as an object of `meta.k8s.io/v1`, made anew with every call.
    pub fn options_object(&self) -> Option<Object> {
        let (kind, mut members) = match self.options {
            Options::Write { dry_run, field_manager, field_validation } => {
                let kind = if self.creates() { "CreateOptions" } else { "UpdateOptions" };
                let texts = [("fieldManager", field_manager), ("fieldValidation", field_validation)];
                let given = texts.into_iter().filter(|(_, text)| !text.is_empty());
                let mut members: Object = given.map(|(name, text)| (name.to_owned(), text.into())).collect();
                if !dry_run.is_empty() {
                    members.insert("dryRun", dry_run.into());
                }
                (kind, members)
            }
            Options::Delete(options) => ("DeleteOptions", options.to_object()),
            Options::None => return None,
        };
        members.insert("kind", kind.into());
        members.insert("apiVersion", "meta.k8s.io/v1".into());
        Some(members)
    }

    /// The resource as refusals name it.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(self.resource.group, self.resource.plural)
    }

    /// 403 of this operation, for `cause` (upstream's `NewForbidden`).
    pub fn forbidden(&self, cause: &str) -> Box<Status> {
        let name = match (self.name, self.generate_name) {
            ("", "") => "Unknown",
            ("", prefix) => prefix,
            (name, _) => name,
        };
        Status::forbidden(&self.group_resource(), name, cause).into()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use jsontree::{Value, json};

    use super::*;
    use crate::testing::REQUEST;

    fn attributes<'a>(operation: Operation, user: &'a UserInfo, options: Options<'a>) -> Attributes<'a> {
        let pods = api::resources::find("", "v1", "pods", "").unwrap();
        Attributes {
            operation,
            user,
            resource: pods,
            endpoint: pods,
            namespace: "ns",
            name: "",
            generate_name: "",
            old: None,
            options,
            request: &REQUEST,
        }
    }

    #[test]
    fn a_refusal_names_what_is_known_of_the_name() {
        let check = |name: &str, generate_name: &str, expected: &str| {
            let user = UserInfo::default();
            let a = Attributes { name, generate_name, ..attributes(Operation::Create, &user, Options::None) };
            assert_eq!(a.forbidden("no").message, format!("pods \"{expected}\" is forbidden: no"));
        };
        check("a", "b-", "a");
        check("", "b-", "b-");
        check("", "", "Unknown");
    }

    #[test]
    fn options_are_objects_of_the_operations_kind() {
        let check = |operation: Operation, options: Options<'_>, expected: Value, dry_run: bool| {
            let user = UserInfo::default();
            let a = attributes(operation, &user, options);
            assert_eq!(a.options_object().map_or(Value::Null, Value::Object), expected);
            assert_eq!(a.dry_run(), dry_run);
        };
        let patch = PatchOptions {
            dry_run: vec!["All".to_owned()],
            force: Some(true),
            field_manager: "me".to_owned(),
            field_validation: String::new(),
        };
        let of = |kind: &str| json!({"kind": kind, "apiVersion": "meta.k8s.io/v1", "dryRun": ["All"], "fieldManager": "me"});
        check(Operation::Update, (&patch).into(), of("UpdateOptions"), true);
        check(Operation::Create, (&patch).into(), of("CreateOptions"), true);
        let deletion = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
        let expected =
            json!({"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", "gracePeriodSeconds": 0});
        check(Operation::Delete, Options::Delete(&deletion), expected, false);
        check(Operation::Connect, Options::None, Value::Null, false);
    }
}
