//! Discovery documents as trees, in the types of `metav1` (legacy discovery) and `apidiscovery/v2`
//! (aggregated discovery).

use jsontree::{Value, json};
use schema::object::Object;

use super::model::{ApiResource, Group, Source, Text, Version};

/// `/api`: the versions of the core group and the server address. For clients older than 1.2 it has a kind
/// but no `apiVersion`.
pub(super) fn api_versions(core: Option<&Group>, server_address: &str) -> Object {
    let versions: Vec<&str> = core.into_iter().flat_map(|g| &g.versions).map(|v| v.name.as_ref()).collect();
    object(json!({
        "kind": "APIVersions",
        "versions": versions,
        "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": server_address }],
    }))
}

/// `/apis`: all named groups.
pub(super) fn api_group_list<'g>(groups: impl Iterator<Item = &'g Group>) -> Object {
    let groups: Vec<Value> = groups.map(group_entry).collect();
    object(json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups }))
}

/// `/apis/<group>`.
pub(super) fn api_group(group: &Group) -> Object {
    let mut tree = object(group_entry(group));
    tree.insert("kind", "APIGroup".into());
    tree.insert("apiVersion", "v1".into());
    tree
}

fn group_entry(group: &Group) -> Value {
    let entry =
        |version: &Version| json!({ "groupVersion": group.group_version(version), "version": version.name });
    json!({
        "name": group.name,
        "versions": group.versions.iter().map(entry).collect::<Vec<_>>(),
        "preferredVersion": group.versions.first().map(entry),
    })
}

/// `/api/v1` and `/apis/<group>/<version>`. The core group's document has no `apiVersion`, like `/api`.
pub(super) fn api_resource_list(group: &Group, version: &Version) -> Object {
    let mut tree = object(json!({
        "kind": "APIResourceList",
        "groupVersion": group.group_version(version),
        "resources": version.resources.iter().map(resource_entry).collect::<Vec<_>>(),
    }));
    if !group.name.is_empty() {
        tree.insert("apiVersion", "v1".into());
    }
    tree
}

fn resource_entry(resource: &ApiResource) -> Value {
    let (group, version) = other_group_version(resource).unwrap_or_default();
    json!({
        "name": resource.name,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "group": group,
        "version": version,
        "kind": resource.kind,
        "verbs": resource.verbs,
        "shortNames": resource.short_names,
        "categories": resource.categories,
        "storageVersionHash": resource.storage_version_hash,
    })
}

/// Aggregated documents of `/api` and `/apis`, with resources. They can be large and are rebuilt whenever a
/// CRD changes. So members are moved into the tree; `json!` would serialize and parse them.
pub(super) fn aggregated<'g>(groups: impl Iterator<Item = &'g Group>) -> Object {
    let group = |group: &Group| {
        let versions: Vec<Value> = group.versions.iter().map(|v| aggregated_version(group, v)).collect();
        members([("metadata", members([("name", text(&group.name))])), ("versions", versions.into())])
    };
    object(members([
        ("kind", "APIGroupDiscoveryList".into()),
        ("apiVersion", "apidiscovery.k8s.io/v2".into()),
        ("items", groups.map(group).collect::<Vec<_>>().into()),
    ]))
}

fn aggregated_version(group: &Group, version: &Version) -> Value {
    if let Source::Proxied { stale } = version.source {
        let mut object = version.discovery.as_deref().cloned().unwrap_or_default();
        object.insert("version", version.name.clone().into());
        object.insert("freshness", if stale { "Stale" } else { "Current" }.into());
        return Value::Object(object);
    }
    // Only custom resources repeat the group and version of their endpoint.
    let default_group_version = match version.source {
        Source::Custom => (group.name.as_ref(), version.name.as_ref()),
        Source::Builtin | Source::Proxied { .. } => ("", ""),
    };
    let main = version.resources.iter().filter(|resource| !resource.name.contains('/'));
    let resources: Vec<Value> =
        main.map(|resource| aggregated_resource(version, resource, default_group_version)).collect();
    members([
        ("version", text(&version.name)),
        ("resources", resources.into()),
        ("freshness", "Current".into()),
    ])
}

fn aggregated_resource(version: &Version, resource: &ApiResource, default: (&str, &str)) -> Value {
    let kind = |resource: &ApiResource| {
        let (group, version) = other_group_version(resource).unwrap_or(default);
        members([("group", group.into()), ("version", version.into()), ("kind", text(&resource.kind))])
    };
    let subresource = |sub: &ApiResource| {
        let name = sub.name.strip_prefix(resource.name.as_ref())?.strip_prefix('/')?;
        let verbs = (*sub.verbs).into();
        Some(members([("subresource", name.into()), ("responseKind", kind(sub)), ("verbs", verbs)]))
    };
    let subresources: Vec<Value> = version.resources.iter().filter_map(subresource).collect();
    members([
        ("resource", text(&resource.name)),
        ("responseKind", kind(resource)),
        ("scope", if resource.namespaced { "Namespaced" } else { "Cluster" }.into()),
        ("singularResource", text(&resource.singular)),
        ("verbs", (*resource.verbs).into()),
        ("shortNames", resource.short_names.iter().map(text).collect::<Vec<_>>().into()),
        ("categories", resource.categories.iter().map(text).collect::<Vec<_>>().into()),
        ("subresources", subresources.into()),
    ])
}

fn members<const N: usize>(members: [(&'static str, Value); N]) -> Value {
    members.into_iter().collect()
}

fn text(text: &Text) -> Value {
    Value::from(&**text)
}

/// Returns group and version of the kind if they differ from the endpoint's.
fn other_group_version(resource: &ApiResource) -> Option<(&str, &str)> {
    resource.kind_group_version.as_ref().map(|(group, version)| (group.as_ref(), version.as_ref()))
}

fn object(tree: Value) -> Object {
    match tree {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}
