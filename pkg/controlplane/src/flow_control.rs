//! What FlowSchemas and PriorityLevelConfigurations say, for flow control (upstream's
//! `util/flowcontrol/apf_controller.go`). Until they have been read, what every cluster begins with applies.

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
use controllers::dangling::{self, Dangling};

const GROUP: &str = "flowcontrol.apiserver.k8s.io";
const GROUP_VERSION: &str = "flowcontrol.apiserver.k8s.io/v1";

/// All objects of both kinds, by name.
#[derive(Clone, Default)]
pub(crate) struct Objects {
    schemas: BTreeMap<Box<str>, FlowSchema>,
    /// What schemas say about whether their level is missing.
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
                self.dangling.insert(name.into(), dangling::said(object));
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
    /// What every cluster begins with.
    fn bootstrap() -> Result<Self, String> {
        let mut all = Objects::default();
        for mut object in bootstrapped::of_kind(GROUP_VERSION, "FlowSchema")? {
            kinds::defaults::apply(GROUP_VERSION, "FlowSchema", &mut object, &Gates::default());
            let schema = objects::schema(&object);
            all.schemas.insert(schema.name.as_str().into(), schema);
        }
        for mut object in bootstrapped::of_kind(GROUP_VERSION, "PriorityLevelConfiguration")? {
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

    /// The schemas that do not say truly whether their level is missing.
    fn misinformed(&self) -> impl Iterator<Item = &str> {
        let wrong = |schema: &&FlowSchema| {
            let missing = !self.levels.contains_key(schema.level.as_str());
            self.dangling.get(schema.name.as_str()).copied().flatten() != Some(missing)
        };
        self.schemas.values().filter(wrong).map(|schema| schema.name.as_str())
    }

    fn configuration(&self, seats: u32) -> Configuration {
        let (schemas, levels) = (self.schemas.values().cloned(), self.levels.values().cloned());
        Configuration::new(schemas.collect(), levels.collect(), seats)
    }
}

/// How often a server tells a schema within [`REPORTS_TIME`] whether its level is missing: another one may see it
/// differently, and tell it so.
const REPORTS_MAX: usize = 6;
const REPORTS_TIME: Duration = Duration::from_secs(60);

/// Flow control that does as the objects of the cluster say.
pub(crate) struct FlowControl {
    fairness: Arc<Fairness>,
    follower: Informer<Objects>,
    /// How many seats there are.
    seats: u32,
    reporter: Dangling,
    /// When schemas were told lately.
    reported: BTreeMap<Box<str>, Vec<Instant>>,
}

impl FlowControl {
    /// As many seats as `limits` say together, and what follows the objects while it runs.
    ///
    /// # Errors
    /// The data of the objects that every cluster begins with are not what they should be.
    pub(crate) fn new(
        registry: &Registry,
        limits: InflightLimits,
    ) -> Result<(Self, InformerTask<Objects>), String> {
        let seats = u32::try_from(limits.reading_max.saturating_add(limits.mutating_max)).unwrap_or(u32::MAX);
        let rows = ["flowschemas", "prioritylevelconfigurations"];
        let rows = rows.iter().filter_map(|plural| resources::find(GROUP, "v1", plural, ""));
        let rows = rows.map(Handle::from).collect();
        let (follower, following) = Informer::new(registry, "priority and fairness", rows);
        let configuration = Objects::bootstrap()?.configuration(seats);
        let fairness = Fairness::new(configuration, SystemClock.now());
        let (reporter, reported) = (Dangling::new(registry)?, BTreeMap::new());
        Ok((FlowControl { fairness, follower, seats, reporter, reported }, following))
    }

    /// What gives seats to requests.
    pub(crate) fn fairness(&self) -> Arc<Fairness> {
        Arc::clone(&self.fairness)
    }

    /// Waits until the objects have been read.
    pub(crate) fn ready(&self) -> impl Future<Output = ()> + Send + use<> {
        let follower = self.follower.clone();
        async move { follower.ready().await }
    }

    /// Keeps the seats and the configuration current until this is dropped.
    pub(crate) async fn run(mut self) {
        let fairness = self.fairness();
        tokio::join!(fairness.run(), self.follow());
    }

    async fn follow(&mut self) {
        let mut seen = None;
        loop {
            self.follower.wait_for(|objects| Some(objects.changes) != seen).await;
            let objects = self.follower.snapshot();
            seen = Some(objects.changes);
            let configure = || self.fairness.configure(objects.configuration(self.seats));
            if catch_unwind(AssertUnwindSafe(configure)).is_err() {
                tracing::error!("flow control panicked over its configuration, the former one stays");
            }
            for name in objects.misinformed() {
                self.report(name).await;
            }
        }
    }

    /// Tells a schema whether its level is missing, unless it was told too often. What fails is done by the next round of
    /// those who keep the objects.
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
        if let Err(status) = self.reporter.report_on(name).await {
            tracing::debug!(
                name,
                reason = status.message,
                "a flow schema was not told whether its level exists"
            );
        }
    }
}
