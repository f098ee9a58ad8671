//! `Priority` sets the priority and the preemption policy of a pod from its priority class, and allows only
//! one default class (upstream's `plugin/pkg/admission/priority`).

use std::sync::Arc;

use api::resources::{self, Resource};
use api::tree::{child, child_mut, flag, integer, maybe_integer, maybe_text, text};
use apimachinery::status::Status;
use async_trait::async_trait;
use jsontree::Value;
use schema::object::Object;

use crate::{AdmissionNotes, Attributes, Objects, Plugin, Verdict, meta};

/// The preemption policy of pods without a class, and of classes without a policy.
const DEFAULT_POLICY: &str = "PreemptLowerPriority";

pub struct Priority {
    objects: Arc<dyn Objects>,
    classes: &'static Resource<'static>,
}

/// Values that a priority class sets.
struct ClassValues {
    class: String,
    priority: i64,
    policy: Option<String>,
}

impl ClassValues {
    fn of(class: &Object) -> Self {
        ClassValues {
            class: meta::text(class, "name").to_owned(),
            priority: integer(class, "value"),
            policy: maybe_text(class, "preemptionPolicy").map(str::to_owned),
        }
    }

    /// Values without any class.
    fn default_values() -> Self {
        ClassValues { class: String::new(), priority: 0, policy: Some(DEFAULT_POLICY.to_owned()) }
    }
}

impl Priority {
    /// Looks up classes in `objects`. `None` if they are not served.
    pub fn new(objects: Arc<dyn Objects>) -> Option<Self> {
        let classes = resources::find("scheduling.k8s.io", "v1", "priorityclasses", "")?;
        Some(Priority { objects, classes })
    }

    /// Returns the default class. If a race has created several, returns the one with the lowest priority.
    async fn default_class(&self) -> Result<Option<Arc<Object>>, Box<Status>> {
        let classes = self.objects.list(self.classes, "").await?;
        let defaults = classes.into_iter().filter(|class| flag(class, "globalDefault"));
        Ok(defaults.min_by_key(|class| integer(class, "value")))
    }

    async fn class_values(&self, a: &Attributes<'_>, class: &str) -> Result<ClassValues, Box<Status>> {
        if class.is_empty() {
            let default = self.default_class().await?;
            return Ok(default.map_or_else(ClassValues::default_values, |class| ClassValues::of(&class)));
        }
        match self.objects.find(self.classes, "", class).await? {
            Some(class) => Ok(ClassValues::of(&class)),
            None => Err(a.forbidden(format!("no PriorityClass with name {class} was found"))),
        }
    }

    async fn prioritise(&self, a: &Attributes<'_>, spec: &mut Object) -> Verdict {
        let standing = self.class_values(a, text(spec, "priorityClassName")).await?;
        let priority = standing.priority;
        if let Some(value) = maybe_integer(spec, "priority").filter(|value| *value != priority) {
            return Err(a.forbidden(format!(
                "the integer value of priority ({value}) must not be provided in pod spec; priority admission \
                 controller computed {priority} from the given PriorityClass name"
            )));
        }
        if !standing.class.is_empty() {
            spec.insert("priorityClassName", Value::from(standing.class));
        }
        spec.insert("priority", Value::from(priority));
        let Some(policy) = standing.policy else { return Ok(()) };
        if let Some(preemption) =
            maybe_text(spec, "preemptionPolicy").filter(|preemption| *preemption != policy)
        {
            return Err(a.forbidden(format!(
                "the string value of PreemptionPolicy ({preemption}) must not be provided in pod spec; priority \
                 admission controller computed {policy} from the given PriorityClass name"
            )));
        }
        spec.insert("preemptionPolicy", Value::from(policy));
        Ok(())
    }
}

