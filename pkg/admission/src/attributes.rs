//! Attributes of a request that admission plugins receive.

use std::fmt::Display;

use api::options::{CreateOptions, DeleteOptions, PatchOptions, UpdateOptions};
use api::resources::Resource;
use apimachinery::gvk::GroupResource;
use apimachinery::request_context::RequestContext;
use apimachinery::status::Status;
use apimachinery::user_info::UserInfo;
use schema::object::Object;

/// The operation that is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Create,
    Update,
    Delete,
    /// A connection to a pod, a node or a Service. Its options are passed as the object.
    Connect,
}

impl Operation {
    /// Returns the name that the rules of webhooks and policies use.
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
    /// Options of a write. The operation decides between `CreateOptions` and `UpdateOptions`.
    Write {
        /// A non-empty list means that nothing is stored.
        dry_run: &'a [String],
        /// The field manager, or empty if the client sent none.
        field_manager: &'a str,
        /// `Ignore`, `Warn`, `Strict`, or empty.
        field_validation: &'a str,
    },
    /// Options of a deletion, with the grace period that the kind fills in.
    Delete(&'a DeleteOptions),
    /// Connections have none.
    None,
}

impl Options<'_> {
    /// True if nothing will be stored or removed.
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
    /// Admission sees a patch as an update or a creation. The `force` of an apply is dropped.
    fn from(options: &'a PatchOptions) -> Self {
        let PatchOptions { dry_run, field_manager, field_validation, force: _ } = options;
        Options::Write { dry_run, field_manager, field_validation }
    }
}

/// One operation under admission. Objects have the shape of their storage version.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a> {
    pub operation: Operation,
    pub user: &'a UserInfo,
    /// The resource itself, in the version of the request.
    pub resource: &'a Resource<'a>,
    /// The endpoint of the request: the resource or one of its subresources. It has the kind of the object,
    /// in the client's version.
    pub endpoint: &'a Resource<'a>,
    /// Namespace, or empty. A Namespace object has its own name here.
    pub namespace: &'a str,
    /// Name. Empty before a name is generated, and for each object of a deleted collection.
    pub name: &'a str,
    /// Prefix for a generated name, or empty.
    pub generate_name: &'a str,
    /// The stored object. `None` for creations and connections.
    pub old: Option<&'a Object>,
    pub options: Options<'a>,
    /// Request id, time and source of the request.
    pub request: &'a RequestContext,
}

impl<'a> Attributes<'a> {
    /// Subresource, or empty.
    pub fn subresource(&self) -> &'a str {
        self.endpoint.subresource
    }

    /// True for this resource, or for this subresource of it.
    pub fn is(&self, group: &str, plural: &str, subresource: &str) -> bool {
        (self.resource.group, self.resource.plural, self.subresource()) == (group, plural, subresource)
    }

    /// True for pods themselves, not for their subresources.
    pub fn is_pod(&self) -> bool {
        self.is("", "pods", "")
    }

    /// True for namespaces and for subresources that return one.
    pub fn is_namespace(&self) -> bool {
        self.resource.group.is_empty() && self.resource.kind == "Namespace"
    }

    /// True if a new object will be written.
    pub fn creates(&self) -> bool {
        self.operation == Operation::Create
    }

    /// True if a new or changed object will be written.
    pub fn writes(&self) -> bool {
        matches!(self.operation, Operation::Create | Operation::Update)
    }

    /// True if nothing will be stored or removed.
    pub fn dry_run(&self) -> bool {
        self.options.dry_run()
    }

    /// Builds the options as a `meta.k8s.io/v1` object. Every call allocates a new one.
    pub fn options_object(&self) -> Option<Object> {
        let (kind, mut members) = match self.options {
            Options::Write { dry_run, field_manager, field_validation } => {
                let kind = if self.creates() { "CreateOptions" } else { "UpdateOptions" };
                let texts = [("fieldManager", field_manager), ("fieldValidation", field_validation)];
                let nonempty = texts.into_iter().filter(|(_, text)| !text.is_empty());
                let mut members: Object =
                    nonempty.map(|(name, text)| (name.to_owned(), text.into())).collect();
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

    /// Returns the resource for error messages.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(self.resource.group, self.resource.plural)
    }

    /// Builds the 403 for this operation (upstream's `NewForbidden`).
    pub fn forbidden(&self, cause: impl Display) -> Box<Status> {
        let name = match (self.name, self.generate_name) {
            ("", "") => "Unknown",
            ("", prefix) => prefix,
            (name, _) => name,
        };
        Status::forbidden(&self.group_resource(), name, &cause.to_string()).into()
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
    fn forbidden_contains_name_or_generate_name() {
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
    fn options_have_kind_of_operation() {
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
