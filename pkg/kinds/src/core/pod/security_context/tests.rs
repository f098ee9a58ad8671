//! Tests of containers' security contexts.

use super::super::capabilities::has_sys_admin_without_escalation;
use super::super::options::PodOptions;
use super::*;
use jsontree::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

fn texts_of(context: &Value, allow_privileged: bool, host_users: bool) -> Vec<String> {
    let Value::Object(context) = context else { unreachable!("tests give objects") };
    let pod = PodContext {
        os: None,
        volumes: &BTreeMap::new(),
        claims: &BTreeSet::new(),
        grace_period: None,
        restart_policy: "Always",
        host_users,
        options: &PodOptions { allow_privileged, ..PodOptions::default() },
    };
    let mut errors = ErrorList::new();
    security_context(context, &pod, &Path::root("s"), &mut errors);
    errors.iter().map(Error::to_string).collect()
}

fn check(context: Value, expected: &[&str]) {
    assert_eq!(texts_of(&context, true, true), expected, "{context}");
}

#[test]
fn ids_are_valid_linux_ids() {
    check(json!({"runAsUser": 0, "runAsGroup": 2147483647}), &[]);
    let detail = "must be between 0 and 2147483647, inclusive";
    check(
        json!({"runAsUser": -1, "runAsGroup": 2147483648_i64}),
        &[
            &format!("s.runAsUser: Invalid value: -1: {detail}"),
            &format!("s.runAsGroup: Invalid value: 2147483648: {detail}"),
        ],
    );
}

#[test]
fn privilege_may_be_disallowed() {
    let privileged = json!({"privileged": true});
    check(privileged.clone(), &[]);
    let expected = ["s.privileged: Forbidden: disallowed by cluster policy"];
    assert_eq!(texts_of(&privileged, false, true), expected);
}

#[test]
fn existing_sys_admin_is_tolerated() {
    let container = |escalation: Value| {
        let context =
            json!({"allowPrivilegeEscalation": escalation, "capabilities": {"add": ["CAP_SYS_ADMIN"]}});
        json!({"securityContext": context}).as_object().cloned().unwrap_or_default()
    };
    assert!(has_sys_admin_without_escalation(&container(json!(false))));
    assert!(has_sys_admin_without_escalation(&container(Value::Null)));
    assert!(!has_sys_admin_without_escalation(&container(json!(true))));
}

#[test]
fn privileged_containers_cannot_deny_escalation() {
    let value = "{\"Capabilities\":{\"Add\":[\"CAP_SYS_ADMIN\"],\"Drop\":null},\"Privileged\":true,\
        \"SELinuxOptions\":null,\"WindowsOptions\":null,\"RunAsUser\":null,\"RunAsGroup\":null,\
        \"RunAsNonRoot\":null,\"ReadOnlyRootFilesystem\":null,\"AllowPrivilegeEscalation\":false,\
        \"ProcMount\":null,\"SeccompProfile\":null,\"AppArmorProfile\":null}";
    let head = format!("s: Invalid value: {value}: cannot set `allowPrivilegeEscalation` to false and");
    check(
        json!({
            "privileged": true,
            "allowPrivilegeEscalation": false,
            "capabilities": {"add": ["CAP_SYS_ADMIN"]},
        }),
        &[&format!("{head} `privileged` to true"), &format!("{head} `capabilities.Add` CAP_SYS_ADMIN")],
    );
}

#[test]
fn unmasked_proc_needs_a_user_namespace() {
    let unmasked = json!({"procMount": "Unmasked"});
    let detail = "`hostUsers` must be false to use `Unmasked`";
    check(unmasked.clone(), &[&format!("s.procMount: Invalid value: \"Unmasked\": {detail}")]);
    assert!(texts_of(&unmasked, true, false).is_empty());
    check(
        json!({"procMount": "x"}),
        &["s.procMount: Unsupported value: \"x\": supported values: \"Default\", \"Unmasked\""],
    );
}

#[test]
fn local_profiles_are_named() {
    check(json!({"seccompProfile": {"type": "Localhost", "localhostProfile": "a/b"}}), &[]);
    check(
        json!({"seccompProfile": {"type": "Localhost"}, "appArmorProfile": {"type": "Localhost"}}),
        &[
            "s.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost",
            "s.appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost",
        ],
    );
    check(
        json!({
            "seccompProfile": {"type": "Unconfined", "localhostProfile": "p"},
            "appArmorProfile": {"type": "Unconfined", "localhostProfile": "p"},
        }),
        &[
            "s.seccompProfile.localhostProfile: Invalid value: \
             {\"Type\":\"Unconfined\",\"LocalhostProfile\":\"p\"}: can only be set when seccomp type is Localhost",
            "s.appArmorProfile.localhostProfile: Invalid value: \"p\": \
             can only be set when AppArmor type is Localhost",
        ],
    );
    check(
        json!({"seccompProfile": {}, "appArmorProfile": {}}),
        &[
            "s.seccompProfile.type: Required value: type is required when seccompProfile is set",
            "s.appArmorProfile.type: Required value: type is required when appArmorProfile is set",
        ],
    );
    let long = "x".repeat(4096);
    check(
        json!({"appArmorProfile": {"type": "Localhost", "localhostProfile": long}}),
        &["s.appArmorProfile.localhostProfile: Too long: may not be more than 4095 bytes"],
    );
    check(
        json!({"appArmorProfile": {"type": "Localhost", "localhostProfile": " p"}}),
        &["s.appArmorProfile.localhostProfile: Invalid value: \" p\": must not be padded with whitespace"],
    );
}

#[test]
fn windows_user_names_are_valid() {
    let check = |name: &str, expected: &[&str]| {
        let texts = texts_of(&json!({"windowsOptions": {"runAsUserName": name}}), true, true);
        let details: Vec<&str> = texts
            .iter()
            .filter_map(|text| text.split_once("\": runAsUserName"))
            .map(|(_, detail)| detail)
            .collect();
        assert_eq!(details, expected, "{name:?}");
        assert_eq!(texts.len(), expected.len());
    };
    check("ContainerAdministrator", &[]);
    check("corp.example\\me", &[]);
    check("a_b\\me", &[]);
    check("", &[" cannot be an empty string"]);
    check("a\u{7}", &[" cannot contain control characters"]);
    check("a\\b\\c", &[" cannot contain more than one backslash"]);
    check("a\\", &["'s User cannot be empty"]);
    check(".a_b\\me", &["'s Domain doesn't match the NetBios nor the DNS format"]);
    check(". .", &["'s User cannot contain only periods or spaces"]);
    check("a@b", &["'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"]);
    check(&"u".repeat(105), &["'s User length must not be longer than 104 characters"]);
    let domain = format!("{}\\u", "d".repeat(256));
    let no_domain = "'s Domain doesn't match the NetBios nor the DNS format";
    check(&domain, &["'s Domain length must be under 256 characters", no_domain]);
}

#[test]
fn credential_specs_are_neither_empty_nor_large() {
    check(
        json!({"windowsOptions": {"gmsaCredentialSpec": ""}}),
        &[
            "s.windowsOptions.gmsaCredentialSpec: Invalid value: \"\": gmsaCredentialSpec cannot be an empty string",
        ],
    );
    let large = json!({"windowsOptions": {"gmsaCredentialSpec": "x".repeat(65537)}});
    let texts = texts_of(&large, true, true);
    assert!(
        texts.iter().all(|text| text.ends_with("gmsaCredentialSpec size must be under 64 KiB")),
        "{texts:?}"
    );
    assert_eq!(texts.len(), 1);
}
