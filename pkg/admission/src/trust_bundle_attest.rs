//! `ClusterTrustBundleAttest` requires the `attest` permission for the signer of a trust bundle (upstream's
//! `plugin/pkg/admission/certificates/ctbattest`).

use std::sync::Arc;

use api::tree::{child, text};
use apimachinery::go_quote::quote;
use async_trait::async_trait;
use authorization::Authorizer;
use schema::object::Object;

use crate::{AdmissionNotes, Attributes, Plugin, Verdict, signer};

/// Metadata that the garbage collector and storage migrations change.
const GC_METADATA: [&str; 4] = ["ownerReferences", "finalizers", "selfLink", "managedFields"];

pub struct ClusterTrustBundleAttest {
    authorizer: Arc<dyn Authorizer>,
}

impl ClusterTrustBundleAttest {
    /// Checks `attest` on `signers` with `authorizer`.
    pub fn new(authorizer: Arc<dyn Authorizer>) -> Self {
        ClusterTrustBundleAttest { authorizer }
    }
}

/// True if two objects differ only in the fields that the garbage collector changes.
fn differs_only_in_gc_metadata(new: &Object, old: &Object) -> bool {
    let but = |object: &Object, left_out: &[&str]| {
        let members = object.iter().filter(|(name, _)| !left_out.contains(&name.as_str()));
        members.map(|(name, value)| (name.clone(), value.clone())).collect::<Object>()
    };
    let metadata = |object| child(object, "metadata").map(|metadata| but(metadata, &GC_METADATA));
    metadata(new) == metadata(old) && but(new, &["metadata"]) == but(old, &["metadata"])
}

#[async_trait]
impl Plugin for ClusterTrustBundleAttest {
    fn name(&self) -> &'static str {
        "ClusterTrustBundleAttest"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.writes() && (a.resource.group, a.resource.plural) == ("certificates.k8s.io", "clustertrustbundles")
    }

    async fn validate(&self, a: &Attributes<'_>, object: Option<&Object>, _: &mut AdmissionNotes) -> Verdict {
        let Some(bundle) = object else { return Ok(()) };
        let name = child(bundle, "spec").map_or("", |spec| text(spec, "signerName"));
        if name.is_empty() || a.old.is_some_and(|old| differs_only_in_gc_metadata(bundle, old)) {
            return Ok(());
        }
        if signer::allows(self.authorizer.as_ref(), a.user, "attest", name).await {
            Ok(())
        } else {
            Err(a.forbidden(format!("user not permitted to attest for signerName {}", quote(name))))
        }
    }
}

#[cfg(test)]
mod tests {
    use jsontree::{Value, json};

    use super::*;
    use crate::testing::{Permits, Write};

    const BUNDLES: [&str; 3] = ["certificates.k8s.io", "v1beta1", "clustertrustbundles"];

    fn bundle(signer: &str, metadata: &Value, trust: &str) -> Value {
        json!({"metadata": metadata, "spec": {"signerName": signer, "trustBundle": trust}})
    }

    #[test]
    fn signer_bundle_needs_attest_permission() {
        let check = |permitted: &'static [&'static str], signer: &str, expected: Result<(), &str>| {
            let plugin = ClusterTrustBundleAttest::new(Arc::new(Permits(permitted)));
            let [group, version, plural] = BUNDLES;
            let new = bundle(signer, &json!({"name": "b"}), "x");
            let got = Write::of(group, version, plural).validated(&plugin, new).map(|_| ());
            let refusal =
                |cause| format!("clustertrustbundles.certificates.k8s.io \"b\" is forbidden: {cause}");
            assert_eq!(got, expected.map_err(refusal));
        };
        check(&[], "", Ok(()));
        check(&[], "a.io/s", Err("user not permitted to attest for signerName \"a.io/s\""));
        check(&["attest signers a.io/s"], "a.io/s", Ok(()));
        check(&["attest signers a.io/*"], "a.io/s", Ok(()));
    }

    #[test]
    fn garbage_collector_needs_no_permission() {
        let check = |new: Value, expected: bool| {
            let plugin = ClusterTrustBundleAttest::new(Arc::new(Permits(&[])));
            let [group, version, plural] = BUNDLES;
            let old = bundle("a.io/s", &json!({"name": "b", "finalizers": ["f"]}), "x");
            assert_eq!(Write::of(group, version, plural).over(old).validated(&plugin, new).is_ok(), expected);
        };
        check(bundle("a.io/s", &json!({"name": "b"}), "x"), true);
        check(bundle("a.io/s", &json!({"name": "b", "labels": {"a": "b"}}), "x"), false);
        check(bundle("a.io/s", &json!({"name": "b"}), "y"), false);
    }
}
