//! Tests of valid and invalid configurations.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::webhook::Version;

const HEAD: &str = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n";

/// Webhook entry with an existing kubeconfig file.
fn webhook(name: &str, more: &str) -> String {
    let file = std::env::current_exe().unwrap();
    format!(
        "- type: Webhook\n  name: {name}\n  webhook:\n    timeout: 3s\n    failurePolicy: Deny\n    \
         subjectAccessReviewVersion: v1\n    connectionInfo: {{type: KubeConfigFile, kubeConfigFile: {}}}\n{more}",
        file.display()
    )
}

fn parse(authorizers: &str) -> Result<Configuration, crate::Error> {
    Configuration::parse(format!("{HEAD}{authorizers}").as_bytes(), &BTreeSet::new())
}

fn check(authorizers: &str, expected: &str) {
    assert_eq!(parse(authorizers).unwrap_err().to_string(), expected, "{authorizers}");
}

#[test]
fn a_configuration_is_a_list_in_order() {
    let conditions = "    matchConditionSubjectAccessReviewVersion: v1\n    matchConditions:\n    - expression: request.user != 'a'\n    cacheAuthorizedRequests: false\n";
    let text = format!(
        "- type: Node\n  name: node\n{}{}- type: RBAC\n  name: rbac\n",
        webhook("a.b", ""),
        webhook("c", conditions)
    );
    let config = parse(&text).unwrap();
    let names: Vec<_> =
        config.authorizers.iter().map(|configured| (configured.mode, &*configured.name)).collect();
    assert_eq!(
        names,
        [(Mode::Node, "node"), (Mode::Webhook, "a.b"), (Mode::Webhook, "c"), (Mode::Rbac, "rbac")]
    );
    let webhooks: Vec<_> =
        config.authorizers.iter().filter_map(|configured| configured.webhook.as_ref()).collect();
    let ttls: Vec<_> = webhooks.iter().map(|webhook| webhook.options.authorized_ttl.as_secs()).collect();
    assert_eq!(ttls, [300, 0]);
    assert!(webhooks.iter().all(|webhook| webhook.options.unauthorized_ttl.as_secs() == 30));
    assert!(
        webhooks
            .iter()
            .all(|webhook| webhook.options.deny_on_error && webhook.options.version == Version::V1)
    );
    assert_eq!(parse(&text).unwrap(), config);
    assert_ne!(parse(&text.replace("!= 'a'", "!= 'b'")).unwrap(), config);
}

#[test]
fn only_three_versions_are_accepted() {
    for version in ["v1", "v1beta1", "v1alpha1"] {
        let text = HEAD.replace("io/v1", &format!("io/{version}")) + "- {type: RBAC, name: rbac}\n";
        assert!(Configuration::parse(text.as_bytes(), &BTreeSet::new()).is_ok(), "{version}");
    }
    let check = |text: &str, expected: &str| {
        let error = Configuration::parse(text.as_bytes(), &BTreeSet::new()).unwrap_err();
        assert_eq!(
            error.to_string().strip_prefix("failed to load AuthorizationConfiguration from file: "),
            Some(expected)
        );
    };
    check(
        "kind: AuthorizationConfiguration",
        "Object 'apiVersion' is missing in 'kind: AuthorizationConfiguration'",
    );
    check(
        "apiVersion: apiserver.config.k8s.io/v2\nkind: AuthorizationConfiguration",
        "no kind \"AuthorizationConfiguration\" is registered for version \"apiserver.config.k8s.io/v2\" in scheme \"k8s.io/apiserver/pkg/apis/apiserver/load/load.go:32\"",
    );
    check(
        &format!("{HEAD}- type: RBAC\n  name: rbac\n  webhok: {{}}\nmore: 1\n"),
        "strict decoding error: unknown field \"authorizers[0].webhok\", unknown field \"more\"",
    );
    check(
        &format!("{HEAD}- type: 1\n"),
        "json: cannot unmarshal number into Go struct field AuthorizerConfiguration.authorizers.type of type string",
    );
    let empty = Configuration::parse(b"", &BTreeSet::new()).unwrap_err();
    assert_eq!(
        empty,
        crate::Error::Invalid(
            "authorizers: Required value: at least one authorization mode must be defined".to_owned()
        )
    );
}

