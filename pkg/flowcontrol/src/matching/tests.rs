//! Compiled matching compared with a naive evaluation of the rules, and special cases of upstream's rules.

use super::*;
use crate::config::Configuration;
use crate::testing::{Rng, schema};

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn resource_rule(verbs: &[&str], groups: &[&str], resources: &[&str], namespaces: &[&str]) -> ResourceRule {
    ResourceRule {
        verbs: texts(verbs),
        groups: texts(groups),
        resources: texts(resources),
        cluster_scope: namespaces.is_empty(),
        namespaces: texts(namespaces),
    }
}

fn everyone() -> Vec<Subject> {
    vec![Subject::Group("*".to_owned())]
}

/// Returns true if the only rule of the only schema matches.
fn matches(rule: Rule, digest: &RequestDigest<'_>) -> bool {
    let schema = FlowSchema { rules: vec![rule], ..schema("one", "one", 1, &[]) };
    Matcher::new(&[schema]).find(digest).is_some()
}

fn on_resource<'a>(
    verb: &'a str,
    resource: &'a str,
    subresource: &'a str,
    namespace: &'a str,
) -> RequestDigest<'a> {
    RequestDigest {
        user: "ann",
        groups: &[],
        verb,
        target: Target::Resource { group: "", resource, subresource, namespace },
    }
}

#[test]
fn subresource_needs_full_name_or_wildcard() {
    let check = |resources: &[&str], resource, subresource, expected| {
        let rule = resource_rule(&["*"], &["*"], resources, &["*"]);
        let rule = Rule { subjects: everyone(), resource_rules: vec![rule], ..Rule::default() };
        assert_eq!(matches(rule, &on_resource("get", resource, subresource, "a")), expected, "{resources:?}");
    };
    check(&["pods"], "pods", "", true);
    check(&["pods"], "pods", "status", false);
    check(&["nodes", "pods/status"], "pods", "status", true);
    check(&["pods/status"], "pods", "", false);
    check(&["pods/"], "pods", "", false);
    check(&["pods/*"], "pods", "status", false);
    check(&["*"], "pods", "unheard-of", true);
}

#[test]
fn requests_without_a_namespace_need_cluster_scope() {
    let check = |namespaces: &[&str], cluster_scope, namespace, expected| {
        let rule = resource_rule(&["get"], &[""], &["pods"], namespaces);
        let rule = ResourceRule { cluster_scope, ..rule };
        let rule = Rule { subjects: everyone(), resource_rules: vec![rule], ..Rule::default() };
        assert_eq!(matches(rule, &on_resource("get", "pods", "", namespace)), expected, "{namespaces:?}");
    };
    check(&["*"], false, "", false);
    check(&["*"], true, "", true);
    check(&[], true, "a", false);
    check(&["a", "b"], false, "b", true);
    check(&["a", "b"], false, "c", false);
}

#[test]
fn path_matches_its_subtree() {
    let check = |rule: &str, path, expected| {
        let paths = NonResourceRule { verbs: texts(&["get"]), paths: texts(&[rule]) };
        let rule = Rule { subjects: everyone(), non_resource_rules: vec![paths], ..Rule::default() };
        let digest = RequestDigest { user: "ann", groups: &[], verb: "get", target: Target::Path(path) };
        assert_eq!(matches(rule, &digest), expected, "{path}");
    };
    check("*", "/anything", true);
    check("/healthz", "/healthz", true);
    check("/healthz", "/healthz/ping", true);
    check("/healthz", "/healthzy", false);
    check("/apis/*", "/apis/apps", true);
    check("/apis/*", "/apis", false);
}

#[test]
fn service_accounts_match_by_user_name() {
    let check = |namespace: &str, name: &str, user, expected| {
        let subject = Subject::ServiceAccount { namespace: namespace.to_owned(), name: name.to_owned() };
        let rule = resource_rule(&["*"], &["*"], &["*"], &["*"]);
        let rule = Rule { subjects: vec![subject], resource_rules: vec![rule], ..Rule::default() };
        let digest = RequestDigest { user, ..on_resource("get", "pods", "", "a") };
        assert_eq!(matches(rule, &digest), expected, "{user}");
    };
    check("a", "b", "system:serviceaccount:a:b", true);
    check("a", "b", "system:serviceaccount:a:c", false);
    check("a", "*", "system:serviceaccount:a:c", true);
    check("a", "*", "system:serviceaccount:ab:c", false);
    check("a", "*", "system:serviceaccount:a", false);
    check("a", "*", "a", false);
}

#[test]
fn equal_precedence_is_ordered_by_name() {
    let named = |name, precedence| schema(name, "catch-all", precedence, &[]);
    let level = crate::testing::level("catch-all", 5, None);
    let schemas = vec![named("b", 7), named("c", 5), named("a", 7), named("0", 9)];
    let configuration = Configuration::new(schemas, vec![level], 10);
    let order: Vec<&str> = configuration.schemas.iter().map(|schema| schema.name.as_str()).collect();
    assert_eq!(order, ["exempt", "c", "a", "b", "0", "catch-all"]);
}

/// Returns true if a list, which may be a wildcard, contains a text.
fn has(list: &[String], text: &str) -> bool {
    list == ["*"] || list.iter().any(|member| member == text)
}

