//! Fuzzes the write path of an enveloped protobuf object: defaults, conversion to the storage version,
//! validation, warnings, managed fields and the table row. Nothing may panic, defaulting is idempotent, and a
//! converted object is valid for its type.
#![no_main]

use api::managed_fields::field_manager;
use api::resources::{Resource, self};
use api::{conversion, semantic};
use component_base::features::Gates;
use apimachinery::time::UnixTime;
use kinds::printers::{Printer, Subject};
use kinds::{defaults, validation, warnings};
use libfuzzer_sys::fuzz_target;
use schema::proto::{Envelope, self};

fn row(api_version: &str, kind: &str) -> Option<&'static Resource<'static>> {
    resources::all().find(|row| {
        row.group_version == api_version
            && row.kind == kind
            && row.subresource.is_empty()
            && row.storage.is_some()
    })
}

fuzz_target!(|data: &[u8]| {
    let Ok(envelope) = Envelope::parse(data) else { return };
    let Some(row) = row(&envelope.api_version, &envelope.kind) else { return };
    let Ok(mut object) = proto::decode(row.message, envelope.raw) else { return };
    let gates = Gates::default();
    let now = UnixTime::from_seconds(0);
    let stored = row.stored_form();
    defaults::apply(row.group_version, row.kind, &mut object, &gates);
    let once = object.clone();
    defaults::apply(row.group_version, row.kind, &mut object, &gates);
    assert_eq!(object, once, "defaults of defaults");
    let _ = Printer::of(row).row(&Subject::tree(&object), now);

    let mut new = conversion::convert(object, row.group_version, stored.group_version, row.kind);
    if conversion::normalise_for_storage(row.group, row.kind, &mut new).is_err() {
        return;
    }
    let _ = warnings::before_create(row, &new, &gates);
    let _ = validation::kinds::validate(row, &new, &Default::default());
    let _ = warnings::on_create(row, &new, &gates);
    let _ = validation::kinds::validate_update(row, "", &new, &new.clone(), &Default::default(), &mut Vec::new());
    let _ = warnings::on_update(row, "", &new, &new.clone(), &gates);
    assert!(semantic::equal(stored.message, &new, &new.clone()));
    if let Some(fields) = field_manager(row, |_| true) {
        let _ = fields.update(None, &mut new, "fuzz", now);
    }
    let mut bytes = Vec::new();
    if proto::encode(stored.message, &new, &mut bytes).is_ok() {
        proto::decode(stored.message, &bytes).expect("what was written decodes");
    }
});
