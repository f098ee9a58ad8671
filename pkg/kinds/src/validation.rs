//! Validation rules for every kind: metadata, names, request options. The rules of single kinds build on
//! them. All functions return field errors with upstream's texts and order.

pub(crate) mod cidr;
pub(crate) mod claim_spec;
pub(crate) mod conditions;
pub(crate) mod cron;
pub(crate) mod endpoint_ip;
pub(crate) mod expression;
pub(crate) mod go_value;
pub(crate) mod immutable;
pub(crate) mod int_or_percent;
pub mod kinds;
pub use kinds::definitions;
pub(crate) mod node_selector;
pub(crate) mod options;
pub(crate) mod resource_name;
pub(crate) mod resources;
pub(crate) mod rules;
pub(crate) mod selector;
pub(crate) mod semver;
pub(crate) mod signer_name;
pub(crate) mod time_zone;
pub(crate) mod unified_diff;
pub(crate) mod value;
pub(crate) mod volume_source;
pub(crate) mod x509;

pub use api::ip::{Spelling, canonical_ip, is_valid_ip, is_valid_legacy_ip};
pub use api::name_rule::NameRule;
pub use api::object_meta::{
    validate_annotations, validate_field_manager, validate_finalizers, validate_finalizers_are_qualified,
    validate_labels, validate_object_meta, validate_object_meta_update,
};
pub use apimachinery::names::TOTAL_ANNOTATIONS_BYTES_MAX;
pub use options::{
    validate_create_options, validate_delete_options, validate_list_options, validate_patch_options,
    validate_table_options, validate_update_options,
};
