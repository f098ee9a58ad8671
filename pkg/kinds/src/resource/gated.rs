//! Fields of device claims behind feature gates.

use crate::strategy::gated::fields::{EACH, GatedFields, GatedPath, behind, place};
use component_base::features::Gate;

/// Spec of device claims and of their templates.
const RESOURCE_CLAIM_SPEC: &[GatedFields] = &[
    behind(Gate::DRAPrioritizedList, &[&["devices", "requests", EACH, "firstAvailable"]]),
    behind(
        Gate::DRADeviceTaints,
        &[
            &["devices", "requests", EACH, "exactly", "tolerations"],
            &["devices", "requests", EACH, "firstAvailable", EACH, "tolerations"],
        ],
    ),
    behind(Gate::DRAAdminAccess, &[&["devices", "requests", EACH, "exactly", "adminAccess"]]),
    behind(
        Gate::DRAConsumableCapacity,
        &[
            &["devices", "constraints", EACH, "distinctAttribute"],
            &["devices", "requests", EACH, "exactly", "capacity"],
            &["devices", "requests", EACH, "firstAvailable", EACH, "capacity"],
        ],
    ),
];

/// Gated fields of a claim's status, relative to the claim, because some count as in use if the spec uses the
/// feature.
const RESOURCE_CLAIM_STATUS: &[GatedFields] = &[
    behind(Gate::DRAResourceClaimDeviceStatus, &[&["status", "devices"]]),
    behind(Gate::DRAAdminAccess, &[&["status", "allocation", "devices", "results", EACH, "adminAccess"]])
        .used_by(&[
            &["spec", "devices", "requests", EACH, "exactly", "adminAccess"],
            &["status", "allocation", "devices", "results", EACH, "adminAccess"],
        ]),
    behind(
        Gate::DRAConsumableCapacity,
        &[
            &["status", "allocation", "devices", "results", EACH, "shareID"],
            &["status", "allocation", "devices", "results", EACH, "consumedCapacity"],
            &["status", "devices", EACH, "shareID"],
        ],
    )
    .used_by(&[
        &["spec", "devices", "constraints", EACH, "distinctAttribute"],
        &["spec", "devices", "requests", EACH, "exactly", "capacity"],
        &["spec", "devices", "requests", EACH, "firstAvailable", EACH, "capacity"],
        &["status", "allocation", "devices", "results", EACH, "shareID"],
        &["status", "allocation", "devices", "results", EACH, "consumedCapacity"],
        &["status", "devices", EACH, "shareID"],
    ]),
    behind(
        Gate::DRADeviceBindingConditions,
        &[
            &["status", "allocation", "devices", "results", EACH, "bindingConditions"],
            &["status", "allocation", "devices", "results", EACH, "bindingFailureConditions"],
        ],
    ),
];

pub(super) const RESOURCE_CLAIM: &[GatedPath] =
    &[place(&["spec"], RESOURCE_CLAIM_SPEC), place(&[], RESOURCE_CLAIM_STATUS)];

pub(super) const RESOURCE_CLAIM_TEMPLATE: &[GatedPath] = &[place(&["spec", "spec"], RESOURCE_CLAIM_SPEC)];
