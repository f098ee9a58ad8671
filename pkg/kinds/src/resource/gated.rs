//! Fields of device claims behind feature gates.

use crate::strategy::gated::fields::{EACH, GatedFields, GatedPath, gated_by, gated_path};
use component_base::features::Gate;

/// Spec of device claims and of their templates.
const RESOURCE_CLAIM_SPEC: &[GatedFields] = &[
    gated_by(Gate::DRAPrioritizedList, &[&["devices", "requests", EACH, "firstAvailable"]]),
    gated_by(
        Gate::DRADeviceTaints,
        &[
            &["devices", "requests", EACH, "exactly", "tolerations"],
            &["devices", "requests", EACH, "firstAvailable", EACH, "tolerations"],
        ],
    ),
    gated_by(Gate::DRAAdminAccess, &[&["devices", "requests", EACH, "exactly", "adminAccess"]]),
    gated_by(
        Gate::DRADerivedAttributes,
        &[
            &["devices", "requests", EACH, "exactly", "derivedAttributes"],
            &["devices", "requests", EACH, "firstAvailable", EACH, "derivedAttributes"],
        ],
    ),
    gated_by(
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
    gated_by(Gate::DRAResourceClaimDeviceStatus, &[&["status", "devices"]]),
    gated_by(Gate::DRAAdminAccess, &[&["status", "allocation", "devices", "results", EACH, "adminAccess"]])
        .used_by(&[
            &["spec", "devices", "requests", EACH, "exactly", "adminAccess"],
            &["status", "allocation", "devices", "results", EACH, "adminAccess"],
        ]),
    gated_by(
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
    gated_by(
        Gate::DRAOptionalNodeOperations,
        &[&["status", "allocation", "devices", "results", EACH, "skipNodeOperations"]],
    ),
    gated_by(
        Gate::DRADeviceBindingConditions,
        &[
            &["status", "allocation", "devices", "results", EACH, "bindingConditions"],
            &["status", "allocation", "devices", "results", EACH, "bindingFailureConditions"],
        ],
    ),
];

pub(super) const RESOURCE_CLAIM: &[GatedPath] =
    &[gated_path(&["spec"], RESOURCE_CLAIM_SPEC), gated_path(&[], RESOURCE_CLAIM_STATUS)];

pub(super) const RESOURCE_CLAIM_TEMPLATE: &[GatedPath] =
    &[gated_path(&["spec", "spec"], RESOURCE_CLAIM_SPEC)];
