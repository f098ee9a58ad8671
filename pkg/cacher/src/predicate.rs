//! Which elements a read wants: labels and selectable fields, decided on headers alone
//! (upstream's `SelectionPredicate`).

use apimachinery::labels;
use apimachinery::sharding::Shards;

use crate::Element;

/// What a field requirement looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// `metadata.name`.
    Name,
    /// `metadata.namespace`, of namespaced resources.
    Namespace,
    /// A selectable field by its position in the header.
    Header(usize),
}

impl Field {
    fn of(self, element: &Element) -> &str {
        match self {
            Field::Name => element.name(),
            Field::Namespace => element.namespace(),
            Field::Header(at) => element.header().field(at),
        }
    }
}

/// One requirement on a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldTerm {
    /// Which field.
    pub field: Field,
    /// Whether it must be equal to the value, or must not.
    pub equal: bool,
    /// The value.
    pub value: String,
}

/// The shards that elements must be in.
#[derive(Debug, Clone)]
pub struct ShardTerm {
    /// What decides about an element's shard; without a field it is empty for all of them.
    pub field: Option<Field>,
    /// Which shards.
    pub shards: Shards,
}

/// Labels and fields that an element must have, and its shard. The default wants everything.
#[derive(Debug, Clone, Default)]
pub struct Predicate {
    /// Requirements on labels.
    pub labels: labels::Selector,
    /// Requirements on fields; all must hold.
    pub fields: Box<[FieldTerm]>,
    /// Requirement on the shard. Few have one, and a watch keeps its predicate.
    pub shard: Option<Box<ShardTerm>>,
}

impl Predicate {
    /// Whether everything is wanted.
    pub fn is_everything(&self) -> bool {
        self.has_no_selectors() && self.shard.is_none()
    }

    /// Whether all labels and fields are wanted. Pages of such a list say what remains, in whichever shards.
    pub fn has_no_selectors(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether an element is wanted. One that cannot be read never is; whoever must fail because of
    /// it looks at [`Element::value`].
    pub fn matches(&self, element: &Element) -> bool {
        let field = |term: &FieldTerm| (term.field.of(element) == term.value) == term.equal;
        let in_shard =
            |term: &ShardTerm| term.shards.contain(term.field.map_or("", |field| field.of(element)));
        element.value().is_ok()
            && self.shard.as_deref().is_none_or(in_shard)
            && self.fields.iter().all(field)
            && (self.labels.is_empty() || self.labels.matches(|key| element.header().label(key)))
    }

    /// The value that a header field must be equal to, where there is exactly one.
    pub fn required(&self, at: usize) -> Option<&str> {
        let mut terms = self.fields.iter().filter(|term| term.equal && term.field == Field::Header(at));
        let first = terms.next()?;
        terms.all(|term| term.value == first.value).then_some(&*first.value)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use apimachinery::sharding::{ShardKey, ShardRange, hash};
    use bytes::Bytes;
    use storage::KeyValue;

    use super::*;
    use crate::{HeaderBuilder, Ingest};

    struct Pod;

    impl Ingest for Pod {
        fn ingest(&self, value: Bytes, header: &mut HeaderBuilder) -> Result<Bytes, String> {
            if value.is_empty() {
                return Err("nothing".to_owned());
            }
            header.push_field("node-1");
            header.push_label("app", "web");
            Ok(value)
        }
    }

    fn pod(value: &'static [u8]) -> Arc<Element> {
        let kv = KeyValue::new("/registry/pods/ns/a", Bytes::from_static(value), 1);
        Element::new(kv, &Pod)
    }

    fn wants(fields: &[(Field, bool, &str)], selector: &str) -> Predicate {
        let term = |(field, equal, value): &(Field, bool, &str)| FieldTerm {
            field: *field,
            equal: *equal,
            value: (*value).to_owned(),
        };
        Predicate {
            labels: labels::Selector::parse(selector).unwrap(),
            fields: fields.iter().map(term).collect(),
            shard: None,
        }
    }

    #[test]
    fn every_requirement_must_hold() {
        let check = |fields: &[(Field, bool, &str)], labels: &str, expected: bool| {
            assert_eq!(wants(fields, labels).matches(&pod(b"x")), expected, "{fields:?} {labels}");
        };
        check(&[], "", true);
        check(&[(Field::Name, true, "a"), (Field::Namespace, true, "ns")], "", true);
        check(&[(Field::Name, false, "a")], "", false);
        check(&[(Field::Header(0), true, "node-1")], "app=web", true);
        check(&[(Field::Header(0), true, "node-2")], "app=web", false);
        check(&[(Field::Header(9), true, "")], "app!=web", false);
        check(&[(Field::Header(9), true, "")], "!other", true);
    }

    #[test]
    fn an_element_is_wanted_in_the_shard_of_its_field() {
        let check = |field: Option<Field>, value: &str| {
            let start = u128::from(hash(value));
            let shards = Shards::new(ShardKey::Uid, vec![ShardRange { start, end: start + 1 }]);
            let shard = Some(Box::new(ShardTerm { field, shards }));
            let predicate = Predicate { shard, ..Predicate::default() };
            assert!(!predicate.is_everything() && predicate.has_no_selectors());
            predicate.matches(&pod(b"x"))
        };
        assert!(check(Some(Field::Namespace), "ns"));
        assert!(check(Some(Field::Header(0)), "node-1"));
        assert!(check(None, ""));
        assert!(!check(Some(Field::Header(0)), "node-2"));
        assert!(!check(None, "ns"));
    }

    #[test]
    fn what_cannot_be_read_is_never_wanted() {
        assert!(!Predicate::default().matches(&pod(b"")));
    }

    #[test]
    fn a_required_value_is_the_only_one() {
        let field = Field::Header(0);
        assert_eq!(wants(&[(field, true, "n"), (field, true, "n")], "").required(0), Some("n"));
        assert_eq!(wants(&[(field, true, "n"), (field, true, "m")], "").required(0), None);
        assert_eq!(wants(&[(field, false, "n")], "").required(0), None);
    }
}
