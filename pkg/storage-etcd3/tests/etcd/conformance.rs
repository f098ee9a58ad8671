//! The conformance suite on a real etcd.

use std::sync::Arc;

use storage::conformance::Fixture;

use crate::server::{Cluster, shared};

async fn fixture() -> Fixture {
    let cluster: Arc<Cluster> = shared().await;
    Fixture::shared(cluster.store().await).keeping(cluster)
}

storage::conformance_suite!(fixture().await);
