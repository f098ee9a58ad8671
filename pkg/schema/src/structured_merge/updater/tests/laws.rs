//! What must hold of owners, whatever the objects.

use super::*;

const CONFIG_MAP: &str = "io.k8s.api.core.v1.ConfigMap";

/// One object and its owners, through a history.
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
    let (a, b) = (data(json!({"a": "1", "same": "x"})), data(json!({"b": "2", "same": "x"})));
    let one = History::new(&versions).apply("a", a.clone()).apply("b", b.clone());
    let other = History::new(&versions).apply("b", b).apply("a", a);
    assert_eq!(one.live, other.live);
    assert_eq!(shown(&one.managers), shown(&other.managers));
}

#[test]
fn what_is_applied_no_more_goes_unless_others_own_it() {
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

/// An oddity of upstream's: `null` applied again over a struct whose fields nobody owns takes out the
/// struct, if none of what remains is a field to own (an empty list is none).
#[test]
fn null_applied_again_takes_out_what_nobody_owns() {
    let versions = Versions::of("io.k8s.api.apps.v1.StatefulSet");
    let live = json!({"kind": "K", "status": {"conditions": [], "currentReplicas": 0}});
    let config = json!({"kind": "K", "status": null});
    let managers = Managers::from([("a".to_owned(), owner(r#"{"f:kind":{},"f:status":{}}"#, "v1", true))]);
    let (object, _) = Updater(&versions).apply(&live, config, "v1", managers, "a", false).unwrap();
    assert_eq!(object, Some(json!({"kind": "K"})));
}

#[test]
fn what_an_updater_owns_is_not_pruned() {
    let versions = Versions::of(CONFIG_MAP);
    History::new(&versions)
        .apply("a", data(json!({"x": "1", "y": "1"})))
        .update("u", data(json!({"x": "2", "y": "1"})))
        .check(json!({"x": "2", "y": "1"}), &[("a", &fields(&["y"])), ("u", r#"{"f:data":{"f:x":{}}}"#)])
        .apply("a", json!({"kind": "ConfigMap"}))
        .check(json!({"x": "2"}), &[("a", r#"{"f:kind":{}}"#), ("u", r#"{"f:data":{"f:x":{}}}"#)]);
}

#[test]
fn what_others_own_is_changed_by_force_only() {
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
fn managers_of_a_version_that_is_gone_are_forgotten() {
    let versions = Versions::of(CONFIG_MAP);
    let mut history = History::new(&versions).apply("a", data(json!({"x": "1"})));
    history.managers.insert("gone".into(), owner(r#"{"f:data":{"f:x":{}}}"#, "v0", true));
    history.apply("a", json!({"kind": "ConfigMap"})).check(Value::Null, &[("a", r#"{"f:kind":{}}"#)]);
}

/// As [`Versions`], but the key `x` of `v1` is `y` in `v2`; objects with the key `broken` do not
/// convert.
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
fn fields_are_lost_under_the_names_of_the_owners_version() {
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
fn pruning_goes_by_the_version_applied_last() {
    let versions = Renaming(Versions::of(CONFIG_MAP));
    let mut history = History::new(&versions);
    history.live = data(json!({"x": "1", "z": "1", "nobodys": "1"}));
    history.managers.insert("a".into(), owner(&fields(&["y", "z"]), "v2", true));
    history
        .apply("a", data(json!({"z": "1"})))
        .check(json!({"z": "1", "nobodys": "1"}), &[("a", &fields(&["z"]))]);
}

#[test]
fn failures_to_convert_say_what_failed() {
    let versions = Renaming(Versions::of(CONFIG_MAP));
    let broken = data(json!({"broken": "1"}));
    let managers = || Managers::from([("a".to_owned(), owner(r#"{"f:data":{"f:y":{}}}"#, "v2", true))]);
    let updater = Updater(&versions);
    let update = |old: &Value, new: &Value| updater.update(old, new, "v1", managers(), "u");
    assert_eq!(update(&broken, &data(json!({}))), Err("failed to convert old object: cannot convert".into()));
    assert_eq!(update(&data(json!({})), &broken), Err("failed to convert new object: cannot convert".into()));
    let failed = ApplyError::Failed(
        "failed to prune fields: failed to convert merged object to last applied version: cannot convert"
            .into(),
    );
    assert_eq!(updater.apply(&data(json!({})), broken, "v1", managers(), "a", true), Err(failed));
}
