//! Laws of ownership that hold for all objects.

use super::*;

const CONFIG_MAP: &str = "io.k8s.api.core.v1.ConfigMap";

/// An object and its owners over a series of writes.
struct History<'c, C> {
    converter: &'c C,
    live: Value,
    managers: Managers,
}

impl<'c, C: Converter> History<'c, C> {
    fn new(converter: &'c C) -> Self {
        History { converter, live: json!({"kind": "ConfigMap"}), managers: Managers::new() }
    }

    fn update(mut self, manager: &str, new: Value) -> Self {
        let managers = std::mem::take(&mut self.managers);
        self.managers = Updater(self.converter).update(&self.live, &new, "v1", managers, manager).unwrap();
        self.live = new;
        self
    }

    fn apply_in(
        mut self,
        version: &str,
        manager: &str,
        config: Value,
        force: bool,
    ) -> Result<Self, ApplyError> {
        let managers = std::mem::take(&mut self.managers);
        let (object, managers) =
            Updater(self.converter).apply(&self.live, config, version, managers, manager, force)?;
        self.live = object.unwrap_or(self.live);
        self.managers = managers;
        Ok(self)
    }

    fn apply(self, manager: &str, config: Value) -> Self {
        self.apply_in("v1", manager, config, false).unwrap()
    }

    #[track_caller]
    fn check(self, live: Value, owners: &[(&str, &str)]) -> Self {
        assert_eq!(self.live["data"], live);
        let owned = |(name, managed): (&String, &VersionedSet)| (name.clone(), text(&managed.set));
        let expected = |&(name, fields): &(&str, &str)| (name.to_owned(), fields.to_owned());
        assert!(self.managers.iter().map(owned).eq(owners.iter().map(expected)), "{:?}", self.managers);
        self
    }
}

fn data(data: Value) -> Value {
    json!({"kind": "ConfigMap", "data": data})
}

