//! `EventRateLimit` limits the rate of Events: for the server, per namespace, per user, or per source and
//! object (upstream's `plugin/pkg/admission/eventratelimit`).

mod buckets;
mod configuration;

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, PoisonError};

use api::tree::{child, text};
use apimachinery::status::{Reason, Status};
use async_trait::async_trait;
use component_base::clock::Clock;
use schema::object::Object;

use crate::{AdmissionNotes, Attributes, Plugin, Verdict, meta};
use buckets::Buckets;
pub use configuration::EventRateLimitConfiguration;
use configuration::{Limit, LimitType};

pub struct EventRateLimit {
    clock: Arc<dyn Clock>,
    limits: Vec<(LimitType, Mutex<Buckets>)>,
    /// Randomly keyed, so that clients cannot construct colliding keys.
    hasher: RandomState,
}

impl EventRateLimit {
    pub fn new(clock: Arc<dyn Clock>, configuration: &EventRateLimitConfiguration) -> Self {
        let buckets = |limit: &Limit| Buckets::new(limit.rate, limit.burst, limit.buckets_max);
        let limits = configuration.limits.iter();
        let limits = limits.map(|limit| (limit.limit_type, Mutex::new(buckets(limit)))).collect();
        EventRateLimit { clock, limits, hasher: RandomState::new() }
    }
}

/// Returns the bucket key for an event.
fn key(of: LimitType, a: &Attributes<'_>, event: &Object) -> String {
    let member = |parent: &str, name: &str| child(event, parent).map_or("", |parent| text(parent, name));
    match of {
        LimitType::Server => String::new(),
        LimitType::Namespace => a.namespace.to_owned(),
        LimitType::User => a.user.name.clone(),
        LimitType::SourceAndObject => {
            let object = |name| member("involvedObject", name);
            let source = [member("source", "component"), member("source", "host")].concat();
            let object = ["kind", "namespace", "name", "uid", "apiVersion"].map(object);
            source + &object.concat()
        }
    }
}

#[async_trait]
impl Plugin for EventRateLimit {
    fn name(&self) -> &'static str {
        "EventRateLimit"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.writes() && a.endpoint.group.is_empty() && a.endpoint.kind == "Event" && !a.dry_run()
    }

    async fn validate(&self, a: &Attributes<'_>, object: Option<&Object>, _: &mut AdmissionNotes) -> Verdict {
        let Some(event) = object else { return Ok(()) };
        let now = self.clock.now();
        let mut reached = Vec::new();
        for (of, buckets) in &self.limits {
            let key = key(*of, a, event);
            // Clients control the length of keys, so only their hashes are stored.
            let hash = self.hasher.hash_one(&key);
            if !buckets.lock().unwrap_or_else(PoisonError::into_inner).take(hash, now) {
                reached.push(format!("limit reached on type {} for key {key}", of.name()));
            }
        }
        match meta::aggregate(reached) {
            None => Ok(()),
            Some(reason) => {
                let message = format!("Too many requests: {reason}");
                Err(Status::failure(429, Reason::TooManyRequests, message).into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use component_base::clock::TestClock;
    use jsontree::{Value, json};

    use super::*;
    use crate::testing::Write;

    fn plugin(limits: &str) -> EventRateLimit {
        let head = "apiVersion: eventratelimit.admission.k8s.io/v1alpha1\nkind: Configuration\n";
        let text = format!("{head}limits: {limits}");
        let configuration = EventRateLimitConfiguration::parse(Some(text.as_bytes())).unwrap();
        EventRateLimit::new(Arc::new(TestClock::default()), &configuration)
    }

    fn event(name: &str) -> Value {
        json!({"metadata": {"name": "e"}, "source": {"component": "c", "host": "h"}, "involvedObject":
            {"kind": "Pod", "namespace": "ns", "name": name, "uid": "u", "apiVersion": "v1"}})
    }

    #[test]
    fn events_beyond_a_limit_are_refused() {
        let check = |of: &str, key: &str| {
            let plugin = plugin(&format!("[{{type: {of}, qps: 1, burst: 1}}]"));
            let mut write = Write::of("", "v1", "events");
            write.user.name = "me".to_owned();
            assert!(write.validated(&plugin, event("p")).is_ok());
            let refused = write.validated(&plugin, event("p")).unwrap_err();
            assert_eq!(refused, format!("Too many requests: limit reached on type {of} for key {key}"));
            assert!(Write::of("", "v1", "pods").validated(&plugin, event("p")).is_ok());
            assert!(Write::of("events.k8s.io", "v1", "events").validated(&plugin, event("p")).is_ok());
            let dry = Write { dry_run: true, ..Write::of("", "v1", "events") };
            assert!(dry.validated(&plugin, event("p")).is_ok());
        };
        check("Server", "");
        check("Namespace", "ns");
        check("User", "me");
        check("SourceAndObject", "chPodnspuv1");
    }

    #[test]
    fn every_limit_is_applied() {
        let plugin = plugin("[{type: Server, qps: 1, burst: 2}, {type: SourceAndObject, qps: 1, burst: 1}]");
        let write = Write::of("", "v1", "events");
        let rejection = |name: &str| write.validated(&plugin, event(name)).err().unwrap_or_default();
        assert_eq!(rejection("p"), "");
        assert_eq!(rejection("q"), "");
        let of_server = "limit reached on type Server for key ";
        assert_eq!(rejection("r"), format!("Too many requests: {of_server}"));
        let of_object = "limit reached on type SourceAndObject for key chPodnspuv1";
        assert_eq!(rejection("p"), format!("Too many requests: [{of_server}, {of_object}]"));
    }
}
