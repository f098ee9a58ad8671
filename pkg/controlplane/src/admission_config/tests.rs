//! Tests of plugin configuration files.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use super::*;

const HEAD: &str = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n";

fn parse(text: &str, plugins: &[&str]) -> Result<AdmissionConfiguration, ConfigurationError> {
    AdmissionConfiguration::parse(text.as_bytes(), Path::new("/etc/k/a.yaml"), plugins)
}

fn configuration_text(text: &str, plugins: &[&str], name: &str) -> String {
    match parse(text, plugins).unwrap().text_of(name) {
        Ok(Some(text)) => String::from_utf8(text).unwrap(),
        Ok(None) => "nothing".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn read(enabled: &[&str], file: &str, text: &str) -> Result<Configurations, RunError> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("other.yaml"), file).unwrap();
    let path = dir.path().join("a.yaml");
    std::fs::write(&path, text).unwrap();
    let enabled = enabled.iter().map(|name| (*name).to_owned()).collect();
    let config = AdmissionConfig { enabled, disabled: Vec::new(), config_file: Some(path) };
    Configurations::read(&config, Gates::default())
}

#[test]
fn configuration_is_inline_or_in_named_file() {
    let text = format!(
        "{HEAD}plugins: [{{name: A, path: p, configuration: {{b: 1, a: [2]}}}}, {{name: B, path: no/b}}, {{name: C}}, {{name: A}}]"
    );
    assert_eq!(configuration_text(&text, &[], "A"), r#"{"a":[2],"b":1}"#);
    assert_eq!(configuration_text(&text, &[], "C"), "nothing");
    assert_eq!(configuration_text(&text, &[], "D"), "nothing");
    assert_eq!(
        configuration_text(&text, &[], "B"),
        "Couldn't open admission plugin configuration /etc/k/no/b: &fs.PathError{Op:\"open\", Path:\"/etc/k/no/b\", Err:0x2}"
    );
    let absolute = "{\"apiVersion\":\"apiserver.k8s.io/v1alpha1\",\"kind\":\"AdmissionConfiguration\",\"plugins\":[{\"name\":\"A\",\"path\":\"/no/a\"}]}";
    assert!(
        configuration_text(absolute, &[], "A")
            .starts_with("Couldn't open admission plugin configuration /no/a:")
    );
}

#[test]
fn legacy_file_configures_two_plugins() {
    let text = r#"{"imagePolicy": {}, "podNodeSelectorPluginConfig": {}}"#;
    let to_file = |name: &str| {
        configuration_text(text, &["PodNodeSelector", "LimitRanger"], name).contains("/etc/k/a.yaml")
    };
    assert!(to_file("PodNodeSelector"));
    assert!(!to_file("LimitRanger") && !to_file("ImagePolicyWebhook"));
}

#[test]
fn invalid_file_fails_with_upstream_messages() {
    let check = |text: &str, expected: &str| assert_eq!(parse(text, &[]).unwrap_err().to_string(), expected);
    check("{}", "Object 'Kind' is missing in '{}'");
    check(
        "apiVersion: apiserver.config.k8s.io/v1alpha1\nkind: AdmissionConfiguration",
        "no kind \"AdmissionConfiguration\" is registered for version \"apiserver.config.k8s.io/v1alpha1\" in scheme \"k8s.io/apiserver/pkg/server/options/admission.go:51\"",
    );
    check(
        &format!("{HEAD}plugins: [{{name: A, foo: bar}}]"),
        "strict decoding error: unknown field \"plugins[0].foo\"",
    );
    check(
        r#"{"apiVersion":"apiserver.config.k8s.io/v1","kind":"AdmissionConfiguration","plugins":[{"name":"a","name":"b"}]}"#,
        "strict decoding error: duplicate field \"plugins[0].name\"",
    );
}

#[test]
fn invalid_configuration_prevents_start() {
    let check = |text: &str, expected: &str| {
        let got = read(&[], "", &format!("{HEAD}{text}")).unwrap_err().to_string();
        assert_eq!(got, format!("failed to apply admission: {expected}"));
    };
    check(
        "plugins: [{name: PodSecurity, configuration: {kind: A, apiVersion: b}}]",
        "couldn't init admission plugin \"PodSecurity\": no kind \"A\" is registered for version \"b\" in scheme \"k8s.io/pod-security-admission/admission/api/scheme/scheme.go:31\"",
    );
    check(
        "plugins: [{name: PodSecurity, configuration: {kind: PodSecurityConfiguration, apiVersion: pod-security.admission.config.k8s.io/v1, defaults: {warn: x}}}]",
        "failed to initialize admission plugin \"PodSecurity\": PodSecurity configuration error: warn: must be one of privileged, baseline, restricted",
    );
    check(
        "plugins: 1",
        "failed to read plugin config: json: cannot unmarshal number into Go struct field AdmissionConfiguration.plugins of type []v1.AdmissionPluginConfiguration",
    );
    let missing = AdmissionConfig { config_file: Some(PathBuf::from("/no/a")), ..AdmissionConfig::default() };
    let got = Configurations::read(&missing, Gates::default()).unwrap_err().to_string();
    assert_eq!(
        got,
        "failed to apply admission: failed to read plugin config: unable to read admission control configuration from \"/no/a\" [open /no/a: no such file or directory]"
    );
}

#[test]
fn disabled_plugins_are_not_read() {
    let text = format!("{HEAD}plugins: [{{name: PodTolerationRestriction, path: other.yaml}}]");
    assert!(read(&[], "nonsense", &text).is_ok());
    assert!(read(&["PodTolerationRestriction"], "nonsense", &text).is_err());
    let file = "apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1\nkind: Configuration\nwhitelist: [{operator: Exists}]";
    let configurations = read(&["PodTolerationRestriction"], file, &text).unwrap();
    assert_ne!(configurations.pod_tolerations, PodTolerationConfiguration::default());
}

#[test]
fn event_rate_limit_requires_configuration() {
    let config = AdmissionConfig { enabled: vec!["EventRateLimit".to_owned()], ..AdmissionConfig::default() };
    let got = Configurations::read(&config, Gates::default()).unwrap_err().to_string();
    assert_eq!(
        got,
        "failed to apply admission: couldn't init admission plugin \"EventRateLimit\": limits: Invalid value: null: must not be empty"
    );
}

#[test]
fn webhook_credentials_come_from_kubeconfig() {
    let head = "apiVersion: apiserver.config.k8s.io/v1, kind: WebhookAdmissionConfiguration";
    let with = |rest: &str| {
        let text =
            format!("{HEAD}plugins: [{{name: ValidatingAdmissionWebhook, configuration: {{{head}{rest}}}}}]");
        read(&[], "", &text)
    };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kubeconfig");
    std::fs::write(&path, "users: [{name: '*.svc', user: {token: t}}]").unwrap();
    let configurations = with(&format!(", kubeConfigFile: {}", path.display())).unwrap();
    assert!(configurations.validating_webhooks.of_service("ns", "a", 443).unwrap().bearer.is_some());
    assert!(configurations.mutating_webhooks.of_service("ns", "a", 443).unwrap().bearer.is_none());
    assert!(with("").unwrap().validating_webhooks.of("h:443").unwrap().bearer.is_none());
    let wrong = |rest: &str, expected: &str| {
        let start =
            "failed to apply admission: couldn't init admission plugin \"ValidatingAdmissionWebhook\": ";
        assert_eq!(with(rest).unwrap_err().to_string(), format!("{start}{expected}"));
    };
    wrong(", kubeConfigFile: k", "kubeConfigFile: Invalid value: \"k\": must be an absolute file path");
    wrong(", kubeConfigFile: /no/k", "stat /no/k: no such file or directory");
    wrong(
        ", staticManifestsDir: /d",
        "staticManifestsDir: Invalid value: \"/d\": unable to read: stat /d: no such file or directory",
    );
    let text = "plugins: [{name: MutatingAdmissionPolicy, configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: MutatingAdmissionPolicyConfiguration}}]";
    assert!(read(&[], "", &format!("{HEAD}{text}")).is_ok());
}

#[test]
fn image_policy_requires_configuration() {
    let with = |enabled: &[&str], text: &str| read(enabled, "", text).unwrap_err().to_string();
    let start = "failed to apply admission: couldn't init admission plugin \"ImagePolicyWebhook\": ";
    let got = with(&["ImagePolicyWebhook"], &format!("{HEAD}plugins: []"));
    assert_eq!(got, format!("{start}no config specified"));
    let got = with(&["ImagePolicyWebhook"], "imagePolicy: {kubeConfigFile: /no/k}");
    assert_eq!(got, format!("{start}stat /no/k: no such file or directory"));
}
