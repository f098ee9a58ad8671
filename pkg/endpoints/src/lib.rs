//! HTTP layer above the registry: negotiation, one handler per verb, discovery, OpenAPI, Table and streaming.
//! This crate is the only place that encodes an error as a `Status`.

pub mod aggregated;
pub mod api;
mod body;
pub mod cpu_pool;
mod deprecated_requests;
pub mod discovery;
pub mod fair_queue;
mod handlers;
pub mod header;
pub mod negotiation;
pub mod observed_body;
pub mod openapi;
pub mod openid;
pub mod peers;
pub mod proxy;
pub mod response;
pub mod routing;
mod scheme;
mod scope;
#[cfg(test)]
#[path = "../../schema/testdata/files.rs"]
mod testdata;
#[cfg(test)]
mod testing;
mod trace;
pub mod versions;
pub mod warning;
pub mod watch;
mod websocket;
pub mod write_barrier;
