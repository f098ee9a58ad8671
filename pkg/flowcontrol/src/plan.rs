//! The levels of a server: configuration, current seats, and quiescing state.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::allocation::{LevelAllocation, LevelDemand, Limits, divide};
use crate::clock::Monotonic;
use crate::config::{Configuration, FlowSchema, LevelKind, PriorityLevel};
use crate::demand::Demand;
use crate::digest::Route;
use crate::discipline::Discipline;
use crate::level::{Level, Lingering};
use crate::request_counts::RequestCounter;
use crate::schema::Schema;

/// Maximum width of a work estimate in percent of a level's nominal seats. The hand size limits it further.
const WIDTH_PERCENT_MAX: u64 = 15;

/// A level with its configuration and seats.
pub(crate) struct PlannedLevel {
    pub(crate) level: Arc<Level>,
    pub(crate) spec: PriorityLevel,
    /// True if the level is no longer configured and only serves its remaining requests.
    pub(crate) quiescing: bool,
    pub(crate) limits: Limits,
    /// Current seats.
    pub(crate) current: u32,
    pub(crate) demand: Demand,
    /// Target of the last seat division.
    pub(crate) target: f64,
}

/// All levels. See the module.
pub(crate) struct Plan {
    clock: Arc<dyn Monotonic>,
    lingering: Arc<Lingering>,
    request_counter: Arc<RequestCounter>,
    pub(crate) total_seats: u32,
    pub(crate) levels: BTreeMap<Box<str>, PlannedLevel>,
    /// Fraction of the target for every level that no bound limits.
    pub(crate) fair_fraction: f64,
}

impl Plan {
    pub(crate) fn new(
        clock: Arc<dyn Monotonic>,
        lingering: Arc<Lingering>,
        request_counter: Arc<RequestCounter>,
    ) -> Self {
        let levels = BTreeMap::new();
        Plan { clock, lingering, request_counter, total_seats: 0, levels, fair_fraction: 0.0 }
    }

    /// Applies the levels of `configuration` and divides the seats.
    pub(crate) fn configure(&mut self, configuration: &Configuration) {
        self.total_seats = configuration.total_seats;
        self.remove_unused_levels(configuration);
        for spec in &configuration.levels {
            self.plan(spec.clone());
        }
        for spec in Configuration::mandatory_levels() {
            // A mandatory level whose object is missing keeps its settings.
            if !configuration.has_level(&spec.name) && !self.levels.contains_key(spec.name.as_str()) {
                self.plan(spec);
            }
        }
        self.set_limits();
        self.adjust();
    }

    /// Drops unconfigured levels that are empty, and marks the others as quiescing.
    fn remove_unused_levels(&mut self, configuration: &Configuration) {
        self.levels.retain(|name, level_plan| {
            let is_configured = configuration.has_level(name) || Configuration::is_mandatory(name);
            level_plan.quiescing = !is_configured;
            is_configured || !level_plan.level.lock().is_unused()
        });
    }

    fn plan(&mut self, spec: PriorityLevel) {
        let discipline = spec.discipline().unwrap_or(Discipline::Reject);
        let Plan { clock, lingering, request_counter, .. } = self;
        let new = || {
            let level = Level::new(
                &spec.name,
                discipline,
                Arc::clone(clock),
                Arc::clone(lingering),
                Arc::clone(request_counter),
            );
            PlannedLevel {
                level: Arc::new(level),
                spec: spec.clone(),
                quiescing: false,
                limits: Limits::default(),
                current: 0,
                demand: Demand::default(),
                target: 0.0,
            }
        };
        let planned = self.levels.entry(spec.name.as_str().into()).or_insert_with(new);
        planned.level.with_queues(|set, now, _| set.set_discipline(discipline, now));
        planned.spec = spec;
    }

