//! API vocabulary: kinds, Status, selectors, quantities, times, field paths.
#![warn(missing_docs)]
#![cfg_attr(
    not(test),
    warn(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::as_conversions)
)]

pub mod duration;
pub mod field;
pub mod fields;
pub mod foreign_text;
pub mod go_json;
pub mod go_number;
pub mod go_quote;
pub mod gvk;
pub mod kube_version;
pub mod labels;
pub mod names;
pub mod quantity;
pub mod query;
pub mod request_context;
pub mod request_info;
pub mod request_notes;
pub mod resource_version;
pub mod selectors;
pub mod sharding;
pub mod status;
pub mod strconv;
pub mod time;
pub mod user_info;