#[test]
fn authorizers_need_type_and_unique_name() {
    check("- {name: x}", "authorizers[0].type: Required value");
    check(
        "- {type: X}",
        "authorizers[0].type: Unsupported value: \"X\": supported values: \"ABAC\", \"AlwaysAllow\", \"AlwaysDeny\", \"Node\", \"RBAC\", \"Webhook\"",
    );
    check(
        "- {type: RBAC, name: rbac}\n- {type: RBAC, name: r}",
        "authorizers[1].type: Duplicate value: \"RBAC\"",
    );
    check("- {type: RBAC}", "authorizers[0].name: Required value");
    check("- {type: RBAC, name: r}", "expected name rbac for authorizer RBAC instead of r");
    check(&(webhook("a", "") + &webhook("a", "")), "authorizers[1].name: Duplicate value: \"a\"");
    check("- {type: Webhook, name: a}", "authorizers[0].webhook: Required value: required when type=Webhook");
    check(
        "- {type: RBAC, name: rbac, webhook: {}}",
        "authorizers[0].webhook: Invalid value: \"non-null\": may only be specified when type=Webhook",
    );
    assert!(
        parse(&webhook("A_", ""))
            .unwrap_err()
            .to_string()
            .contains("authorizers[0].name: Invalid value: \"A_\": authorizer name is invalid: ")
    );
}

#[test]
fn webhook_options_are_validated() {
    let with = |from: &str, to: &str| webhook("a", "").replace(from, to);
    check(&with("timeout: 3s", "timeout: 0s"), "authorizers[0].timeout: Required value");
    for (text, shown) in [("31s", "31s"), ("-1s", "-1s")] {
        let expected = format!("authorizers[0].timeout: Invalid value: \"{shown}\": must be > 0s and <= 30s");
        check(&with("timeout: 3s", &format!("timeout: {text}")), &expected);
    }
    check(
        &webhook("a", "    authorizedTTL: -1s"),
        "authorizers[0].authorizedTTL: Invalid value: \"-1s\": must be > 0s",
    );
    check(
        &with("Version: v1", "Version: v2"),
        "authorizers[0].subjectAccessReviewVersion: Unsupported value: \"v2\": supported values: \"v1\", \"v1beta1\"",
    );
    check(
        &with("Deny", "deny"),
        "authorizers[0].failurePolicy: Unsupported value: \"deny\": supported values: \"NoOpinion\", \"Deny\"",
    );
    check(
        &webhook("a", "    matchConditions: [{expression: 'true'}]"),
        "authorizers[0].matchConditionSubjectAccessReviewVersion: Required value: required if match conditions are specified",
    );
    check(
        &with("type: KubeConfigFile, kubeConfigFile", "type: X, kubeConfigFile")
            .replace(&std::env::current_exe().unwrap().display().to_string(), "/x"),
        "authorizers[0].connectionInfo.type: Unsupported value: {\"Type\":\"X\",\"KubeConfigFile\":\"/x\"}: supported values: \"InClusterConfig\", \"KubeConfigFile\"",
    );
    let file = |path: &str| {
        format!(
            "- type: Webhook\n  name: a\n  webhook: {{timeout: 1s, failurePolicy: Deny, subjectAccessReviewVersion: v1, connectionInfo: {{type: KubeConfigFile, kubeConfigFile: {path}}}}}"
        )
    };
    let at = "authorizers[0].connectionInfo.kubeConfigFile: Invalid value: ";
    check(&file("x"), &format!("{at}\"x\": must be an absolute path"));
    check(
        &file("/nope/x"),
        &format!("{at}\"/nope/x\": error loading file: stat /nope/x: no such file or directory"),
    );
    check(&file("/"), &format!("{at}\"/\": must be a regular file"));
    check(&file("''"), "authorizers[0].connectionInfo.kubeConfigFile: Required value");
}

#[test]
fn initial_modes_cannot_be_removed() {
    let required = BTreeSet::from([Mode::Node, Mode::Abac, Mode::Webhook]);
    let text = format!("{HEAD}- {{type: Node, name: node}}\n");
    let error = Configuration::parse(text.as_bytes(), &required).unwrap_err();
    assert_eq!(error, crate::Error::Invalid("missing required types: [ABAC]".to_owned()));
}
