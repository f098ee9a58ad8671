//! Applies any YAML configuration to any live object (two texts separated by NUL): it never panics, the
//! result contains the applied configuration, and a second apply changes nothing.
#![no_main]

use jsontree::Value;
use libfuzzer_sys::fuzz_target;
use fieldmanager::structured_merge::model::TypeRef;
use fieldmanager::structured_merge::typed::{Duplicates, compare, field_set, merge, remove, validate};
use schema::{builtin, json, yaml};

fn value(text: &[u8]) -> Option<Value> {
    json::decode_untyped(&yaml::to_json(text).ok()?.json).ok().map(|untyped| untyped.value)
}

fuzz_target!(|data: &[u8]| {
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let (Some(live), Some(configuration)) = (parts.next(), parts.next()) else { return };
    let message = builtin::kind("v1", "Pod").expect("the type is in the tables");
    for ty in [TypeRef::builtin(message), TypeRef::DEDUCED] {
        let (Some(live), Some(configuration)) = (value(live), value(configuration)) else { return };
        let fits = validate(&live, ty, Duplicates::Allow).is_ok();
        if !fits || validate(&configuration, ty, Duplicates::Reject).is_err() {
            continue;
        }
        let merged = merge(&live, configuration.clone(), ty).expect("both fit the type");
        assert_eq!(merge(&merged, configuration.clone(), ty).as_ref(), Ok(&merged));
        assert!(compare(&merged, &merged, ty).expect("it fits the type").is_same());
        if let Ok(set) = field_set(&configuration, ty) {
            let _ = remove(&merged, &set, ty);
        }
    }
});
