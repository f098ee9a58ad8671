//! Mapping of resources to providers.

use async_trait::async_trait;
use bytes::Bytes;

use super::*;
use crate::Kms;

struct NoPlugins;

#[async_trait]
impl KmsFactory for NoPlugins {
    async fn provider(&self, kms: &Kms) -> Result<Arc<dyn KmsProvider>, Error> {
        Err(Error::new(format!("no plugin {}", kms.name)))
    }
}

async fn rules(rules: &str) -> Result<Rules, Error> {
    let text = format!("kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\n{rules}");
    let configuration = Configuration::read(text.as_bytes(), false).unwrap();
    let means =
        ProviderDeps { factory: &NoPlugins, random: Arc::new(|out| out.fill(1)), metrics: Arc::default() };
    Rules::new(&configuration, means).await
}

/// Returns a rule that encrypts with a key of this name.
fn sealing(resources: &str, key: &str) -> String {
    let secret = "MDEyMzQ1Njc4OWFiY2RlZg==";
    format!(
        "- resources: {resources}\n  providers: [{{aescbc: {{keys: [{{name: {key}, secret: {secret}}}]}}}}]\n"
    )
}

/// Returns the name of the key that encrypts a resource.
async fn key_of(rules: &Rules, group: &str, resource: &str) -> Option<String> {
    let sealed = rules.protection(group, resource)?.seal(Bytes::new(), b"").await.unwrap();
    let rest = sealed.strip_prefix(b"k8s:enc:aescbc:v1:")?;
    Some(String::from_utf8_lossy(rest.split(|byte| *byte == b':').next()?).into_owned())
}

#[tokio::test]
async fn most_specific_rule_wins() {
    let text = [
        "resources:\n".to_owned(),
        sealing("[secrets]", "secrets"),
        sealing("[deployments.apps, things.example.com]", "named"),
        sealing("['*.apps']", "apps"),
        sealing("['*.']", "core"),
        sealing("['*.*']", "all"),
    ];
    let rules = rules(&text.concat()).await.unwrap();
    for (group, resource, expected) in [
        ("", "secrets", "secrets"),
        ("", "configmaps", "core"),
        ("apps", "deployments", "named"),
        ("apps", "statefulsets", "apps"),
        ("batch", "jobs", "all"),
        ("example.com", "things", "named"),
    ] {
        assert_eq!(key_of(&rules, group, resource).await.as_deref(), Some(expected), "{group} {resource}");
    }
}

#[tokio::test]
async fn a_resource_without_a_rule_is_not_protected() {
    let rules = rules(&format!("resources:\n{}", sealing("[secrets]", "a"))).await.unwrap();
    assert!(rules.protection("", "configmaps").is_none());
    assert!(rules.protection("other.example", "secrets").is_none());
}

#[tokio::test]
async fn masked_rule_is_rejected() {
    for (earlier, later, expected) in [
        ("['*.']", "[secrets]", "resource \"secrets\" is masked by earlier rule \"*.\""),
        (
            "['*.apps']",
            "[deployments.apps]",
            "resource \"deployments.apps\" is masked by earlier rule \"*.apps\"",
        ),
        ("['*.*']", "['*.apps']", "resource \"*.apps\" is masked by earlier rule \"*.*\""),
        ("['*.*']", "['*.*']", "resource \"*.*\" is masked by earlier rule \"*.*\""),
    ] {
        let text = format!("resources:\n{}{}", sealing(earlier, "a"), sealing(later, "b"));
        assert_eq!(rules(&text).await.err().map(|e| e.to_string()).as_deref(), Some(expected));
    }
}

#[tokio::test]
async fn rules_of_one_resource_keep_their_order() {
    let text = format!("resources:\n{}{}", sealing("[secrets]", "new"), sealing("[secrets]", "old"));
    let merged = rules(&text).await.unwrap();
    let old = rules(&format!("resources:\n{}", sealing("[secrets]", "old"))).await.unwrap();
    assert_eq!(key_of(&merged, "", "secrets").await.as_deref(), Some("new"));
    let stored = old.protection("", "secrets").unwrap().seal("x".into(), b"").await.unwrap();
    let opened = merged.protection("", "secrets").unwrap().open_now(&stored, b"").unwrap().unwrap();
    assert!(opened.stale);
}

#[tokio::test]
async fn unusable_plugin_fails_rules() {
    let text = "resources: [{resources: [secrets], providers: [{kms: {name: a, endpoint: 'unix:///a'}}]}]";
    assert_eq!(rules(text).await.err().map(|e| e.to_string()).as_deref(), Some("no plugin a"));
}
