//! Comparison with upstream's interpretation of the flag.

#![allow(clippy::unwrap_used, reason = "a test may say what must hold")]

use super::*;
use crate::resources;

fn parse(flag: &str) -> Result<RuntimeConfig, RuntimeConfigError> {
    let pairs = flag.split(',').filter(|pair| !pair.is_empty()).map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (key.to_owned(), value.to_owned())
    });
    RuntimeConfig::parse(&pairs.collect::<Vec<_>>())
}

fn serves(flag: &str, group: &str, version: &str, plural: &str) -> bool {
    let row = resources::find(group, version, plural, "").unwrap();
    parse(flag).unwrap().serves(row, !row.off_by_default)
}

#[test]
fn without_the_flag_the_defaults_hold() {
    assert!(serves("", "", "v1", "pods"));
    assert!(!serves("", "resource.k8s.io", "v1beta1", "resourceclaims"));
}

#[test]
fn level_switches_all_its_versions() {
    let alpha = ("resource.k8s.io", "v1alpha3", "devicetaintrules");
    let beta = ("resource.k8s.io", "v1beta1", "resourceclaims");
    let check = |flag: &str, (group, version, plural): (&str, &str, &str), expected: bool| {
        assert_eq!(serves(flag, group, version, plural), expected, "{flag} {version}");
    };
    check("api/alpha=true", alpha, true);
    check("api/alpha=true", beta, false);
    check("api/beta=true", beta, true);
    check("api/all=true", alpha, true);
    check("api/all=true,api/alpha=false", alpha, false);
    check("api/all=false,api/beta=true", beta, true);
    check("api/ga=false", ("", "v1", "pods"), false);
}

#[test]
fn more_specific_settings_take_precedence() {
    assert!(serves("api/all=false,apps/v1=true", "apps", "v1", "deployments"));
    assert!(!serves("apps/v1=false", "apps", "v1", "deployments"));
    assert!(serves("apps/v1=false,apps/v1/deployments", "apps", "v1", "deployments"));
    assert!(!serves("apps/v1/deployments=false", "apps", "v1", "deployments"));
    assert!(serves("apps/v1/deployments=false", "apps", "v1", "daemonsets"));
    assert!(!serves("/v1=false", "", "v1", "pods"));
}

#[test]
fn core_group_has_aliases() {
    for alias in ["v1", "api/v1", "v1/pods", "api/v1/pods"] {
        assert!(serves(&format!("api/all=false,{alias}"), "", "v1", "secrets"), "{alias}");
        assert!(!serves(&format!("{alias}=false"), "", "v1", "secrets"), "{alias}");
    }
    assert!(serves("api/legacy", "", "v1", "pods"));
    assert!(serves("api/legacy=false", "", "v1", "pods"));
}

#[test]
fn subresources_go_with_their_resource() {
    let status = resources::find("apps", "v1", "deployments", "status").unwrap();
    assert!(!parse("apps/v1/deployments=false").unwrap().serves(status, true));
}

#[test]
fn invalid_flags_use_upstream_errors() {
    let check =
        |flag: &str, expected: &str| assert_eq!(parse(flag).unwrap_err().to_string(), expected, "{flag}");
    check("api/all=false", "invalid runtime-config with only api/all=false");
    check("api/all=yes", "invalid value api/all=yes");
    check("v2=true", "runtime-config invalid key v2");
    check("a/b/c/d=true", "runtime-config invalid key a/b/c/d");
    check("example.com/v1=true,batch/v1=true", "unknown api groups example.com/v1");
    check("batch/v9=true", "group version batch/v9 that has not been registered");
    check(
        "scheduling.k8s.io/v1alpha2=true",
        "group version scheduling.k8s.io/v1alpha2 that has not been registered",
    );
    check(
        "batch/v1=maybe",
        "invalid value of batch/v1: maybe, err: strconv.ParseBool: parsing \"maybe\": invalid syntax",
    );
    check(
        "batch/v1/Jobs=true",
        "invalid key batch/v1/Jobs: group/version/resource and resource is always lowercase plural, not \"Jobs\"",
    );
}

#[test]
fn registered_but_unserved_versions_are_accepted() {
    assert!(parse("extensions/v1beta1=true").is_ok());
    assert!(parse("apps/v1beta1=true").is_ok());
}
