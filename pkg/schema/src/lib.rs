//! What a shape is and allows: tables built from `proto/`, and the engines that run over them.
//! Pure: no storage, no HTTP, no kind known by name.

pub mod builtin;
pub mod json;
pub mod object;
pub mod table;
