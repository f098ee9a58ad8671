//! The kind `EvictionRequest`.

use super::columns::{status, target, target_type};
use crate::kind::{Columns, Kind, NO_DEFAULTS, RareProperties, Validation, WarningRules};
use crate::printers::column::{AGE, Column, NAME};
use crate::strategy::hooks::Common;
use crate::validation::conditions::conditions;
use crate::validation::rules::{Rules, metadata, metadata_update};
use api::name_rule::NameRule;
use api::tree::child;
use apimachinery::field::{ErrorList, Path};
use schema::object::Object;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::LongName,
    qualified_finalizers: true,
    defaults: NO_DEFAULTS,
    validation: Validation::Objects(RULES),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(COLUMNS),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};

const SPEC: &str = "io.k8s.api.lifecycle.v1alpha1.EvictionRequestSpec";

static COLUMNS: &[Column] = &[
    NAME,
    Column::text("Target", |object, _| target(object).into()).with_description_of(SPEC, "target"),
    Column::text("Target Type", |object, _| target_type(object).into()).with_description_of(SPEC, "target"),
    Column::text("Status", |object, _| status(object).into())
        .with_description_of("io.k8s.api.lifecycle.v1alpha1.EvictionRequestStatus", "conditions"),
    Column::text("Requester", |object, _| object.get_path("spec.requester").text().into())
        .with_description_of(SPEC, "requester"),
    Column::text("Intent", |object, _| object.get_path("spec.intent").text().into())
        .with_description_of(SPEC, "intent"),
    AGE,
];

/// The rules that upstream does not declare in the types.
const RULES: Rules = Rules { create, update };

fn create(new: &Object) -> ErrorList {
    metadata(new, true, NameRule::LongName)
}

fn update(subresource: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = metadata_update(new, old);
    if let Some(status) = child(new, "status").filter(|_| subresource == "status") {
        conditions(&Path::root("status.conditions"), status, &mut errors);
    }
    errors
}
