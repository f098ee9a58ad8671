//! Flow control configuration from FlowSchemas and PriorityLevelConfigurations (upstream's
//! `util/flowcontrol/apf_controller.go`). The bootstrap configuration applies until they are loaded.

mod objects;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use ::api::resources::{self, Handle};
use component_base::clock::Clock;
use component_base::features::Gates;
use flowcontrol::{Configuration, FlowSchema, PriorityLevel};
use registry::Registry;
use registry::informer::{Informer, InformerTask, ObjectChange, Projection};
use server::{Fairness, InflightLimits};
use tokio::time::Instant;

use crate::system::SystemClock;
use controllers::bootstrap::objects as bootstrapped;
use controllers::dangling::{self, DanglingReporter};

const GROUP: &str = "flowcontrol.apiserver.k8s.io";
const GROUP_VERSION: &str = "flowcontrol.apiserver.k8s.io/v1";

/// All objects of both kinds by name.
#[derive(Clone, Default)]
pub(crate) struct Objects {
    schemas: BTreeMap<Box<str>, FlowSchema>,
    /// The `Dangling` condition of each schema: true if its priority level is reported missing.
    dangling: BTreeMap<Box<str>, Option<bool>>,
    levels: BTreeMap<Box<str>, PriorityLevel>,
    changes: u64,
}

impl Projection for Objects {
    fn apply(&mut self, change: &ObjectChange) {
        self.changes += 1;
        let name = change.name();
        match (change.row().plural, change.object()) {
            ("flowschemas", Some(object)) => {
                self.schemas.insert(name.into(), objects::schema(object));
                self.dangling.insert(name.into(), dangling::condition_value(object));
            }
            ("flowschemas", None) => {
                self.schemas.remove(name);
                self.dangling.remove(name);
            }
            (_, Some(object)) => _ = self.levels.insert(name.into(), objects::level(object)),
            (_, None) => _ = self.levels.remove(name),
        }
    }
}

impl Objects {
    /// Returns the bootstrap configuration.
    fn bootstrap() -> Result<Self, controllers::Error> {
        let mut all = Objects::default();
        for mut object in bootstrapped::of_kind(GROUP_VERSION, "FlowSchema", &Gates::default())? {
            kinds::defaults::apply(GROUP_VERSION, "FlowSchema", &mut object, &Gates::default());
            let schema = objects::schema(&object);
            all.schemas.insert(schema.name.as_str().into(), schema);
        }
        for mut object in
            bootstrapped::of_kind(GROUP_VERSION, "PriorityLevelConfiguration", &Gates::default())?
        {
            kinds::defaults::apply(
                GROUP_VERSION,
                "PriorityLevelConfiguration",
                &mut object,
                &Gates::default(),
            );
            let level = objects::level(&object);
            all.levels.insert(level.name.as_str().into(), level);
        }
        Ok(all)
    }

    /// Returns the schemas with a wrong `Dangling` condition.
    fn with_wrong_dangling(&self) -> impl Iterator<Item = &str> {
        let wrong = |schema: &&FlowSchema| {
            let missing = !self.levels.contains_key(schema.level.as_str());
            self.dangling.get(schema.name.as_str()).copied().flatten() != Some(missing)
        };
        self.schemas.values().filter(wrong).map(|schema| schema.name.as_str())
    }

    fn configuration(&self, seats: u32) -> Configuration {
        let schemas = self.schemas.values().cloned();
        let levels = self.levels.values().cloned();
        Configuration::new(schemas.collect(), levels.collect(), seats)
    }
}

/// Maximum number of `Dangling` updates per schema within [`REPORTS_TIME`]. Another server with a different
/// view may update it too.
const REPORTS_MAX: usize = 6;
const REPORTS_TIME: Duration = Duration::from_secs(60);

/// Flow control that follows the cluster's objects.
pub(crate) struct FlowControl {
    fairness: Arc<Fairness>,
    informer: Informer<Objects>,
    /// Total number of seats.
    seats: u32,
    reporter: DanglingReporter,
    /// Times of recent `Dangling` updates, by schema.
    reported: BTreeMap<Box<str>, Vec<Instant>>,
}

impl FlowControl {
    /// Creates flow control with the total seats of `limits`, and the task that watches the objects.
    ///
    /// # Errors
    /// The built-in bootstrap configuration is invalid.
    pub(crate) fn new(
        registry: &Registry,
        limits: InflightLimits,
    ) -> Result<(Self, InformerTask<Objects>), controllers::Error> {
        let seats = u32::try_from(limits.reading_max.saturating_add(limits.mutating_max)).unwrap_or(u32::MAX);
        let rows = ["flowschemas", "prioritylevelconfigurations"];
        let rows = rows.iter().filter_map(|plural| resources::find(GROUP, "v1", plural, ""));
        let rows = rows.map(Handle::from).collect();
        let (informer, following) = Informer::new(registry, "priority and fairness", rows);
        let configuration = Objects::bootstrap()?.configuration(seats);
        let fairness = Fairness::new(configuration, SystemClock.now());
        let reporter = DanglingReporter::new(registry)?;
        let reported = BTreeMap::new();
        Ok((FlowControl { fairness, informer, seats, reporter, reported }, following))
    }

    /// Returns the scheduler that assigns seats to requests.
    pub(crate) fn fairness(&self) -> Arc<Fairness> {
        Arc::clone(&self.fairness)
    }

    /// Waits until the objects are loaded.
    pub(crate) fn ready(&self) -> impl Future<Output = ()> + Send + use<> {
        let informer = self.informer.clone();
        async move { informer.ready().await }
    }

    /// Keeps seats and configuration up to date until dropped.
    pub(crate) async fn run(mut self) {
        let fairness = self.fairness();
        tokio::join!(fairness.run(), self.apply_changes());
    }

    async fn apply_changes(&mut self) {
        let mut last = None;
        loop {
            self.informer.wait_for(|objects| Some(objects.changes) != last).await;
            let objects = self.informer.snapshot();
            last = Some(objects.changes);
            let configure = || self.fairness.configure(objects.configuration(self.seats));
            if catch_unwind(AssertUnwindSafe(configure)).is_err() {
                tracing::error!(
                    "flow control panicked while applying its configuration, the previous one remains"
                );
            }
            for name in objects.with_wrong_dangling() {
                self.report(name).await;
            }
        }
    }

    /// Updates the `Dangling` condition of a schema, unless it was updated too often. A failed update is
    /// repeated by the next round of the bootstrap task.
    async fn report(&mut self, name: &str) {
        let now = Instant::now();
        self.reported.retain(|_, times| {
            times.retain(|time| now.duration_since(*time) < REPORTS_TIME);
            !times.is_empty()
        });
        let times = self.reported.entry(name.into()).or_default();
        if times.len() >= REPORTS_MAX {
            return;
        }
        times.push(now);
        if let Err(status) = self.reporter.report_by_name(name).await {
            tracing::debug!(
                name,
                reason = status.message,
                "a flow schema was not told whether its level exists"
            );
        }
    }
}
