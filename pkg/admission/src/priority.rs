//! `Priority` sets the priority and the preemption policy of a pod or a group of pods from its priority class,
//! and allows only one default class (upstream's `plugin/pkg/admission/priority`).

use std::sync::Arc;

use api::resources::{self, Resource};
use api::tree::{child, child_mut, flag, integer, maybe_integer, maybe_text, text};
use apimachinery::status::Status;
use async_trait::async_trait;
use component_base::features::{Gate, Gates};
use jsontree::Value;
use schema::object::Object;

use crate::{AdmissionNotes, Attributes, Objects, Plugin, Verdict, meta};

/// The preemption policy of pods without a class, and of classes without a policy.
const DEFAULT_POLICY: &str = "PreemptLowerPriority";

pub struct Priority {
    objects: Arc<dyn Objects>,
    classes: &'static Resource<'static>,
    gates: Gates,
}

/// Kind of the object that gets a priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    Pod,
    PodGroup,
    CompositePodGroup,
}

impl Holder {
    /// Returns the kind of a request; `None` for other resources and for subresources.
    fn of(a: &Attributes<'_>) -> Option<Holder> {
        if a.is_pod() {
            return Some(Holder::Pod);
        }
        match (a.resource.group, a.resource.plural, a.subresource()) {
            ("scheduling.k8s.io", "podgroups", "") => Some(Holder::PodGroup),
            ("scheduling.k8s.io", "compositepodgroups", "") => Some(Holder::CompositePodGroup),
            _ => None,
        }
    }

    /// Returns the noun in messages.
    fn noun(self) -> &'static str {
        match self {
            Holder::Pod => "pod",
            Holder::PodGroup => "pod group",
            Holder::CompositePodGroup => "composite pod group",
        }
    }

    /// Returns the gate that the plugin depends on for this kind.
    fn gate(self) -> Option<Gate> {
        match self {
            Holder::Pod => None,
            Holder::PodGroup => Some(Gate::GenericWorkload),
            Holder::CompositePodGroup => Some(Gate::CompositePodGroup),
        }
    }

    /// Returns the message for a sent priority that is not the class' priority.
    fn priority_message(self, sent: i64, computed: i64) -> String {
        match self {
            Holder::Pod => format!(
                "the integer value of priority ({sent}) must not be provided in pod spec; priority admission \
                 controller computed {computed} from the given PriorityClass name"
            ),
            Holder::PodGroup | Holder::CompositePodGroup => format!(
                "priority set in the {} ({sent}) must match the priority computed ({computed}) based on the \
                 priority class set in the spec",
                self.noun()
            ),
        }
    }
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
    pub fn new(objects: Arc<dyn Objects>, gates: Gates) -> Option<Self> {
        let classes = resources::find("scheduling.k8s.io", "v1", "priorityclasses", "")?;
        Some(Priority { objects, classes, gates })
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

    async fn prioritise(&self, a: &Attributes<'_>, holder: Holder, spec: &mut Object) -> Verdict {
        let standing = self.class_values(a, text(spec, "priorityClassName")).await?;
        let priority = standing.priority;
        if let Some(value) = maybe_integer(spec, "priority").filter(|value| *value != priority) {
            return Err(a.forbidden(holder.priority_message(value, priority)));
        }
        if !standing.class.is_empty() {
            spec.insert("priorityClassName", Value::from(standing.class));
        }
        spec.insert("priority", Value::from(priority));
        let sets_policy = holder == Holder::Pod || self.gates.enabled(Gate::PodGroupPreemptionPolicy);
        let Some(policy) = standing.policy.filter(|_| sets_policy) else { return Ok(()) };
        if let Some(preemption) =
            maybe_text(spec, "preemptionPolicy").filter(|preemption| *preemption != policy)
        {
            return Err(a.forbidden(format!(
                "the string value of PreemptionPolicy ({preemption}) must not be provided in {} spec; priority \
                 admission controller computed {policy} from the given PriorityClass name",
                holder.noun()
            )));
        }
        spec.insert("preemptionPolicy", Value::from(policy));
        Ok(())
    }

    /// Returns the kind of the object if it gets values from a class in this request.
    fn holder(&self, a: &Attributes<'_>) -> Option<Holder> {
        let holder = Holder::of(a)?;
        let is_open = holder.gate().is_none_or(|gate| self.gates.enabled(gate));
        (is_open && (a.creates() || holder == Holder::Pod)).then_some(holder)
    }
}

#[async_trait]
impl Plugin for Priority {
    fn name(&self) -> &'static str {
        "Priority"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.writes() && (self.holder(a).is_some() || a.is("scheduling.k8s.io", "priorityclasses", ""))
    }

    async fn mutate(
        &self,
        a: &Attributes<'_>,
        object: Option<&mut Object>,
        _: &mut AdmissionNotes,
    ) -> Verdict {
        let Some(object) = object else { return Ok(()) };
        let Some(holder) = self.holder(a) else { return Ok(()) };
        let Some(spec) = child_mut(object, "spec") else { return Ok(()) };
        if a.creates() {
            return self.prioritise(a, holder, spec).await;
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
        let Some(class) = object.filter(|object| Holder::of(a).is_none() && flag(object, "globalDefault"))
        else {
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
        Priority::new(Store::of(classes), Gates::default()).unwrap()
    }

    #[test]
    fn group_gets_values_of_its_class_with_gates() {
        let gates = Gates::default().with(Gate::GenericWorkload, true);
        let check = |gates: Gates, spec: Value, expected: Result<Value, &str>| {
            let store = Store::of([class("high", 1000, false, Some("Never"))]);
            let write = Write::of("scheduling.k8s.io", "v1beta1", "podgroups");
            let group = json!({"metadata": {"name": "g"}, "spec": spec});
            let got = write.mutated(&Priority::new(store, gates).unwrap(), group);
            let expected =
                expected.map_err(|cause| format!("podgroups.scheduling.k8s.io \"g\" is forbidden: {cause}"));
            assert_eq!(got.map(|group| group["spec"].clone()), expected);
        };
        let high = json!({"priorityClassName": "high"});
        let without_gate = Gates::default().with(Gate::GenericWorkload, false);
        check(without_gate, high.clone(), Ok(high.clone()));
        check(gates, high.clone(), Ok(json!({"priorityClassName": "high", "priority": 1000})));
        check(
            gates,
            json!({"priority": 5}),
            Err(
                "priority set in the pod group (5) must match the priority computed (0) based on the priority \
                 class set in the spec",
            ),
        );
        let with_policy = gates.with(Gate::PodGroupPreemptionPolicy, true);
        let full = json!({"priorityClassName": "high", "priority": 1000, "preemptionPolicy": "Never"});
        check(with_policy, high, Ok(full));
        check(
            with_policy,
            json!({"preemptionPolicy": "Never"}),
            Err(
                "the string value of PreemptionPolicy (Never) must not be provided in pod group spec; priority \
                 admission controller computed PreemptLowerPriority from the given PriorityClass name",
            ),
        );
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
            let got = write.validated(&Priority::new(store, Gates::default()).unwrap(), new);
            assert_eq!(got.is_ok(), expected, "{exists} {name} {updates} {got:?}");
        };
        check(false, "n", false, true);
        check(true, "n", false, false);
        check(true, "n", true, false);
        check(true, "d", true, true);
    }
}
