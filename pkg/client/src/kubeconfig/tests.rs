//! Kubeconfig files.
#![allow(clippy::unwrap_used)]

use super::*;

fn clock() -> Arc<dyn Clock> {
    Arc::new(component_base::clock::TestClock::default())
}

fn read(text: &str, files: &[(&str, &str)]) -> Result<Kubeconfig, String> {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    let path = directory.path().join("config");
    std::fs::write(&path, text).unwrap();
    let base = directory.path().display().to_string();
    Kubeconfig::read(&path, &clock()).map_err(|error| error.to_string().replace(&base, "DIR"))
}

const CONTEXT: &str = "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n";

fn of(cluster: &str, user: &str) -> Result<Kubeconfig, String> {
    let text = format!(
        "{CONTEXT}clusters: [{{name: k, cluster: {{{cluster}}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n"
    );
    read(&text, &[("ca.pem", "CA"), ("c.pem", "C"), ("k.pem", "K")])
}

#[test]
fn current_context_selects_server_and_user() {
    let kubeconfig = of(
        "server: 'https://h:1/x', certificate-authority: ca.pem, tls-server-name: s",
        "client-certificate: c.pem, client-key: k.pem, token: t",
    )
    .unwrap();
    assert_eq!(kubeconfig.server, "https://h:1/x");
    let tls = kubeconfig.options.tls;
    assert!(matches!(tls.trust, Trust::Bundle(Source::File(path)) if path.ends_with("ca.pem")));
    assert_eq!(tls.server_name.as_deref(), Some("s"));
    assert!(tls.certificate.is_some());
    assert_eq!(kubeconfig.options.bearer, Some(Source::Inline(Arc::from(&b"t"[..]))));
}

#[test]
fn inline_data_works_like_files() {
    let kubeconfig = of("server: 'https://h', certificate-authority-data: Q0E=", "tokenFile: /t").unwrap();
    assert_eq!(kubeconfig.options.tls.trust, Trust::Bundle(Source::Inline(Arc::from(&b"CA"[..]))));
    assert_eq!(kubeconfig.options.bearer, Some(Source::File("/t".into())));
}

#[test]
fn credentials_are_not_sent_without_tls() {
    let kubeconfig = of("server: 'http://h'", "token: t").unwrap();
    assert_eq!((kubeconfig.server.to_string().as_str(), kubeconfig.options.bearer), ("http://h/", None));
}

#[test]
fn server_can_be_host_and_port() {
    let check = |cluster: &str, expected: &str| assert_eq!(of(cluster, "").unwrap().server, expected);
    check("server: 'h:1'", "http://h:1/");
    check("server: 'h:1', insecure-skip-tls-verify: true", "https://h:1/");
}

#[test]
fn errors_equal_upstreams() {
    let check = |result: Result<Kubeconfig, String>, expected: &str| {
        assert_eq!(result.unwrap_err(), expected);
    };
    let missing =
        Kubeconfig::read(Path::new("/nonexistent/config"), &clock()).map_err(|error| error.to_string());
    check(missing, "stat /nonexistent/config: no such file or directory");
    check(read("", &[]), &format!("invalid configuration: {EMPTY_CONFIG}"));
    check(read("current-context: c\n", &[]), "context \"c\" does not exist");
    check(read(CONTEXT, &[]), "auth info \"u\" does not exist");
    check(read(&format!("{CONTEXT}users: [{{name: u}}]"), &[]), "cluster \"k\" does not exist");
    check(of("tls-server-name: s", ""), "invalid configuration: no server found for cluster \"k\"");
    check(
        of("server: 'https://h', certificate-authority: none.pem", ""),
        "invalid configuration: unable to read certificate-authority DIR/none.pem for k due to open DIR/none.pem: no such file or directory",
    );
    check(
        of("server: 'https://h'", "token: t, username: ann, client-certificate: c.pem"),
        "invalid configuration: [client-key-data or client-key must be specified for u to use the clientCert authentication method., more than one authentication method found for u; found [token basicAuth], only one is allowed]",
    );
    check(
        of("server: 'https://h', certificate-authority: ca.pem, insecure-skip-tls-verify: true", ""),
        "specifying a root certificates file with the insecure flag is not allowed",
    );
    check(of("server: 'h/path'", ""), "host must be a URL or a host:port pair: \"h/path\"");
    check(
        of("server: 'https://h'", "exec: {env: [{value: x}], interactiveMode: Perhaps}, as-uid: a"),
        "invalid configuration: [command must be specified for u to use exec authentication plugin, apiVersion must be specified for u to use exec authentication plugin, env variable name must be specified for u to use exec authentication plugin, invalid interactiveMode for u: \"Perhaps\", requesting uid, groups or user-extra for u without impersonating a user]",
    );
    check(
        of("server: 'https://h'", "exec: {command: x, apiVersion: client.authentication.k8s.io/v1}"),
        "invalid configuration: interactiveMode must be specified for u to use exec authentication plugin",
    );
    let auth_provider = of("server: 'https://h'", "auth-provider: {name: x}");
    check(
        auth_provider,
        "invalid configuration: auth-provider of user \"u\" is not supported by this server",
    );
}

#[test]
fn v1beta1_plugin_defaults_interactive_mode() {
    let result =
        of("server: 'https://h'", "exec: {command: x, apiVersion: client.authentication.k8s.io/v1beta1}");
    assert!(result.unwrap().options.plugin.is_some());
}

#[test]
fn secrets_are_not_shown() {
    let kubeconfig = of("server: 'https://h'", "username: ann, password: hidden").unwrap();
    assert!(!format!("{kubeconfig:?} {:?}", kubeconfig.options.basic).contains("hidden"));
}
