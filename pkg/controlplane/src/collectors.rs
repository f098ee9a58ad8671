//! What is measured beside requests, on the metrics page.

use std::sync::Arc;

use api::cel_times::CelTimes;
use apimachinery::features::Gates;
use cacher::Delegator;
use endpoints::api::{DeprecatedRequests, WatchMetrics};
use endpoints::heavy::HeavyPool;
use server::metrics::Collector;
use tokio::time::Instant;

use crate::features::FeatureMetrics;
use crate::tasks::Tasks;

/// What the API counts while it answers.
pub(crate) struct Counted {
    pub(crate) watches: Arc<WatchMetrics>,
    pub(crate) deprecated_requests: Arc<DeprecatedRequests>,
    pub(crate) cel_times: Arc<CelTimes>,
}

impl Default for Counted {
    fn default() -> Self {
        let began = Instant::now();
        Counted {
            watches: Arc::default(),
            deprecated_requests: Arc::default(),
            cel_times: Arc::new(CelTimes::new(move || began.elapsed())),
        }
    }
}

impl Counted {
    /// All of it, and what others count.
    pub(crate) fn collectors(
        &self,
        delegator: &Delegator,
        gates: Gates,
        heavy: HeavyPool,
        tasks: &Tasks,
    ) -> Vec<Arc<dyn Collector>> {
        vec![
            Arc::new(Caches(delegator.clone())),
            Arc::new(Watches(Arc::clone(&self.watches))),
            Arc::new(Deprecated(Arc::clone(&self.deprecated_requests))),
            Arc::new(Expressions(Arc::clone(&self.cel_times))),
            Arc::new(Heavy(heavy)),
            Arc::new(FeatureMetrics(gates)),
            tasks.figures(),
        ]
    }
}

struct Caches(Delegator);

impl Collector for Caches {
    fn collect(&self, out: &mut String) {
        self.0.write_metrics(out);
    }
}

struct Watches(Arc<WatchMetrics>);

impl Collector for Watches {
    fn collect(&self, out: &mut String) {
        self.0.write(out);
    }
}

struct Deprecated(Arc<DeprecatedRequests>);

impl Collector for Deprecated {
    fn collect(&self, out: &mut String) {
        self.0.write(out);
    }
}

struct Expressions(Arc<CelTimes>);

impl Collector for Expressions {
    fn collect(&self, out: &mut String) {
        self.0.write(out);
    }
}

struct Heavy(HeavyPool);

impl Collector for Heavy {
    fn collect(&self, out: &mut String) {
        self.0.write(out);
    }
}
