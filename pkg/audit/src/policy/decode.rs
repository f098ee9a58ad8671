//! Decodes policies. Like upstream, first strictly, then leniently if that fails.

use jsontree::{Object, Value};
use schema::configuration::{ConfigurationFile, FileKind, Members, Shape};

use crate::Error;

const RESOURCES: Members = Members {
    name: "GroupResources",
    all: &[("group", Shape::Text), ("resources", TEXTS), ("resourceNames", TEXTS)],
};
const RULE: Members = Members {
    name: "PolicyRule",
    all: &[
        ("level", Shape::Text),
        ("users", TEXTS),
        ("userGroups", TEXTS),
        ("verbs", TEXTS),
        ("resources", Shape::List(&Shape::Struct(&RESOURCES))),
        ("namespaces", TEXTS),
        ("nonResourceURLs", TEXTS),
        ("omitStages", TEXTS),
        ("omitManagedFields", Shape::Bool),
    ],
};
const TEXTS: Shape = Shape::List(&Shape::Text);
const FILE: ConfigurationFile = ConfigurationFile {
    kinds: &[FileKind { group: "audit.k8s.io", version: "v1", kind: "Policy" }],
    scheme: "k8s.io/apiserver/pkg/audit/scheme.go:30",
    strict: true,
    members: &Members {
        name: "Policy",
        all: &[
            ("metadata", Shape::Any),
            ("rules", Shape::List(&Shape::Struct(&RULE))),
            ("omitStages", TEXTS),
            ("omitManagedFields", Shape::Bool),
        ],
    },
};

/// A policy file before validation.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) rules: Vec<Rule>,
    pub(super) omit_stages: Vec<String>,
    pub(super) omit_managed_fields: bool,
}

#[derive(Debug, Default)]
pub(super) struct Rule {
    pub(super) level: String,
    pub(super) users: Vec<String>,
    pub(super) user_groups: Vec<String>,
    pub(super) verbs: Vec<String>,
    pub(super) resources: Vec<super::GroupResources>,
    pub(super) namespaces: Vec<String>,
    pub(super) non_resource_urls: Vec<String>,
    pub(super) omit_stages: Vec<String>,
    pub(super) omit_managed_fields: Option<bool>,
}

/// Decodes a file. Also returns the strict decoding error if lenient decoding ignored it.
pub(super) fn file(text: &[u8]) -> Result<(File, Option<String>), Error> {
    let (read, strict) =
        FILE.read_leniently(text).map_err(|error| Error::Invalid(format!("failed decoding: {error}")))?;
    let members = &read.members;
    let file = File {
        rules: objects(members, "rules").map(rule).collect(),
        omit_stages: texts(members, "omitStages"),
        omit_managed_fields: flag(members, "omitManagedFields").unwrap_or_default(),
    };
    Ok((file, strict))
}

fn rule(rule: &Object) -> Rule {
    let resources = objects(rule, "resources").map(|one| super::GroupResources {
        group: text(one, "group"),
        resources: texts(one, "resources"),
        resource_names: texts(one, "resourceNames"),
    });
    Rule {
        level: text(rule, "level"),
        users: texts(rule, "users"),
        user_groups: texts(rule, "userGroups"),
        verbs: texts(rule, "verbs"),
        resources: resources.collect(),
        namespaces: texts(rule, "namespaces"),
        non_resource_urls: texts(rule, "nonResourceURLs"),
        omit_stages: texts(rule, "omitStages"),
        omit_managed_fields: flag(rule, "omitManagedFields"),
    }
}

fn text(of: &Object, name: &str) -> String {
    of.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn flag(of: &Object, name: &str) -> Option<bool> {
    of.get(name).and_then(Value::as_bool)
}

fn list<'m>(of: &'m Object, name: &str) -> impl Iterator<Item = &'m Value> {
    of.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn texts(of: &Object, name: &str) -> Vec<String> {
    list(of, name).filter_map(Value::as_str).map(str::to_owned).collect()
}

fn objects<'m>(of: &'m Object, name: &str) -> impl Iterator<Item = &'m Object> {
    list(of, name).filter_map(Value::as_object)
}
