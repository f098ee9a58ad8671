//! The storage contract over etcd v3: clients see etcd's own bytes and revisions.
//!
//! * [`Etcd`] is the [`storage::Storage`]: one transaction per write, guarded by the key's mod revision; one
//!   Range per read; one gRPC stream per watch, and per list of a cache if etcd has `RangeStream`.
//! * It tracks every member of the cluster and avoids dead and silent ones. A read is retried on another
//!   member, and so is a write that cannot happen twice ([`guarded`]); a create only if it certainly was not
//!   sent. If the outcome of a write cannot be determined, the caller gets [`storage::Error::Unavailable`].
//! * A watch survives its connection: it resumes after the last delivered revision on any member, without
//!   loss or repetition. It ends only if that revision is compacted.
//! * All decisions are pure and tested without etcd: [`Cursor`](cursor) (the position of a watch),
//!   [`LeasePool`](lease) (the lease of a key), the classification of failures, and the compaction protocol
//!   of all replicas ([`Compactor`]).
//!
//! This is the only crate that depends on `etcd-client`.

mod call;
mod call_error;
mod coalesced_stream;
mod compacted;
mod compactor;
mod connect;
mod cursor;
mod guarded;
mod lease;
mod member;
mod members;
mod metrics;
mod options;
mod range_check;
mod range_stream;
mod responses;
mod store;
mod traced;
mod version;
mod watch;

pub use compactor::{COMPACT_REV_KEY, Compacted, Compactor};
pub use metrics::LeaseMetrics;
pub use options::{CustomDialer, DialFuture, Io, Options, TlsFiles};
pub use store::Etcd;
