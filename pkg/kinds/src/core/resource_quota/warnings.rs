//! Warnings about resource quotas.

use crate::warnings::collector::Warnings;
use api::tree::text;
use apimachinery::quantity::Quantity;
use schema::object::{Object, get_object};

/// Warns about a created `ResourceQuota` with requests above the limits. Requests of cpu and memory also have
/// a short name.
pub(super) fn resource_quota(quota: &Object, out: &mut Warnings) {
    let Some(hard) = get_object(quota, &["spec", "hard"]) else { return };
    let amount = |name: &str| text(hard, name).parse::<Quantity>().ok();
    for resource in ["cpu", "memory", "storage", "ephemeral-storage"] {
        let long = format!("requests.{resource}");
        let limits = format!("limits.{resource}");
        let short = matches!(resource, "cpu" | "memory") && !hard.contains_key(&long);
        let requests = if short { resource } else { &long };
        let (Some(request), Some(limit)) = (amount(requests), amount(&limits)) else { continue };
        if request > limit {
            out.add(format_args!(
                "ResourceQuota {requests} ({request}) should be less than {limits} ({limit})"
            ));
        }
    }
}
