//! The chain of the server's admission plugins, in order.

use std::sync::Arc;

use schema::object::Object;

use crate::durations::{Phase, StepTimer};
use crate::{AdmissionNotes, Attributes, Durations, Now, Plugin, Verdict};

/// Admission plugins in order. First all plugins mutate; after the object is complete, all plugins validate.
/// The first rejection ends the chain.
#[derive(Default)]
pub struct Chain {
    plugins: Vec<Box<dyn Plugin>>,
    durations: Option<Arc<Durations>>,
}

impl Chain {
    pub fn new(plugins: Vec<Box<dyn Plugin>>) -> Self {
        Chain { plugins, durations: None }
    }

    /// Records the duration of each plugin from now on.
    #[must_use]
    pub fn with_durations(self, now: Arc<Now>) -> (Self, Arc<Durations>) {
        let names = self.plugins.iter().map(|plugin| plugin.name());
        let durations = Arc::new(Durations::new(names, now));
        (Chain { durations: Some(Arc::clone(&durations)), ..self }, durations)
    }

    /// Returns the plugins that handle the operation, with their positions.
    fn handlers<'c>(
        &'c self,
        attributes: &'c Attributes<'_>,
    ) -> impl Iterator<Item = (usize, &'c dyn Plugin)> {
        let plugins = self.plugins.iter().enumerate();
        plugins.filter(move |(_, plugin)| plugin.handles(attributes)).map(|(at, plugin)| (at, &**plugin))
    }

    fn begin(&self, phase: Phase, attributes: &Attributes<'_>) -> Option<StepTimer<'_>> {
        Some(self.durations.as_deref()?.begin(phase, attributes.operation))
    }

    /// Lets every plugin mutate the object. A deletion has no object. All plugins run a second time if a
    /// webhook or policy has changed the object.
    ///
    /// # Errors
    /// The first rejection.
    pub async fn mutate(
        &self,
        attributes: &Attributes<'_>,
        mut object: Option<&mut Object>,
        notes: &mut AdmissionNotes,
    ) -> Verdict {
        let mut timer = self.begin(Phase::Admit, attributes);
        let edited = self.run_mutations(attributes, object.as_deref_mut(), notes, &mut timer).await;
        finish_timer(timer, &edited);
        edited?;
        if let Some(object) = object {
            notes.restore_managed_fields(object);
        }
        Ok(())
    }

    async fn run_mutations(
        &self,
        attributes: &Attributes<'_>,
        mut object: Option<&mut Object>,
        notes: &mut AdmissionNotes,
        timer: &mut Option<StepTimer<'_>>,
    ) -> Verdict {
        loop {
            for (at, plugin) in self.handlers(attributes) {
                let edited = plugin.mutate(attributes, object.as_deref_mut(), notes).await;
                timer.iter_mut().for_each(|timer| timer.plugin(at, edited.is_err()));
                edited?;
            }
            if !notes.start_reinvocation() {
                return Ok(());
            }
        }
    }

    /// Lets every plugin validate the operation.
    ///
    /// # Errors
    /// The first rejection.
    pub async fn validate(
        &self,
        attributes: &Attributes<'_>,
        object: Option<&Object>,
        notes: &mut AdmissionNotes,
    ) -> Verdict {
        let mut timer = self.begin(Phase::Validate, attributes);
        let mut verdict = Ok(());
        for (at, plugin) in self.handlers(attributes) {
            verdict = plugin.validate(attributes, object, notes).await;
            timer.iter_mut().for_each(|timer| timer.plugin(at, verdict.is_err()));
            if verdict.is_err() {
                break;
            }
        }
        finish_timer(timer, &verdict);
        verdict
    }
}

