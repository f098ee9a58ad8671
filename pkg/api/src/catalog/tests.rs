//! Generations.
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
    let endpoints = vec![Arc::new(Endpoint { row, fields: None })];
    let versions = vec![Version { name: "v1".to_owned(), owner: Owner::Custom, endpoints }];
    Group { name: "example.com".to_owned(), priority: 1000, versions }
}

#[test]
fn every_row_that_is_served_is_found_and_no_other() {
    let catalog = usual();
    for row in resources::all() {
        let found = catalog.find(row.group, row.version, row.plural, row.subresource);
        assert_eq!(found.is_some(), !row.off_by_default, "{} {}", row.group_version, row.path());
        assert_eq!(catalog.serves(row), !row.off_by_default);
    }
    assert!(catalog.find("apps", "v1", "pods", "").is_none());
    assert!(catalog.group("internal.apiserver.k8s.io").is_none(), "a group without versions");
}

#[test]
fn what_comes_and_goes_leaves_the_others_shared() {
    let before = usual();
    let with = before.with(widgets());
    assert!(with.find("example.com", "v1", "widgets", "").is_some());
    assert!(before.find("example.com", "v1", "widgets", "").is_none(), "a generation does not change");
    let pods = |catalog: &Catalog| Arc::clone(catalog.find("", "v1", "pods", "").unwrap());
    assert!(Arc::ptr_eq(&pods(&before), &pods(&with)));
    let after = with.with(Group { versions: Vec::new(), ..widgets() });
    assert_eq!(after.groups().count(), before.groups().count());
}

#[test]
fn a_thousand_groups_that_came_and_went_leave_nothing() {
    let mut catalog = usual();
    let kept: Vec<_> = (0..1000)
        .map(|_| {
            catalog = catalog.with(widgets());
            let alive = Arc::downgrade(catalog.find("example.com", "v1", "widgets", "").unwrap());
            catalog = catalog.with(Group { versions: Vec::new(), ..widgets() });
            alive
        })
        .collect();
    assert!(kept.iter().all(|endpoint| endpoint.upgrade().is_none()));
}
