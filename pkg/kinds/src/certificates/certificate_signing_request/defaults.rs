//! Defaults of certificate signing requests.

use crate::defaults::fill::{default_struct, each, if_nil, if_present, if_zero};
use crate::defaults::object::Object;
use jsontree::json;

/// Upstream detects requests of kubelets and sets their signers. Such requests live for at most a day, so
/// they get no special treatment here.
pub(super) fn signing_request_v1beta1(request: &mut Object) {
    default_struct(request, "spec", |spec| {
        if_nil(spec, "usages", json!(["digital signature", "key encipherment"]));
        if_nil(spec, "signerName", "kubernetes.io/legacy-unknown");
    });
    if_present(request, "status", |status| {
        each(status, "conditions", |condition| if_zero(condition, "status", "True"));
    });
}
