//! Table columns of CSI drivers.

use crate::printers::column::{AGE, Column, NAME};
use crate::printers::format::{UNSET, or_none};
use api::table::view::View;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::boolean("AttachRequired", |object, _| object.at("spec.attachRequired").flag_or(true).into())
        .described_as("io.k8s.api.storage.v1.CSIDriverSpec", "attachRequired"),
    Column::boolean("PodInfoOnMount", |object, _| object.at("spec.podInfoOnMount").flag().into())
        .described_as("io.k8s.api.storage.v1.CSIDriverSpec", "podInfoOnMount"),
    Column::boolean("StorageCapacity", |object, _| object.at("spec.storageCapacity").flag().into())
        .described_as("io.k8s.api.storage.v1.CSIDriverSpec", "storageCapacity"),
    Column::text("TokenRequests", |object, _| token_audiences(object).into())
        .described_as("io.k8s.api.storage.v1.CSIDriverSpec", "tokenRequests"),
    Column::boolean("RequiresRepublish", |object, _| object.at("spec.requiresRepublish").flag().into())
        .described_as("io.k8s.api.storage.v1.CSIDriverSpec", "requiresRepublish"),
    Column::text("Modes", |object, _| {
        or_none(object.at("spec.volumeLifecycleModes").texts().join(",")).into()
    })
    .described_as("io.k8s.api.storage.v1.CSIDriverSpec", "volumeLifecycleModes"),
    AGE,
];

fn token_audiences(driver: View<'_>) -> String {
    let requests = driver.at("spec.tokenRequests");
    if !requests.exists() {
        return UNSET.to_owned();
    }
    let audiences: Vec<&str> = requests.items().map(|request| request.get("audience").text()).collect();
    audiences.join(",")
}
