//! Differing parts of two trees. An update that changes little of a large object then need not compare all of
//! it.

use std::cmp::Ordering;

use jsontree::Value;
use schema::object::Object;

/// Depth to which members are compared separately: single labels, or the parts of a pod template.
const LEVELS: usize = 3;

/// Returns both objects without their equal members. Comparing the results finds the same changes. Objects
/// are compared member by member, or as a whole, and then they still differ. An empty value counts as a
/// value, so nothing is emptied. Lists stay whole. For managed fields only their presence is kept.
pub(super) fn differing_parts(live: &Object, new: &Object) -> (Object, Object) {
    split(live, new, LEVELS)
}

fn split(live: &Object, new: &Object, levels: usize) -> (Object, Object) {
    let mut left = Object::new();
    let mut right = Object::new();
    let mut old = live.iter().peekable();
    let mut new = new.iter().peekable();
    // An equal member, preferably a small one.
    let mut equal_member: Option<(&jsontree::Key, &Value)> = None;
    loop {
        let order = match (old.peek(), new.peek()) {
            (Some((a, _)), Some((b, _))) => a.cmp(b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => break,
        };
        let a = if order.is_le() { old.next() } else { None };
        let b = if order.is_ge() { new.next() } else { None };
        match (a, b) {
            (Some((name, a)), Some((_, b))) if a == b => {
                let is_large = |value: &Value| value.is_object() || value.is_array();
                if equal_member.is_none_or(|(_, value)| is_large(value) && !is_large(a)) {
                    equal_member = Some((name, a));
                }
            }
            (Some((name, Value::Object(a))), Some((_, Value::Object(b)))) if levels > 1 => {
                let (a, b) = split(a, b, levels - 1);
                left.insert(name.clone(), Value::Object(a));
                right.insert(name.clone(), Value::Object(b));
            }
            (a, b) => {
                left.extend(a.map(|(name, value)| copy(name, value)));
                right.extend(b.map(|(name, value)| copy(name, value)));
            }
        }
    }
    if let Some((name, value)) = equal_member.filter(|_| left.is_empty() || right.is_empty()) {
        left.extend([copy(name, value)]);
        right.extend([copy(name, value)]);
    }
    (left, right)
}

fn copy(name: &jsontree::Key, value: &Value) -> (jsontree::Key, Value) {
    let value = if name == "managedFields" { Value::Array(Vec::new()) } else { value.clone() };
    (name.clone(), value)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may say what must hold")]
mod tests {
    use super::*;
    use crate::structured_merge::model::TypeRef;
    use crate::structured_merge::typed::compare;
    use jsontree::json;
    use schema::builtin::{IO_K8S_API_APPS_V1_DEPLOYMENT, IO_K8S_API_CORE_V1_POD};
    use schema::patch::expand;
    use schema::table::Message;

    #[test]
    fn equal_members_are_omitted() {
        let check = |live: Value, new: Value, left: Value, right: Value| {
            let live = live.as_object().unwrap();
            let new = new.as_object().unwrap();
            let (a, b) = differing_parts(live, new);
            assert_eq!((Value::Object(a), Value::Object(b)), (left, right));
        };
        check(
            json!({"a": 1, "b": {"c": [1]}}),
            json!({"a": 1, "b": {"c": [1]}}),
            json!({"a": 1}),
            json!({"a": 1}),
        );
        check(
            json!({"b": {"c": 1, "d": [1]}}),
            json!({"b": {"d": [1]}}),
            json!({"b": {"c": 1, "d": [1]}}),
            json!({"b": {"d": [1]}}),
        );
        check(
            json!({"a": {"b": {"c": {"x": 1, "y": 2}, "d": 1}}, "l": [1, 2]}),
            json!({"a": {"b": {"c": {"x": 1, "y": 3}, "d": 1}}, "l": [1, 3], "n": 1}),
            json!({"a": {"b": {"c": {"x": 1, "y": 2}}}, "l": [1, 2]}),
            json!({"a": {"b": {"c": {"x": 1, "y": 3}}}, "l": [1, 3], "n": 1}),
        );
        check(
            json!({"metadata": {"managedFields": [{"manager": "m"}], "name": "n", "uid": "u"}}),
            json!({"metadata": {"name": "n", "uid": "u"}}),
            json!({"metadata": {"managedFields": [], "name": "n"}}),
            json!({"metadata": {"name": "n"}}),
        );
    }

    /// Removes, empties or replaces about one member in sixteen.
    fn mutate(value: &mut Value, seed: &mut u64) {
        let mut roll = || {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *seed >> 33
        };
        match value {
            Value::Object(members) => {
                members.retain(|_, _| roll() % 16 != 0);
                members.values_mut().for_each(|member| mutate(member, seed));
            }
            Value::Array(items) if roll() % 16 == 0 => items.clear(),
            Value::Array(items) => items.iter_mut().for_each(|item| mutate(item, seed)),
            // A text without further rules: neither a quantity nor base64.
            Value::String(text) if text.ends_with("Value") && roll() % 16 == 0 => text.insert(0, 'x'),
            _ => {}
        }
    }

    #[test]
    fn reduced_trees_have_the_same_changes() {
        let fixtures = crate::testdata::files("fixtures");
        let kinds: [(&str, &'static Message); 2] = [
            ("core.v1.Pod.json", &IO_K8S_API_CORE_V1_POD),
            ("apps.v1.Deployment.json", &IO_K8S_API_APPS_V1_DEPLOYMENT),
        ];
        for (name, message) in kinds {
            let (_, text) = fixtures.iter().find(|(path, _)| path.ends_with(name)).unwrap();
            let mut live = schema::json::decode(message, text).unwrap().object;
            crate::entries::remove(&mut live);
            let ty = TypeRef::builtin(message);
            let changes = |a: &Object, b: &Object| {
                compare(&expand(message, a).unwrap(), &expand(message, b).unwrap(), ty)
            };
            for mut seed in 0..60 {
                let mut new = Value::Object(live.clone());
                mutate(&mut new, &mut seed);
                let new = new.as_object().unwrap();
                let (a, b) = differing_parts(&live, new);
                assert_eq!(changes(&a, &b), changes(&live, new), "{name} {seed}");
            }
        }
    }
}
