//! Benchmark of an RBAC decision in a large cluster: 2,000 roles, 5,000 bindings, 10,000 subjects.
#![allow(clippy::unwrap_used, reason = "a benchmark may say what must hold")]

use apimachinery::user_info::UserInfo;
use authorization::rbac::{Binding, Index, Rule, decide};
use authorization::{Attributes, Decision};
use divan::{Bencher, black_box};
use jsontree::json;

#[global_allocator]
static ALLOCATOR: divan::AllocProfiler = divan::AllocProfiler::system();

fn main() {
    divan::main();
}

/// Builds the cluster. `ann` has 20 bindings; the last one allows her to list pods. Every other rule matches
/// verb and group, so that its resources are scanned.
fn index() -> Index {
    let mut index = Index::default();
    for number in 0..2_000 {
        let resources: Vec<String> = (0..10).map(|n| format!("resource{number}x{n}")).collect();
        let rule = json!({"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": resources});
        let role = json!({"rules": [rule.clone(), rule]});
        index.set_role("", &format!("role{number}"), Some(Rule::all_of(role.as_object().unwrap())));
    }
    let pods = json!({"rules": [{"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}]});
    index.set_role("", "zz-pods", Some(Rule::all_of(pods.as_object().unwrap())));
    let mut bind = |name: &str, role: &str, users: &[String]| {
        let subjects: Vec<_> = users.iter().map(|user| json!({"kind": "User", "name": user})).collect();
        let binding = json!({"roleRef": {"kind": "ClusterRole", "name": role}, "subjects": subjects});
        index.set_binding("", name, Some(Binding::of(binding.as_object().unwrap(), "", name)));
    };
    for number in 0..4_980 {
        let users = [format!("user{}", number * 2), format!("user{}", number * 2 + 1)];
        bind(&format!("binding{number}"), &format!("role{}", number % 2_000), &users);
    }
    for number in 0..19 {
        bind(&format!("ann{number:02}"), &format!("role{number}"), &["ann".to_owned()]);
    }
    bind("zz-ann", "zz-pods", &["ann".to_owned()]);
    index
}

fn user(name: &str) -> UserInfo {
    let groups = vec!["system:authenticated".to_owned(), "developers".to_owned()];
    UserInfo { name: name.to_owned(), groups, ..UserInfo::default() }
}

/// Measures the decision about listing a resource. `by` is the expected binding, or `None` for a denial.
fn check(bencher: Bencher, name: &str, resource: &str, by: Option<&str>) {
    let index = index();
    let user = user(name);
    let attributes = Attributes {
        verb: "list",
        resource,
        namespace: "default",
        resource_request: true,
        ..Attributes::of_user(&user)
    };
    match (decide(&index, &attributes), by) {
        (Decision::Allow(reason), Some(binding)) => assert!(reason.contains(binding), "{reason}"),
        (decision, by) => assert!(by.is_none() && matches!(decision, Decision::NoOpinion(_))),
    }
    bencher.bench(|| decide(black_box(&index), black_box(&attributes)));
}

#[divan::bench]
fn the_last_of_twenty_bindings_allows(bencher: Bencher) {
    check(bencher, "ann", "pods", Some("zz-ann"));
}

#[divan::bench]
fn a_user_with_twenty_bindings_is_refused(bencher: Bencher) {
    check(bencher, "ann", "nodes", None);
}

#[divan::bench]
fn a_user_with_one_binding_is_refused(bencher: Bencher) {
    check(bencher, "user7", "pods", None);
}

#[divan::bench]
fn a_user_without_bindings_is_refused(bencher: Bencher) {
    check(bencher, "nobody", "pods", None);
}
