//! The quick update compared with the one that decodes all fields, over generated histories.

use std::borrow::Cow;

use apimachinery::time::UnixTime;
use jsontree::{Value, json};
use schema::builtin::{IO_K8S_API_APPS_V1_DEPLOYMENT, IO_K8S_API_CORE_V1_POD};
use schema::table::Message;

use crate::engine::{Engine, unowned};
use crate::entries::{Managed, Origin};
use crate::structured_merge::Set;
use crate::structured_merge::filter::Filter;
use crate::structured_merge::model::TypeRef;
use crate::structured_merge::updater::{ConvertError, Converter};
use crate::testing::at;

const VERSION: &str = "v1";

/// A single version, whose status cannot be owned through the main resource.
struct OneVersion {
    ty: TypeRef<'static>,
    filter: Filter,
}

impl Converter for OneVersion {
    fn convert<'v>(&self, value: &'v Value, _from: &str, _to: &str) -> Result<Cow<'v, Value>, ConvertError> {
        Ok(Cow::Borrowed(value))
    }

    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        (api_version == VERSION).then_some(self.ty)
    }

    fn filter(&self, _api_version: &str) -> Option<&Filter> {
        Some(&self.filter)
    }
}

struct Random(u64);

impl Random {
    fn one_in(&mut self, n: u64) -> bool {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33).is_multiple_of(n)
    }
}

/// Changes some scalars, and rarely the set of fields.
fn change(value: &mut Value, random: &mut Random) {
    match value {
        Value::Object(members) => {
            members.retain(|_, _| !random.one_in(3_000));
            members.values_mut().for_each(|member| change(member, random));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| change(item, random)),
        Value::String(text) if text.ends_with("Value") && random.one_in(150) => text.insert(0, 'x'),
        Value::Number(_) if random.one_in(150) => *value = json!(if random.one_in(2) { 7 } else { 8 }),
        _ => {}
    }
}

fn check(name: &str, message: &'static Message) {
    let fixtures = crate::testdata::files("fixtures");
    let (_, text) = fixtures.iter().find(|(path, _)| path.ends_with(name)).unwrap();
    let mut first: Value = serde_json::from_slice(text).unwrap();
    first["metadata"].as_object_mut().unwrap().remove("managedFields");
    let excluded = Set::parse(br#"{"f:status":{}}"#).unwrap();
    let versions = OneVersion { ty: TypeRef::builtin(message), filter: Filter::Exclude(excluded) };
    let unowned = unowned();
    let engine = Engine {
        converter: &versions,
        api_version: VERSION,
        kind: "Kind",
        subresource: "",
        unowned: &unowned,
        empty: &json!({}),
        rejects_merged: false,
    };
    let mut same = 0;
    for seed in 0..20 {
        let mut random = Random(seed);
        let mut live = json!({});
        let mut entries: Vec<Value> = Vec::new();
        for step in 0..30 {
            let mut new = if step == 0 || random.one_in(8) { first.clone() } else { live.clone() };
            change(&mut new, &mut random);
            let manager = if random.one_in(3) { "a" } else { "b" };
            let writer: Origin = engine.updater(manager, UnixTime { nanos: 5, ..at(step) });
            let quick = engine
                .undecoded(&entries, &writer)
                .and_then(|entries| engine.update_same_owners(&live, &new, entries, &writer));
            let managed = Managed::decode_stored(&entries).unwrap();
            let full = engine.update(&live, &new, managed, writer).ok().map(|managed| managed.encode());
            if quick.is_some() {
                assert_eq!(quick, full, "{name} {seed} {step}");
                same += 1;
            }
            let Some(full) = full else { continue };
            entries = full;
            live = new;
        }
    }
    assert!(same > 50, "{name}: {same}");
}

#[test]
fn same_owners_equal_those_of_full_update() {
    check("core.v1.Pod.json", &IO_K8S_API_CORE_V1_POD);
    check("apps.v1.Deployment.json", &IO_K8S_API_APPS_V1_DEPLOYMENT);
}
