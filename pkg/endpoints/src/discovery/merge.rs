//! Merges the discovery documents of several servers into one aggregated document (upstream's
//! `peer_aggregated_handler.go`).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use api::tree::{child, list, text, texts};
use http::request::Parts;
use jsontree::Value;
use schema::object::Object;

use super::document::Document;
use super::{DocumentResult, accept, aggregated_response};

/// Merged document with its encodings.
pub(crate) struct MergedDiscovery {
    document: Document,
    tree: Object,
}

impl MergedDiscovery {
    /// Merges this server's document with those of its peers, by server name.
    pub(crate) fn new(local: (&str, Object), others: &BTreeMap<String, Vec<Object>>) -> Self {
        let (name, mut tree) = local;
        let groups = list(&tree, "items").iter().filter_map(Value::as_object).cloned().collect();
        let items = merge_groups((name, groups), others).into_iter().map(Value::Object).collect();
        tree.insert("items", Value::Array(items));
        MergedDiscovery { document: Document::default(), tree }
    }

    pub(crate) fn respond(&self, request: &Parts, options: accept::AggregatedOptions) -> DocumentResult {
        aggregated_response(request, &self.document, options, &|| self.tree.clone())
    }
}

/// Merges the groups of all servers. In the order of server names, each server adds the items that the
/// earlier ones lack.
pub(super) fn merge_groups(
    local: (&str, Vec<Object>),
    others: &BTreeMap<String, Vec<Object>>,
) -> Vec<Object> {
    let mut lists: BTreeMap<&str, &[Object]> =
        others.iter().map(|(name, groups)| (name.as_str(), groups.as_slice())).collect();
    lists.insert(local.0, &local.1);
    let lists: Vec<&[Object]> = lists.into_values().collect();
    merge(&lists, |group| child(group, "metadata").map_or("", |metadata| text(metadata, "name")), group)
}