#[async_trait]
impl Plugin for Priority {
    fn name(&self) -> &'static str {
        "Priority"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.writes() && (a.is_pod() || a.is("scheduling.k8s.io", "priorityclasses", ""))
    }

    async fn mutate(
        &self,
        a: &Attributes<'_>,
        object: Option<&mut Object>,
        _: &mut AdmissionNotes,
    ) -> Verdict {
        let Some(object) = object else { return Ok(()) };
        if !a.is_pod() {
            return Ok(());
        }
        let Some(spec) = child_mut(object, "spec") else { return Ok(()) };
        if a.creates() {
            return self.prioritise(a, spec).await;
        }
        // Clients that predate these fields omit them from a PUT.
        let old = a.old.and_then(|old| child(old, "spec"));
        for name in ["priority", "preemptionPolicy"] {
            if let Some(was) = old.and_then(|old| old.get(name)).filter(|_| !spec.contains_key(name)) {
                spec.insert(name, was.clone());
            }
        }
        Ok(())
    }

    async fn validate(&self, a: &Attributes<'_>, object: Option<&Object>, _: &mut AdmissionNotes) -> Verdict {
        let Some(class) = object.filter(|object| !a.is_pod() && flag(object, "globalDefault")) else {
            return Ok(());
        };
        let Some(default) = self.default_class().await? else { return Ok(()) };
        let name = meta::text(&default, "name");
        if a.creates() || name != meta::text(class, "name") {
            Err(a.forbidden(format!(
                "PriorityClass {name} is already marked as default. Only one default can exist"
            )))
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use jsontree::json;

    use super::*;
    use crate::testing::{Store, Write};

    fn class(name: &str, value: i64, default: bool, policy: Option<&str>) -> (&'static str, Value) {
        let mut class = json!({"metadata": {"name": name}, "value": value, "globalDefault": default});
        if let Some(policy) = policy {
            class["preemptionPolicy"] = json!(policy);
        }
        ("priorityclasses", class)
    }

    fn pod(spec: Value) -> Value {
        json!({"metadata": {"name": "p"}, "spec": spec})
    }

    fn plugin<const N: usize>(classes: [(&'static str, Value); N]) -> Priority {
        Priority::new(Store::of(classes)).unwrap()
    }

    #[test]
    fn pod_gets_values_of_its_class() {
        let high = || class("high", 1000, false, Some("Never"));
        let check = |spec: Value, expected: Result<Value, &str>| {
            let got = Write::default().mutated(&plugin([high()]), pod(spec)).map(|pod| pod["spec"].clone());
            let expected = expected.map_err(|cause| format!("pods \"p\" is forbidden: {cause}"));
            assert_eq!(got, expected);
        };
        check(json!({}), Ok(json!({"priority": 0, "preemptionPolicy": "PreemptLowerPriority"})));
        let full = json!({"priorityClassName": "high", "priority": 1000, "preemptionPolicy": "Never"});
        check(json!({"priorityClassName": "high"}), Ok(full.clone()));
        check(full.clone(), Ok(full));
        check(json!({"priorityClassName": "x"}), Err("no PriorityClass with name x was found"));
        check(
            json!({"priority": 5}),
            Err(
                "the integer value of priority (5) must not be provided in pod spec; priority admission controller computed 0 from the given PriorityClass name",
            ),
        );
        check(
            json!({"priorityClassName": "high", "preemptionPolicy": "PreemptLowerPriority"}),
            Err(
                "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; priority admission controller computed Never from the given PriorityClass name",
            ),
        );
    }

    #[test]
    fn lowest_default_class_applies() {
        let plugin =
            plugin([class("a", 7, true, None), class("b", 3, true, None), class("c", 1, false, None)]);
        let got = Write::default().mutated(&plugin, pod(json!({}))).unwrap();
        assert_eq!(got["spec"], json!({"priorityClassName": "b", "priority": 3}));
    }

    #[test]
    fn update_keeps_omitted_fields() {
        let old = pod(json!({"priority": 3, "preemptionPolicy": "Never"}));
        let got = Write::default().over(old.clone()).mutated(&plugin([]), pod(json!({}))).unwrap();
        assert_eq!(got, old);
    }

    #[test]
    fn only_one_class_is_the_default() {
        let check = |exists: bool, name: &str, updates: bool, expected: bool| {
            let classes = if exists { vec![class("d", 1, true, None)] } else { vec![] };
            let store = Store::of([]);
            classes.into_iter().for_each(|(plural, class)| store.put(plural, class));
            let write = Write::of("scheduling.k8s.io", "v1", "priorityclasses");
            let new = class(name, 2, true, None).1;
            let write = if updates { write.over(new.clone()) } else { write };
            let got = write.validated(&Priority::new(store).unwrap(), new);
            assert_eq!(got.is_ok(), expected, "{exists} {name} {updates} {got:?}");
        };
        check(false, "n", false, true);
        check(true, "n", false, false);
        check(true, "n", true, false);
        check(true, "d", true, true);
    }
}