/// `.kind` and these keys.
fn fields(keys: &[&str]) -> String {
    let keys: Vec<_> = keys.iter().map(|key| format!(r#""f:{key}":{{}}"#)).collect();
    format!(r#"{{"f:data":{{{}}},"f:kind":{{}}}}"#, keys.join(","))
}

#[test]
fn applying_again_changes_nothing() {
    let versions = Versions::of(CONFIG_MAP);
    let config = data(json!({"a": "1"}));
    let mut history =
        History::new(&versions).apply("a", config.clone()).update("u", data(json!({"a": "1", "b": "2"})));
    history.managers.values_mut().for_each(|managed| managed.changed = false);
    let (object, managers) =
        Updater(&versions).apply(&history.live, config, "v1", history.managers.clone(), "a", false).unwrap();
    assert_eq!(object, None);
    assert_eq!(managers, history.managers, "neither in what is owned nor in what says that it has changed");
}

#[test]
fn disjoint_appliers_commute() {
    let versions = Versions::of(CONFIG_MAP);
    let a = data(json!({"a": "1", "same": "x"}));
    let b = data(json!({"b": "2", "same": "x"}));
    let a_first = History::new(&versions).apply("a", a.clone()).apply("b", b.clone());
    let b_first = History::new(&versions).apply("b", b).apply("a", a);
    assert_eq!(a_first.live, b_first.live);
    assert_eq!(shown(&a_first.managers), shown(&b_first.managers));
}

#[test]
fn unapplied_fields_are_pruned_unless_owned() {
    let versions = Versions::of(CONFIG_MAP);
    History::new(&versions)
        .apply("a", data(json!({"alone": "1", "shared": "2", "stays": "3"})))
        .apply("b", data(json!({"shared": "2"})))
        .apply("a", data(json!({"stays": "3"})))
        .check(
            json!({"shared": "2", "stays": "3"}),
            &[("a", &fields(&["stays"])), ("b", &fields(&["shared"]))],
        );
}

/// A peculiarity of upstream: `null` that is applied again over a struct without owned fields removes the
/// struct if no remaining value is an ownable field (an empty list is not).
#[test]
fn reapplied_null_removes_unowned_struct() {
    let versions = Versions::of("io.k8s.api.apps.v1.StatefulSet");
    let live = json!({"kind": "K", "status": {"conditions": [], "currentReplicas": 0}});
    let config = json!({"kind": "K", "status": null});
    let managers = Managers::from([("a".to_owned(), owner(r#"{"f:kind":{},"f:status":{}}"#, "v1", true))]);
    let (object, _) = Updater(&versions).apply(&live, config, "v1", managers, "a", false).unwrap();
    assert_eq!(object, Some(json!({"kind": "K"})));
}

#[test]
fn updaters_fields_are_not_pruned() {
    let versions = Versions::of(CONFIG_MAP);
    History::new(&versions)
        .apply("a", data(json!({"x": "1", "y": "1"})))
        .update("u", data(json!({"x": "2", "y": "1"})))
        .check(json!({"x": "2", "y": "1"}), &[("a", &fields(&["y"])), ("u", r#"{"f:data":{"f:x":{}}}"#)])
        .apply("a", json!({"kind": "ConfigMap"}))
        .check(json!({"x": "2"}), &[("a", r#"{"f:kind":{}}"#), ("u", r#"{"f:data":{"f:x":{}}}"#)]);
}

#[test]
fn foreign_fields_change_only_by_force() {
    let versions = Versions::of(CONFIG_MAP);
    let history = || {
        History::new(&versions)
            .apply("a", data(json!({"x": "1", "y": "1"})))
            .update("u", data(json!({"x": "1", "y": "1", "z": "1"})))
    };
    let config = data(json!({"x": "2", "y": "1", "z": "2"}));
    match history().apply_in("v1", "b", config.clone(), false).map(|history| history.live) {
        Err(ApplyError::Conflicts(conflicts)) => {
            let expected = "conflicts with \"a\":\n- .data.x\nconflicts with \"u\":\n- .data.z";
            assert_eq!(conflicts.to_string(), expected);
        }
        other => panic!("{other:?}"),
    }
    history().apply_in("v1", "b", config, true).unwrap().check(
        json!({"x": "2", "y": "1", "z": "2"}),
        &[("a", &fields(&["y"])), ("b", &fields(&["x", "y", "z"]))],
    );
}

#[test]
fn managers_of_removed_versions_are_dropped() {
    let versions = Versions::of(CONFIG_MAP);
    let mut history = History::new(&versions).apply("a", data(json!({"x": "1"})));
    history.managers.insert("gone".into(), owner(r#"{"f:data":{"f:x":{}}}"#, "v0", true));
    history.apply("a", json!({"kind": "ConfigMap"})).check(Value::Null, &[("a", r#"{"f:kind":{}}"#)]);
}

/// Like [`Versions`], but the key `x` of `v1` is `y` in `v2`; objects with the key `broken` cannot be
/// converted.
struct Renaming(Versions);

impl Converter for Renaming {
    fn convert<'v>(&self, value: &'v Value, from: &str, to: &str) -> Result<Cow<'v, Value>, ConvertError> {
        if from == to {
            return Ok(Cow::Borrowed(value));
        }
        if value["data"].get("broken").is_some() {
            return Err(ConvertError::Failed("cannot convert".to_owned()));
        }
        let (from, to) = if from == "v1" { ("x", "y") } else { ("y", "x") };
        let mut value = value.clone();
        if let Some(data) = value["data"].as_object_mut()
            && let Some(renamed) = data.remove(from)
        {
            data.insert(to.to_owned(), renamed);
        }
        Ok(Cow::Owned(value))
    }

    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        self.0.type_of(api_version)
    }
}

#[test]
fn ownership_is_lost_in_the_owners_version() {
    let versions = Renaming(Versions::of(CONFIG_MAP));
    let mut history = History::new(&versions);
    history.live = data(json!({"x": "1", "z": "1"}));
    history.managers.insert("a".into(), owner(r#"{"f:data":{"f:y":{},"f:z":{}}}"#, "v2", true));
    history.update("u", data(json!({"x": "2", "z": "1"}))).check(
        json!({"x": "2", "z": "1"}),
        &[("a", r#"{"f:data":{"f:z":{}}}"#), ("u", r#"{"f:data":{"f:x":{}}}"#)],
    );
}

#[test]
fn pruning_uses_the_last_applied_version() {
    let versions = Renaming(Versions::of(CONFIG_MAP));
    let mut history = History::new(&versions);
    history.live = data(json!({"x": "1", "z": "1", "nobodys": "1"}));
    history.managers.insert("a".into(), owner(&fields(&["y", "z"]), "v2", true));
    history
        .apply("a", data(json!({"z": "1"})))
        .check(json!({"z": "1", "nobodys": "1"}), &[("a", &fields(&["z"]))]);
}

#[test]
fn conversion_failures_are_reported() {
    let versions = Renaming(Versions::of(CONFIG_MAP));
    let broken = data(json!({"broken": "1"}));
    let managers = || Managers::from([("a".to_owned(), owner(r#"{"f:data":{"f:y":{}}}"#, "v2", true))]);
    let updater = Updater(&versions);
    let update = |old: &Value, new: &Value| updater.update(old, new, "v1", managers(), "u");
    let error = update(&broken, &data(json!({}))).unwrap_err();
    assert_eq!(error.to_string(), "failed to convert old object: cannot convert");
    let error = update(&data(json!({})), &broken).unwrap_err();
    assert_eq!(error.to_string(), "failed to convert new object: cannot convert");
    let error = updater.apply(&data(json!({})), broken, "v1", managers(), "a", true).unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed to prune fields: failed to convert merged object to last applied version: cannot convert"
    );
}