/// Merges lists. Elements with the same name are combined.
fn merge<'o>(
    lists: &[&'o [Object]],
    name: impl Fn(&'o Object) -> &'o str,
    combine: impl Fn(&Object, &Object) -> Object,
) -> Vec<Object> {
    let names: Vec<Vec<&str>> = lists.iter().map(|list| list.iter().map(&name).collect()).collect();
    let mut elements: HashMap<&str, Cow<'_, Object>> = HashMap::new();
    for element in lists.iter().copied().flatten() {
        match elements.get_mut(name(element)) {
            None => drop(elements.insert(name(element), Cow::Borrowed(element))),
            Some(existing) if **existing == *element => {}
            Some(existing) => *existing = Cow::Owned(combine(existing, element)),
        }
    }
    order(&names).into_iter().filter_map(|name| Some(elements.remove(name)?.into_owned())).collect()
}

fn group(a: &Object, b: &Object) -> Object {
    merge_member(a, b, "versions", "version", version)
}

fn version(a: &Object, b: &Object) -> Object {
    merge_member(a, b, "resources", "resource", resource)
}

/// Returns the first object, with one member merged from both: a list of objects with a key.
fn merge_member(
    a: &Object,
    b: &Object,
    member: &str,
    key: &str,
    combine: fn(&Object, &Object) -> Object,
) -> Object {
    let of = |object: &Object| -> Vec<Object> {
        list(object, member).iter().filter_map(Value::as_object).cloned().collect()
    };
    let lists = [of(a), of(b)];
    let [first, second] = &lists;
    let all = merge(&[first.as_slice(), second.as_slice()], |element| text(element, key), combine);
    let mut merged = a.clone();
    if !all.is_empty() {
        merged.insert(member.to_owned(), Value::Array(all.into_iter().map(Value::Object).collect()));
    }
    merged
}

/// Returns the first resource, with the verbs and subresources of both, sorted.
fn resource(a: &Object, b: &Object) -> Object {
    let mut merged = a.clone();
    let verbs: BTreeSet<&str> = texts(a, "verbs").chain(texts(b, "verbs")).collect();
    let subresources = list(a, "subresources").iter().chain(list(b, "subresources"));
    let subresources = subresources.filter_map(Value::as_object);
    let subresources: BTreeMap<&str, &Object> =
        subresources.map(|subresource| (text(subresource, "subresource"), subresource)).collect();
    if !verbs.is_empty() {
        merged.insert("verbs", verbs.into_iter().collect());
    }
    if !subresources.is_empty() {
        let all = subresources.into_values().cloned().map(Value::Object).collect();
        merged.insert("subresources", Value::Array(all));
    }
    merged
}

/// Returns all names in an order that is consistent with each list if the lists agree, otherwise
/// alphabetically (apimachinery's `MergePreservingRelativeOrder`).
fn order<'n>(lists: &[Vec<&'n str>]) -> Vec<&'n str> {
    let mut successors: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for list in lists {
        for name in list {
            successors.entry(name).or_default();
        }
        for pair in list.windows(2) {
            if let [name, next] = pair {
                successors.entry(*name).or_default().insert(*next);
            }
        }
    }
    let is_complete = |list: &&Vec<&str>| {
        list.len() == successors.len() && list.iter().collect::<BTreeSet<_>>().len() == list.len()
    };
    if let Some(complete) = lists.iter().find(is_complete) {
        return complete.clone();
    }
    let mut waits: HashMap<&str, usize> = HashMap::new();
    successors.values().flatten().for_each(|name| *waits.entry(*name).or_default() += 1);
    let mut free: BTreeSet<&str> =
        successors.keys().copied().filter(|name| !waits.contains_key(name)).collect();
    let mut ordered = Vec::with_capacity(successors.len());
    while let Some(name) = free.pop_first() {
        ordered.push(name);
        for next in successors.get(name).into_iter().flatten() {
            if let Some(count) = waits.get_mut(next) {
                *count -= 1;
                if *count == 0 {
                    free.insert(*next);
                }
            }
        }
    }
    // Contradictory lists define no order.
    if ordered.len() < successors.len() { successors.into_keys().collect() } else { ordered }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use jsontree::json;

    use super::*;

    #[test]
    fn order_is_consistent_with_all_lists() {
        let check = |lists: &[&[&'static str]], expected: &[&str]| {
            let lists: Vec<Vec<&str>> = lists.iter().map(|list| list.to_vec()).collect();
            assert_eq!(order(&lists), expected, "{lists:?}");
        };
        check(&[], &[]);
        check(&[&["a", "b", "c"], &["b", "c"]], &["a", "b", "c"]);
        check(&[&["b", "a"], &["a"]], &["b", "a"]);
        check(&[&["a", "c"], &["b", "c"]], &["a", "b", "c"]);
        check(&[&["z", "c"], &["z", "b", "c", "a"]], &["z", "b", "c", "a"]);
        check(&[&["a", "b"], &["b", "a"]], &["a", "b"]);
        check(&[&["b", "a"], &["c", "a"], &["a", "b"]], &["a", "b", "c"]);
    }

    fn groups(value: Value) -> Vec<Object> {
        value.as_array().unwrap().iter().map(|group| group.as_object().unwrap().clone()).collect()
    }

    #[test]
    fn each_server_adds_its_own_resources() {
        let local = groups(json!([
            {"metadata": {"name": "apps"}, "versions": [
                {"version": "v1", "freshness": "Current", "resources": [
                    {"resource": "deployments", "verbs": ["list", "get"], "subresources": [{"subresource": "status"}]},
                ]},
            ]},
        ]));
        let remote = groups(json!([
            {"metadata": {"name": "apps"}, "versions": [
                {"version": "v2", "resources": [{"resource": "deployments", "verbs": ["get"]}]},
                {"version": "v1", "resources": [
                    {"resource": "deployments", "verbs": ["get", "patch"], "subresources": [{"subresource": "scale"}]},
                    {"resource": "statefulsets", "verbs": ["get"]},
                ]},
            ]},
            {"metadata": {"name": "batch"}, "versions": [{"version": "v1", "resources": []}]},
        ]));
        let expected = groups(json!([
            {"metadata": {"name": "apps"}, "versions": [
                {"version": "v2", "resources": [{"resource": "deployments", "verbs": ["get"]}]},
                {"version": "v1", "freshness": "Current", "resources": [
                    {
                        "resource": "deployments", "verbs": ["get", "list", "patch"],
                        "subresources": [{"subresource": "scale"}, {"subresource": "status"}],
                    },
                    {"resource": "statefulsets", "verbs": ["get"]},
                ]},
            ]},
            {"metadata": {"name": "batch"}, "versions": [{"version": "v1", "resources": []}]},
        ]));
        let peers = |groups: Vec<Object>| BTreeMap::from([("b".to_owned(), groups)]);
        assert_eq!(merge_groups(("a", local.clone()), &peers(remote)), expected);
        assert_eq!(merge_groups(("a", local.clone()), &peers(local.clone())), local);
        assert_eq!(merge_groups(("a", local.clone()), &BTreeMap::new()), local);
    }
}
