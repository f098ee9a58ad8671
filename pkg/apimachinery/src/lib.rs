//! The words of the API: kinds, Status, selectors, quantities, times, field paths.
pub mod clock;
pub mod duration;
pub mod features;
pub mod field;
pub mod fields;
pub mod go_quote;
pub mod gvk;
pub mod labels;
pub mod names;
pub mod quantity;
pub mod request_info;
pub mod resource_version;
pub mod status;
pub mod strconv;
pub mod time;
pub mod user_info;
