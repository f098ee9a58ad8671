//! HTTP to registry: negotiation, one handler per verb, discovery, OpenAPI, Table, streaming, and
//! the one place where an error becomes a `Status` on the wire.

pub mod aggregated;
pub mod api;
mod body;
mod chunks;
mod compressed;
pub mod cpu_pool;
mod deprecated_requests;
pub mod discovery;
pub mod dispatch;
mod encode;
mod forms;
mod gzip;
mod handlers;
pub mod header;
mod list_body;
pub mod negotiate;
pub mod observed;
pub mod openapi;
pub mod openid;
pub mod peers;
pub mod proxy;
pub mod respond;
mod route;
mod scheme;
pub mod served;
mod table;
#[cfg(test)]
#[path = "../../schema/testdata/files.rs"]
mod testdata;
#[cfg(test)]
mod testing;
mod trace;
pub mod versions;
pub mod warning;
mod watch_body;
pub mod watch_drain;
mod watch_frame;
mod watch_metrics;
pub mod write_barrier;
