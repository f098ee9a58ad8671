//! The storage contract over etcd v3: the bytes and the revisions that clients see are etcd's own.
//!
//! * [`Etcd`] is the [`storage::Storage`]: one transaction per write, guarded by the key's mod
//!   revision; one Range per read; one gRPC stream per watch.
//! * It knows every member of the cluster and leaves out the ones that do not answer, be they dead or
//!   silent. A read moves on to another member by itself, and so does a write that cannot happen twice
//!   ([`guarded`]); a create does so only while it is certain that it was not sent. If nobody can find
//!   out what became of a write, it is the caller's question ([`storage::Error::Unavailable`]).
//! * A watch outlives its connection: it goes on from the revision after the last one delivered, on
//!   any member, without loss and without repetition, and ends only when that revision is compacted.
//! * Everything that decides is pure and tested without etcd: [`Cursor`](cursor) (where a watch
//!   stands), [`LeasePool`](lease) (which lease a key gets), the classification of failures, the
//!   compaction protocol that all replicas share ([`Compactor`]).
//!
//! This is the only crate that knows `etcd-client`.

mod call;
mod compacted;
mod compactor;
mod connect;
mod cursor;
mod failure;
mod figures;
mod guarded;
mod lease;
mod member;
mod members;
mod options;
mod store;
mod traced;
mod version;
mod watch;

pub use compactor::{COMPACT_REV_KEY, Compacted, Compactor};
pub use figures::LeaseFigures;
pub use options::{CustomDialer, Dialing, Io, Options, TlsFiles};
pub use store::Etcd;
