//! Kubernetes' expression language (CEL): text → [`syntax`] → checked → plan → run.
//!
//! The crate is pure: no I/O, no clock, no global state. The specification is cel-go v0.29.2 as Kubernetes
//! v1.37 configures it; see "Life of an expression" in `ARCHITECTURE.md`.
#![warn(missing_docs)]

pub mod admission;
pub mod arena;
pub mod authorizer;
pub mod check;
pub mod checked;
pub mod compile;
pub mod declared;
pub mod devices;
pub mod env;
pub mod escaping;
pub mod estimate;
pub mod eval;
pub mod ext;
pub mod lexer;
pub mod overloads;
pub mod parser;
pub mod plan;
pub mod print;
pub mod source;
pub mod step_budget;
pub mod structural;
pub mod syntax;
pub mod types;
pub mod value;