    /// Computes the limits of each level. Quiescing levels count too.
    fn set_limits(&mut self) {
        let share_sum = self.levels.values().map(|planned| u64::from(planned.spec.shares)).sum();
        let mut waiting = 0_u64;
        let mut executing = 0_u64;
        for planned in self.levels.values_mut() {
            let PriorityLevel { shares, lendable_percent, kind, .. } = planned.spec;
            let borrowing = match kind {
                LevelKind::Exempt => None,
                LevelKind::Limited { borrowing_limit_percent, .. } => borrowing_limit_percent,
            };
            planned.limits = Limits::new(self.total_seats, shares, share_sum, lendable_percent, borrowing);
            executing = executing.saturating_add(planned.limits.nominal.into());
            if let Some(queuing) = planned.spec.queuing() {
                let capacity = u64::from(queuing.queues) * u64::from(queuing.queue_length_limit);
                waiting = waiting.saturating_add(capacity);
            }
        }
        self.request_counter.set_limits(waiting, executing, self.clock.now());
    }

    /// Divides the seats again, by the demand of each level since the last call.
    pub(crate) fn adjust(&mut self) {
        let claim = |planned: &mut PlannedLevel| {
            planned.demand.update(planned.level.with_queues(|set, now, after| set.take_demand(now, after)));
            LevelDemand {
                limits: planned.limits,
                exempt: planned.spec.kind == LevelKind::Exempt,
                high_watermark: planned.demand.high_watermark,
                smoothed: planned.demand.smoothed,
                current: planned.current,
            }
        };
        let claims: Vec<LevelDemand> = self.levels.values_mut().map(claim).collect();
        let (grants, fair_fraction) = divide(&claims);
        self.fair_fraction = fair_fraction;
        // Denominator of load ratios for levels without seats.
        let tenth = (f64::from(self.total_seats) / 10.0).round().max(1.0) as u32;
        for (planned, LevelAllocation { limit, target }) in self.levels.values_mut().zip(grants) {
            (planned.current, planned.target) = (limit, target);
            let denominator = if limit > 0 { limit } else { tenth };
            planned.level.with_queues(|set, now, after| set.set_limit(limit, denominator, now, after));
        }
    }

    /// Returns true if there are levels to drop.
    pub(crate) fn has_unused_levels(&self) -> bool {
        self.levels.values().any(|planned| planned.quiescing && planned.level.lock().is_unused())
    }

    /// Builds the routes of `schemas`, whose levels all exist. A schema that keeps its level keeps its
    /// counters.
    pub(crate) fn routes(&self, schemas: &[FlowSchema], before: &[Arc<Route>]) -> Vec<Arc<Route>> {
        let counted: HashMap<_, _> = before
            .iter()
            .map(|route| ((&*route.schema.name, route.level.name()), &route.schema.metrics))
            .collect();
        let route = |schema: &FlowSchema| {
            let planned = &self.levels[schema.level.as_str()];
            let queuing = planned.spec.queuing();
            let many = queuing.is_some_and(|queuing| queuing.queues > 1);
            let metrics =
                counted.get(&(&*schema.name, planned.level.name())).map(|metrics| Arc::clone(metrics));
            Arc::new(Route {
                schema: Arc::new(Schema {
                    name: schema.name.as_str().into(),
                    distinguisher: schema.distinguisher.filter(|_| many),
                    metrics: metrics.unwrap_or_default(),
                }),
                schema_uid: Bytes::copy_from_slice(schema.uid.as_bytes()),
                level: Arc::clone(&planned.level),
                level_uid: Bytes::copy_from_slice(planned.spec.uid.as_bytes()),
                exempt: planned.spec.kind == LevelKind::Exempt,
                seats_max: queuing.map(|queuing| seats_max(planned.limits.nominal, queuing.hand_size)),
                flows: many.then(|| Route::flows_of(&schema.name)),
            })
        };
        schemas.iter().map(route).collect()
    }

    /// Releases final seats that are due. Returns the time of the next release.
    pub(crate) fn release(&self) -> Option<Duration> {
        let due =
            |planned: &PlannedLevel| planned.level.with_queues(|set, now, after| set.release(now, after));
        self.levels.values().filter_map(due).min()
    }
}

fn seats_max(nominal: u32, hand_size: u32) -> u32 {
    let part = (u64::from(nominal) * WIDTH_PERCENT_MAX).div_ceil(100);
    let each = u64::from(nominal.checked_div(hand_size).unwrap_or_default());
    u32::try_from(part.min(each).max(1)).unwrap_or(u32::MAX)
}
