//! Types of Kubernetes objects: tables built from `proto/`, and engines for codecs, patches and OpenAPI
//! that run over them. Pure: no storage, no HTTP, no special kinds.
#![warn(missing_docs)]

pub mod builtin;
pub mod cbor;
pub mod configuration;
pub mod custom;
pub mod json;
pub mod json_write;
pub mod memory;
pub mod object;
pub mod openapi;
pub mod patch;
pub mod proto;
pub mod table;
pub mod transcode;
pub mod yaml;

mod scalar;
mod text;