/// Evaluates the rules naively.
fn plainly(schemas: &[FlowSchema], digest: &RequestDigest<'_>) -> Option<usize> {
    let subject = |subject: &Subject| match subject {
        Subject::User(name) => name == "*" || name == digest.user,
        Subject::Group(name) => name == "*" || digest.groups.contains(name),
        Subject::ServiceAccount { namespace, name } if name == "*" => {
            digest.user.starts_with(&format!("system:serviceaccount:{namespace}:"))
        }
        Subject::ServiceAccount { namespace, name } => {
            digest.user == format!("system:serviceaccount:{namespace}:{name}")
        }
    };
    let target = |rule: &Rule| match digest.target {
        Target::Path(path) => rule.non_resource_rules.iter().any(|rule| {
            let below = |stem: &String| stem == "*" || path == stem || path.starts_with(&format!("{stem}/"));
            has(&rule.verbs, digest.verb) && rule.paths.iter().any(below)
        }),
        Target::Resource { group, resource, subresource, namespace } => {
            rule.resource_rules.iter().any(|rule| {
                let joined = if subresource.is_empty() {
                    resource.to_owned()
                } else {
                    format!("{resource}/{subresource}")
                };
                let scope =
                    if namespace.is_empty() { rule.cluster_scope } else { has(&rule.namespaces, namespace) };
                has(&rule.verbs, digest.verb)
                    && has(&rule.groups, group)
                    && has(&rule.resources, &joined)
                    && scope
            })
        }
    };
    schemas
        .iter()
        .position(|schema| schema.rules.iter().any(|rule| rule.subjects.iter().any(subject) && target(rule)))
}

/// Returns one to three members of `from`, or a wildcard.
fn some(rng: &mut Rng, from: &[&str]) -> Vec<String> {
    if rng.one_in(3) {
        texts(&["*"])
    } else {
        (0..=rng.below(3)).map(|_| one(rng, from).to_owned()).collect()
    }
}

fn one<'a>(rng: &mut Rng, from: &[&'a str]) -> &'a str {
    from[rng.below(from.len() as u64) as usize]
}

const USERS: [&str; 4] = ["ann", "bob", "system:serviceaccount:a:default", "system:serviceaccount:b:robot"];
const GROUPS: [&str; 4] = ["red", "green", "blue", "system:authenticated"];
const VERBS: [&str; 4] = ["get", "list", "create", "watch"];
const RESOURCES: [&str; 4] = ["pods", "pods/status", "nodes", "deployments"];
const API_GROUPS: [&str; 3] = ["", "apps", "batch"];
const NAMESPACES: [&str; 3] = ["a", "b", "c"];
const PATHS: [&str; 4] = ["/healthz", "/apis", "/apis/apps", "/version"];

fn random_rule(rng: &mut Rng) -> Rule {
    let subject = |rng: &mut Rng| match rng.below(4) {
        0 => Subject::User(one(rng, &["ann", "bob", "*"]).to_owned()),
        1 => Subject::ServiceAccount {
            namespace: one(rng, &["a", "b"]).to_owned(),
            name: one(rng, &["default", "robot", "*"]).to_owned(),
        },
        _ => Subject::Group(one(rng, &GROUPS).to_owned()),
    };
    let resource_rule = |rng: &mut Rng| ResourceRule {
        verbs: some(rng, &VERBS),
        groups: some(rng, &API_GROUPS),
        resources: some(rng, &RESOURCES),
        cluster_scope: rng.one_in(2),
        namespaces: some(rng, &NAMESPACES),
    };
    Rule {
        subjects: (0..=rng.below(2)).map(|_| subject(rng)).collect(),
        resource_rules: (0..rng.below(3)).map(|_| resource_rule(rng)).collect(),
        non_resource_rules: (0..rng.below(2))
            .map(|_| NonResourceRule { verbs: some(rng, &VERBS), paths: some(rng, &PATHS) })
            .collect(),
    }
}

#[test]
fn compiled_rules_match_like_naive_rules() {
    let mut rng = Rng(1);
    let mut counts = [0; 2];
    for _ in 0..300 {
        let rules = |rng: &mut Rng| (0..=rng.below(3)).map(|_| random_rule(rng)).collect();
        let schemas: Vec<FlowSchema> =
            (0..8).map(|_| FlowSchema { rules: rules(&mut rng), ..schema("x", "x", 1, &[]) }).collect();
        let matcher = Matcher::new(&schemas);
        for _ in 0..50 {
            let groups: Vec<String> = (0..rng.below(3)).map(|_| one(&mut rng, &GROUPS).to_owned()).collect();
            let (resource, subresource) =
                one(&mut rng, &["pods ", "pods status", "nodes ", "new "]).split_once(' ').unwrap();
            let target = if rng.one_in(4) {
                Target::Path(one(&mut rng, &["/healthz", "/healthz/etcd", "/apis/apps/v1", "/"]))
            } else {
                Target::Resource {
                    group: one(&mut rng, &["", "apps", "new"]),
                    resource,
                    subresource,
                    namespace: one(&mut rng, &["", "a", "c", "new"]),
                }
            };
            let digest = RequestDigest {
                user: one(&mut rng, &USERS),
                groups: &groups,
                verb: one(&mut rng, &VERBS),
                target,
            };
            let expected = plainly(&schemas, &digest);
            counts[usize::from(expected.is_some())] += 1;
            assert_eq!(matcher.find(&digest), expected, "{digest:?} {schemas:#?}");
        }
    }
    assert!(counts.iter().all(|&count| count > 1_000), "{counts:?}");
}
