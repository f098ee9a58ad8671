//! Tests of values, objects and names.

use crate::text::order;
use crate::{Key, Number, Object, Value, is_equal};

#[test]
fn members_are_sorted_for_any_insertion_order() {
    for count in [5_usize, 64, 65, 300] {
        let mut object = Object::new();
        for i in (0..count).rev() {
            assert_eq!(object.insert(format!("{i:03}"), i.into()), None);
        }
        let names: Vec<_> = object.keys().map(ToString::to_string).collect();
        assert_eq!(names, (0..count).map(|i| format!("{i:03}")).collect::<Vec<_>>());
        assert!(object.values().enumerate().all(|(i, value)| *value == i));
    }
}

#[test]
fn members_are_replaced_found_and_removed() {
    for count in [3_usize, 200] {
        let mut object: Object = (0..count).map(|i| (format!("m{i}"), i.into())).collect();
        assert_eq!(object.insert("m1", "new".into()), Some(1.into()));
        assert_eq!(object.len(), count);
        assert_eq!(object.get("m1").and_then(Value::as_str), Some("new"));
        assert_eq!(object.remove("m1"), Some("new".into()));
        assert_eq!(object.remove("m1"), None);
        assert_eq!(*object.entry("m1").or_insert(7.into()), 7);
    }
}

#[test]
fn shrunk_object_equals_small_one() {
    let mut object: Object = (0..100).map(|i| (i.to_string(), i.into())).collect();
    object.retain(|_, value| value.as_i64() == Some(4));
    assert_eq!(object, Object::from([("4", 4.into())]));
}

#[test]
fn text_round_trips() {
    let value = json!({"b": [1, -1, 2.5, null, true, "x"], "a": {"": {}}});
    assert_eq!(value.to_string(), r#"{"a":{"":{}},"b":[1,-1,2.5,null,true,"x"]}"#);
    assert_eq!(value.to_string().parse::<Value>().unwrap(), value);
    assert_eq!(value["b"][2], 2.5);
    assert_eq!(value["none"]["of"][3], Value::Null);
}

#[test]
fn pointers_lead_through_members_and_items() {
    let value = json!({"a/b": [{"~": 1}]});
    assert_eq!(value.pointer("/a~1b/0/~0"), Some(&Value::Number(Number::from(1))));
    assert_eq!(value.pointer(""), Some(&value));
    assert_eq!(value.pointer("a"), None);
    assert_eq!(value.pointer("/a~1b/00"), None);
}

#[test]
fn equal_bytes_are_equal_names() {
    for length in 0..40 {
        let name: String = ('A'..).take(length).collect();
        assert!(is_equal(&name, &name.clone()));
        assert!(!is_equal(&name, &format!("{name}x")));
        for at in 0..length {
            let mut other = name.clone().into_bytes();
            other[at] = b'!';
            assert!(!is_equal(&name, std::str::from_utf8(&other).unwrap()), "{name} but for {at}");
        }
    }
}

#[test]
fn insert_at_works_for_vector_and_tree() {
    let mut object = Object::new();
    for i in (0..100).rev() {
        object.insert_at(0, &Key::from(format!("{i:03}")), || i.into());
    }
    assert!(object.values().enumerate().all(|(i, value)| *value == i));
}

#[test]
fn names_are_ordered_as_their_bytes_are() {
    let names: Vec<String> =
        ["", "a", "ab", "b", "abcd", "abce", "abcdefg", "abcdefgh", "abcdefghi", "\u{0}", "a\u{0}", "\u{e9}"]
            .iter()
            .flat_map(|name| [(*name).to_owned(), format!("{name}\u{0}"), format!("z{name}")])
            .collect();
    for one in &names {
        for other in &names {
            assert_eq!(order(one, other), one.cmp(other), "{one:?} {other:?}");
        }
    }
}
