//! Rules that are the same for every kind: metadata, names, request options. Rules of single kinds
//! build on them. Everything returns field errors in upstream's words and order.

mod cidr;
mod claim_spec;
mod conditions;
mod cron;
mod endpoint_ip;
mod expression;
mod go_value;
mod immutable;
mod int_or_percent;
pub mod kinds;
pub use kinds::definitions;
mod node_selector;
mod options;
mod resource_name;
mod resources;
mod selector;
mod semver;
mod signer_name;
mod time_zone;
mod unified_diff;
mod value;
mod volume_source;
mod x509;

pub use api::ip::{Spelling, canonical_ip, is_valid_ip, is_valid_legacy_ip};
pub use api::name_rule::NameRule;
pub use api::object_meta::{
    FIELD_MANAGER_BYTES_MAX, TOTAL_ANNOTATIONS_BYTES_MAX, validate_annotations, validate_field_manager,
    validate_finalizers, validate_finalizers_are_qualified, validate_labels, validate_object_meta,
    validate_object_meta_update,
};
pub use options::{
    validate_create_options, validate_delete_options, validate_list_options, validate_patch_options,
    validate_table_options, validate_update_options,
};
