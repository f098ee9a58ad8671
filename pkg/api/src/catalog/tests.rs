//! Tests of catalog generations.
#![allow(clippy::unwrap_used, reason = "a test may say what must hold")]

use super::*;
use crate::resources::{CustomTexts, Handle};

fn usual() -> Catalog {
    Catalog::builtin(|row| !row.off_by_default)
}

fn widgets() -> Group {
    let texts = CustomTexts {
        group: "example.com".to_owned(),
        version: "v1".to_owned(),
        group_version: "example.com/v1".to_owned(),
        plural: "widgets".to_owned(),
        ..CustomTexts::default()
    };
    let row = Handle::custom(texts, |row, _| row);
    let endpoints = Endpoints::from_iter([Arc::new(Endpoint { row, fields: None })]);
    let versions = vec![Version { name: "v1".to_owned(), owner: Owner::Custom, priority: 100, endpoints }];
    Group { name: "example.com".to_owned(), priority: 1000, versions }
}

#[test]
fn served_resources_are_found() {
    let catalog = usual();
    for row in resources::all() {
        let endpoint = catalog.find(row.group, row.version, row.plural, row.subresource);
        assert_eq!(endpoint.is_some(), !row.off_by_default, "{} {}", row.group_version, row.path());
        assert_eq!(catalog.serves(row), !row.off_by_default);
    }
    assert!(catalog.find("apps", "v1", "pods", "").is_none());
    assert!(catalog.group("internal.apiserver.k8s.io").is_none(), "a group without versions");
}

#[test]
fn unchanged_groups_are_shared() {
    let before = usual();
    let with = before.with_group(widgets());
    assert!(with.find("example.com", "v1", "widgets", "").is_some());
    assert!(before.find("example.com", "v1", "widgets", "").is_none(), "a generation does not change");
    let pods = |catalog: &Catalog| Arc::clone(catalog.find("", "v1", "pods", "").unwrap());
    assert!(Arc::ptr_eq(&pods(&before), &pods(&with)));
    let after = with.with_group(Group { versions: Vec::new(), ..widgets() });
    assert_eq!(after.groups().count(), before.groups().count());
}

#[test]
fn removed_groups_leave_nothing() {
    let mut catalog = usual();
    let endpoints: Vec<_> = (0..1000)
        .map(|_| {
            catalog = catalog.with_group(widgets());
            let alive = Arc::downgrade(catalog.find("example.com", "v1", "widgets", "").unwrap());
            catalog = catalog.with_group(Group { versions: Vec::new(), ..widgets() });
            alive
        })
        .collect();
    assert!(endpoints.iter().all(|endpoint| endpoint.upgrade().is_none()));
}

fn proxied(name: &str, priority: i32) -> ProxiedVersion {
    ProxiedVersion { name: name.to_owned(), group_priority: 2000, priority, proxied: Arc::default() }
}

/// Returns the versions of the widget group. The boolean is true for a proxied version.
fn versions(catalog: &Catalog) -> Vec<(&str, bool)> {
    let versions = catalog.group("example.com").into_iter().flat_map(|group| &group.versions);
    versions.map(|version| (version.name.as_str(), matches!(version.owner, Owner::Proxied(_)))).collect()
}

#[test]
fn proxied_versions_hide_own_ones() {
    let catalog = usual().with_group(widgets());
    let hidden = catalog.with_proxied("example.com", vec![proxied("v1", 10)]);
    assert_eq!(versions(&hidden), [("v1", true)]);
    assert_eq!(hidden.group("example.com").unwrap().priority, 2000);
    assert!(!hidden.with_proxied("example.com", Vec::new()).has_proxied());
    assert_eq!(versions(&hidden.with_proxied("example.com", Vec::new())), [("v1", false)]);
    let removed = hidden.with_group(Group { versions: Vec::new(), ..widgets() });
    assert_eq!(versions(&removed), [("v1", true)]);
    assert_eq!(versions(&removed.with_proxied("example.com", Vec::new())), []);
}

#[test]
fn versions_are_sorted_by_priority_and_name() {
    let check = |versions_of_peers: Vec<ProxiedVersion>, expected: &[(&str, bool)]| {
        assert_eq!(
            versions(&usual().with_group(widgets()).with_proxied("example.com", versions_of_peers)),
            expected
        );
    };
    check(vec![proxied("v2", 200)], &[("v2", true), ("v1", false)]);
    check(vec![proxied("v2", 1)], &[("v1", false), ("v2", true)]);
    check(
        vec![proxied("v2beta1", 100), proxied("v2", 100)],
        &[("v2", true), ("v1", false), ("v2beta1", true)],
    );
}
