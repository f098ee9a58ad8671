//! Parsing and evaluation of policies.
#![allow(clippy::unwrap_used)]

use apimachinery::user_info::UserInfo;

use super::*;
use crate::Stage;

const HEAD: &str = "apiVersion: audit.k8s.io/v1\nkind: Policy\n";

fn parse(text: &str) -> Result<Policy, Error> {
    Policy::parse(text.as_bytes()).map(|(policy, _)| policy)
}

fn ann() -> UserInfo {
    UserInfo { name: "ann".to_owned(), groups: vec!["dev".to_owned()], ..UserInfo::default() }
}

/// True if a rule with these members matches ann's request.
fn matches(rule: &str, change: impl FnOnce(&mut Attributes<'_>)) -> bool {
    let policy = parse(&format!("{HEAD}rules: [{{level: Metadata, {rule}}}]")).unwrap();
    let user = ann();
    let mut attributes = Attributes {
        verb: "get",
        resource_request: true,
        namespace: "ns",
        version: "v1",
        resource: "pods",
        name: "a",
        ..Attributes::of_user(&user)
    };
    change(&mut attributes);
    policy.evaluate(&attributes, true).level == Level::Metadata
}

#[test]
fn rule_requires_all_lists_to_match() {
    let check = |rule: &str, expected: bool| assert_eq!(matches(rule, |_| ()), expected, "{rule}");
    check("", true);
    check("users: [bob, ann]", true);
    check("users: [bob]", false);
    check("userGroups: [ops, dev]", true);
    check("userGroups: [ops]", false);
    check("verbs: [get], users: [ann]", true);
    check("verbs: [list], users: [ann]", false);
    check("namespaces: [ns]", true);
    check("namespaces: [\"\"]", false);
    check("resources: [{group: \"\"}]", true);
    check("resources: [{group: apps}]", false);
    check("resources: [{group: \"*\", resources: [pods]}]", true);
    check("resources: [{resources: [secrets, pods], resourceNames: [b, a]}]", true);
    check("resources: [{resources: [pods], resourceNames: [b]}]", false);
    check("resources: [{resources: [pods/*]}]", true);
    check("resources: [{resources: [\"*\"]}]", true);
    check("resources: [{resources: [pods/log]}]", false);
    check("resources: [{resources: [\"*/log\"]}]", false);
    check("nonResourceURLs: [\"*\"]", false);
}

#[test]
fn subresource_matching() {
    for (spec, expected) in [
        ("pods", false),
        ("pods/log", true),
        ("pods/*", true),
        ("*/log", true),
        ("*", true),
        ("*/exec", false),
    ] {
        let rule = format!("resources: [{{resources: [\"{spec}\"]}}]");
        assert_eq!(matches(&rule, |attributes| attributes.subresource = "log"), expected, "{spec}");
    }
}

#[test]
fn paths_match_exactly_or_by_prefix() {
    for (spec, expected) in
        [("/healthz", false), ("/healthz*", true), ("/healthz/ping", true), ("*", true), ("/metrics*", false)]
    {
        let rule = format!("nonResourceURLs: [\"{spec}\"]");
        let other = |attributes: &mut Attributes<'_>| {
            (attributes.resource_request, attributes.path) = (false, "/healthz/ping");
        };
        assert_eq!(matches(&rule, other), expected, "{spec}");
        assert!(!matches("namespaces: [ns]", other));
    }
}

#[test]
fn the_first_rule_that_matches_decides() {
    let text = format!(
        "{HEAD}omitStages: [Panic]\nomitManagedFields: true\nrules:\n\
         - {{level: None, users: [ann], verbs: [list]}}\n\
         - {{level: Request, users: [ann], omitStages: [RequestReceived], omitManagedFields: false}}\n\
         - {{level: Metadata, verbs: [get]}}\n"
    );
    let policy = parse(&text).unwrap();
    let user = ann();
    let check = |verb: &str, known: bool, level: Level, stages: &[Stage], without: bool| {
        let attributes = Attributes { verb, ..Attributes::of_user(&user) };
        let omit_stages = stages.iter().copied().collect();
        let expected = Verdict { level, omit_stages, omit_managed_fields: without };
        assert_eq!(policy.evaluate(&attributes, known), expected, "{verb}");
    };
    check("list", true, Level::None, &[Stage::Panic], true);
    check("get", true, Level::Request, &[Stage::Panic, Stage::RequestReceived], false);
    check("get", false, Level::Metadata, &[Stage::Panic], true);
    check("put", false, Level::None, &[Stage::Panic], true);
}

#[test]
fn invalid_policies_get_upstream_errors() {
    let check = |text: &str, expected: &str| {
        assert_eq!(parse(&format!("{HEAD}{text}")).err().unwrap().to_string(), expected, "{text}");
    };
    check("", "loaded illegal policy with 0 rules");
    check("rules: [{}]", "rules[0].level: Required value");
    check(
        "rules: [{level: All}]",
        "rules[0].level: Unsupported value: \"All\": supported values: \"None\", \"Metadata\", \"Request\", \
         \"RequestResponse\"",
    );
    check(
        "omitStages: [foo]\nrules: [{level: None, nonResourceURLs: [healthz, /a*b]}]",
        "[omitStages[0]: Invalid value: \"foo\": allowed stages are \
         RequestReceived,ResponseStarted,ResponseComplete,Panic, rules[0].nonResourceURLs[0]: Invalid value: \
         \"healthz\": non-resource URL rules must begin with a '/' character, rules[0].nonResourceURLs[1]: Invalid \
         value: \"/a*b\": non-resource URL wildcards '*' must be the final character of the rule]",
    );
    check(
        "rules: [{level: None, namespaces: [a], nonResourceURLs: [/a]}]",
        "rules[0].nonResourceURLs: Invalid value: [\"/a\"]: rules cannot apply to both regular resources and \
         non-resource URLs",
    );
    check(
        "rules: [{level: None, resources: [{resourceNames: [a]}]}]",
        "rules[0].resources.resourceNames: Invalid value: [\"a\"]: using resourceNames requires at least one resource",
    );
    check(
        "rules: {}",
        "failed decoding: json: cannot unmarshal object into Go struct field Policy.rules of type []v1.PolicyRule",
    );
    let other = parse("apiVersion: audit.k8s.io/v1beta1\nkind: Policy\n").unwrap_err().to_string();
    assert!(other.starts_with("failed decoding: no kind \"Policy\" is registered for version"), "{other}");
}

#[test]
fn unknown_fields_are_ignored_with_a_warning() {
    let text =
        format!("{HEAD}metadata: {{name: x, labels: {{a: b}}}}\nrules: [{{level: None, verb: [get]}}]\n");
    let (policy, warning) = Policy::parse(text.as_bytes()).unwrap();
    assert_eq!(policy.rules.len(), 1);
    assert_eq!(warning.as_deref(), Some("strict decoding error: unknown field \"rules[0].verb\""));
}