fn finish_timer(timer: Option<StepTimer<'_>>, verdict: &Verdict) {
    if let Some(timer) = timer {
        timer.end(verdict.is_err());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use component_base::metrics::MetricsRegistry;
    use std::sync::{Arc, Mutex};

    use apimachinery::user_info::UserInfo;
    use async_trait::async_trait;
    use futures::FutureExt;

    use super::*;
    use crate::{Operation, Options};

    /// Plugin that records its calls and rejects in the configured phase.
    struct Witness {
        name: &'static str,
        refuses: &'static str,
        seen: Arc<Mutex<Vec<String>>>,
    }

    impl Witness {
        fn ask(&self, a: &Attributes<'_>, phase: &str, has_object: bool) -> Verdict {
            let object = if has_object { " an object" } else { "" };
            self.seen.lock().unwrap().push(format!("{} {phase}s{object}", self.name));
            if self.refuses == phase { Err(a.forbidden("no")) } else { Ok(()) }
        }
    }

    #[async_trait]
    impl Plugin for Witness {
        fn name(&self) -> &'static str {
            self.name
        }

        fn handles(&self, a: &Attributes<'_>) -> bool {
            a.operation != Operation::Update
        }

        async fn mutate(
            &self,
            a: &Attributes<'_>,
            object: Option<&mut Object>,
            _: &mut AdmissionNotes,
        ) -> Verdict {
            self.ask(a, "edit", object.is_some())
        }

        async fn validate(
            &self,
            a: &Attributes<'_>,
            object: Option<&Object>,
            _: &mut AdmissionNotes,
        ) -> Verdict {
            self.ask(a, "judge", object.is_some())
        }
    }

    fn check(operation: Operation, refuses: &'static str, expected: &[&str]) {
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let witness = |name, refuses| -> Box<dyn Plugin> {
            Box::new(Witness { name, refuses, seen: Arc::clone(&seen) })
        };
        let chain = Chain::new(vec![witness("a", refuses), witness("b", "")]);
        #[allow(clippy::disallowed_methods, reason = "any time will do")]
        let start = std::time::Instant::now();
        let (chain, durations) = chain.with_durations(Arc::new(move || start));
        let pods = api::resources::find("", "v1", "pods", "").unwrap();
        let attributes = Attributes {
            operation,
            user: &UserInfo::default(),
            resource: pods,
            endpoint: pods,
            namespace: "ns",
            name: "p",
            generate_name: "",
            old: None,
            options: Options::None,
            request: &crate::testing::REQUEST,
        };
        let mut object = (operation != Operation::Delete).then(Object::new);
        let notes = &mut AdmissionNotes::default();
        let done = chain.mutate(&attributes, object.as_mut(), notes).now_or_never().unwrap();
        let done =
            done.and_then(|()| chain.validate(&attributes, object.as_ref(), notes).now_or_never().unwrap());
        assert_eq!(done.is_err(), !refuses.is_empty());
        assert_eq!(*seen.lock().unwrap(), expected);
        let registry = MetricsRegistry::default();
        durations.register(&registry);
        let page = registry.to_string();
        let count = |line: &str| page.matches(line).count();
        let count_of = |phase: &str| expected.iter().filter(|seen| seen.contains(phase)).count();
        let family = "apiserver_admission_controller_admission_duration_seconds_count";
        assert_eq!(count(family), count_of(" edits") + count_of(" judges"), "{page}");
        let refused = format!("{family}{{name=\"a\",operation=\"{}\",rejected=\"true\"", operation.name());
        assert_eq!(count(&refused), usize::from(!refuses.is_empty()), "{page}");
        let steps = "apiserver_admission_step_admission_duration_seconds_count";
        assert_eq!(count(steps), 1 + usize::from(refuses != "edit"), "{page}");
    }

    #[test]
    fn all_plugins_mutate_before_any_validates() {
        let expected = ["a edits an object", "b edits an object", "a judges an object", "b judges an object"];
        check(Operation::Create, "", &expected);
        check(Operation::Connect, "", &expected);
    }

    #[test]
    fn a_deletion_passes_both_phases_without_an_object() {
        check(Operation::Delete, "", &["a edits", "b edits", "a judges", "b judges"]);
    }

    #[test]
    fn the_first_refusal_ends_it() {
        check(Operation::Create, "edit", &["a edits an object"]);
        check(Operation::Delete, "judge", &["a edits", "b edits", "a judges"]);
    }

    #[test]
    fn plugin_without_interest_is_not_called() {
        check(Operation::Update, "", &[]);
    }
}
