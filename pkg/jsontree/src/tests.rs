//! What is said of values, objects and names.

use crate::text::order;
use crate::{Key, Number, Object, Value, same};

#[test]
fn members_are_in_order_of_their_names_whatever_they_were_put_in_by() {
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
fn a_member_is_replaced_found_and_taken_out_among_few_and_many() {
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
fn an_object_that_has_shrunk_equals_one_that_never_grew() {
    let mut object: Object = (0..100).map(|i| (i.to_string(), i.into())).collect();
    object.retain(|_, value| value.as_i64() == Some(4));
    assert_eq!(object, Object::from([("4", 4.into())]));
}

#[test]
fn text_of_a_value_is_read_back_as_the_same_value() {
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
fn names_of_every_length_are_the_same_if_their_bytes_are() {
    for length in 0..40 {
        let name: String = ('A'..).take(length).collect();
        assert!(same(&name, &name.clone()));
        assert!(!same(&name, &format!("{name}x")));
        for at in 0..length {
            let mut other = name.clone().into_bytes();
            other[at] = b'!';
            assert!(!same(&name, std::str::from_utf8(&other).unwrap()), "{name} but for {at}");
        }
    }
}

#[test]
fn a_member_whose_place_is_known_is_put_there_among_few_and_many() {
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
