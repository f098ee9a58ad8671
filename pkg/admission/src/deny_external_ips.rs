//! `DenyServiceExternalIPs` rejects new external IPs on services, because they could intercept traffic of
//! others (CVE-2020-8554; upstream's `plugin/pkg/admission/network/denyserviceexternalips`).

use api::tree::{child, texts};
use async_trait::async_trait;
use schema::object::Object;

use crate::{AdmissionNotes, Attributes, Plugin, Verdict};

pub struct DenyServiceExternalIPs;

fn addresses(service: &Object) -> impl Iterator<Item = &str> {
    child(service, "spec").into_iter().flat_map(|spec| texts(spec, "externalIPs"))
}

#[async_trait]
impl Plugin for DenyServiceExternalIPs {
    fn name(&self) -> &'static str {
        "DenyServiceExternalIPs"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.writes() && a.is("", "services", "")
    }

    async fn validate(&self, a: &Attributes<'_>, object: Option<&Object>, _: &mut AdmissionNotes) -> Verdict {
        let was_set = |address: &str| a.old.is_some_and(|old| addresses(old).any(|before| before == address));
        if object.is_none_or(|service| addresses(service).all(was_set)) {
            Ok(())
        } else {
            Err(a.forbidden("Use of external IPs is denied by admission control"))
        }
    }
}

#[cfg(test)]
mod tests {
    use jsontree::{Value, json};

    use super::*;
    use crate::testing::Write;

    #[test]
    fn external_ips_can_only_be_removed() {
        let service =
            |addresses: &Value| json!({"metadata": {"name": "s"}, "spec": {"externalIPs": addresses}});
        let check = |old: Option<Value>, new: Value, expected: bool| {
            let write = Write::of("", "v1", "services");
            let write = match &old {
                Some(old) => write.over(service(old)),
                None => write,
            };
            assert_eq!(
                write.validated(&DenyServiceExternalIPs, service(&new)).is_ok(),
                expected,
                "{old:?} {new}"
            );
        };
        check(None, json!([]), true);
        check(None, json!(["1.1.1.1"]), false);
        check(Some(json!(["1.1.1.1", "2.2.2.2"])), json!(["2.2.2.2"]), true);
        check(Some(json!(["1.1.1.1"])), json!(["1.1.1.1", "2.2.2.2"]), false);
    }
}
