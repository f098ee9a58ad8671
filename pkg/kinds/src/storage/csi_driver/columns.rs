//! Table columns of CSI drivers.

use crate::printers::column::{AGE, Column, NAME};
use crate::printers::format::{UNSET, or_none};
use api::table::view::View;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::boolean("AttachRequired", |object, _| {
        object.get_path("spec.attachRequired").flag_or(true).into()
    })
    .with_description_of("io.k8s.api.storage.v1.CSIDriverSpec", "attachRequired"),
    Column::boolean("PodInfoOnMount", |object, _| object.get_path("spec.podInfoOnMount").flag().into())
        .with_description_of("io.k8s.api.storage.v1.CSIDriverSpec", "podInfoOnMount"),
    Column::boolean("StorageCapacity", |object, _| object.get_path("spec.storageCapacity").flag().into())
        .with_description_of("io.k8s.api.storage.v1.CSIDriverSpec", "storageCapacity"),
    Column::text("TokenRequests", |object, _| token_audiences(object).into())
        .with_description_of("io.k8s.api.storage.v1.CSIDriverSpec", "tokenRequests"),
    Column::boolean("RequiresRepublish", |object, _| object.get_path("spec.requiresRepublish").flag().into())
        .with_description_of("io.k8s.api.storage.v1.CSIDriverSpec", "requiresRepublish"),
    Column::text("Modes", |object, _| {
        or_none(object.get_path("spec.volumeLifecycleModes").texts().join(",")).into()
    })
    .with_description_of("io.k8s.api.storage.v1.CSIDriverSpec", "volumeLifecycleModes"),
    AGE,
];

fn token_audiences(driver: View<'_>) -> String {
    let requests = driver.get_path("spec.tokenRequests");
    if !requests.exists() {
        return UNSET.to_owned();
    }
    let audiences: Vec<&str> = requests.items().map(|request| request.get("audience").text()).collect();
    audiences.join(",")
}
