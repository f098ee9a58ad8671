//! Failures around the server: of its store, its process, its clients.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod faults {
    mod clients;
    mod crash;
    mod load;
    mod overrides;
    mod store;
}
