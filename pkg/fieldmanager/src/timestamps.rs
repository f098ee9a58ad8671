//! Suppresses writes that would only change the times of managers.

use jsontree::Value;
use schema::object::Object;

use super::entries;

/// Restores the times of the entries in `live` if nothing else differs between the objects according to
/// `equal`. Equivalent to upstream's `IgnoreManagedFieldsTimestampsTransformer`. Without it, every
/// apply without changes would be a write.
pub fn ignore_timestamps(live: &Object, new: &mut Object, equal: impl FnOnce(&Object, &Object) -> bool) {
    let (Some(old), Some(changed)) = (entries::of(live), entries::of(new)) else { return };
    let same_but_for_time = old.len() == changed.len()
        && old.iter().zip(changed).all(|(a, b)| equal_but_for_time(a, b))
        && old.iter().zip(changed).any(|(a, b)| a.get("time") != b.get("time"));
    if !same_but_for_time {
        return;
    }
    let reverted = Value::from(old);
    let Some(slot) = new.get_mut("metadata").and_then(|metadata| metadata.get_mut("managedFields")) else {
        return;
    };
    let changed = std::mem::replace(slot, reverted);
    if !equal(live, new) {
        schema::object::set(new, &["metadata", "managedFields"], changed);
    }
}

fn equal_but_for_time(a: &Value, b: &Value) -> bool {
    let (Value::Object(a), Value::Object(b)) = (a, b) else { return false };
    let mut a = a.iter().filter(|(name, _)| *name != "time");
    let mut b = b.iter().filter(|(name, _)| *name != "time");
    a.by_ref().eq(b.by_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::json;

    fn object(data: &str, manager: &str, time: &str) -> Value {
        json!({
            "data": {"a": data},
            "metadata": {"managedFields": [
                {"manager": manager, "operation": "Apply", "time": time, "fieldsV1": "{}"},
                {"manager": "other", "operation": "Update"},
            ]},
        })
    }

    fn check(live: Value, new: Value, expected: Value) {
        let (Value::Object(live), Value::Object(mut new)) = (live, new) else { unreachable!() };
        ignore_timestamps(&live, &mut new, |a, b| a == b);
        assert_eq!(Value::Object(new), expected);
    }

    #[test]
    fn a_change_of_times_alone_is_reverted() {
        check(object("1", "m", "t1"), object("1", "m", "t2"), object("1", "m", "t1"));
    }

    #[test]
    fn times_stay_when_anything_else_changed() {
        check(object("1", "m", "t1"), object("2", "m", "t2"), object("2", "m", "t2"));
        check(object("1", "m", "t1"), object("1", "n", "t2"), object("1", "n", "t2"));
        let none = json!({"data": {"a": "1"}});
        check(object("1", "m", "t1"), none.clone(), none);
    }

    #[test]
    fn another_manager_keeps_its_new_time() {
        let mut new = object("1", "m", "t2");
        new["metadata"]["managedFields"].as_array_mut().into_iter().for_each(|list| {
            list.push(json!({"manager": "third"}));
        });
        check(object("1", "m", "t1"), new.clone(), new);
    }
}
