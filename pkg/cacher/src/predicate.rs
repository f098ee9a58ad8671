//! Selection by labels and fields, evaluated on headers alone (upstream's `SelectionPredicate`).

mod field_terms;

use apimachinery::labels;
use apimachinery::sharding::Shards;

pub use field_terms::{FieldTerm, FieldTerms};

use crate::Element;

/// The field of a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// `metadata.name`.
    Name,
    /// `metadata.namespace` of namespaced resources.
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

/// The shards of a sharded list or watch.
#[derive(Debug, Clone)]
pub struct ShardTerm {
    /// The field that determines an element's shard; without a field its value is empty for all elements.
    pub field: Option<Field>,
    pub shards: Shards,
}

/// Requirements on labels, fields and shard. The default selects everything.
#[derive(Debug, Clone, Default)]
pub struct Predicate {
    pub labels: labels::Selector,
    /// Requirements on fields.
    pub fields: FieldTerms,
    /// Requirement on the shard. Boxed because it is rare and every watch keeps its predicate.
    pub shard: Option<Box<ShardTerm>>,
}

impl Predicate {
    pub fn is_everything(&self) -> bool {
        self.has_no_selectors() && self.shard.is_none()
    }

    /// True if there are no label or field requirements. Pages of such a list contain the remaining count,
    /// even if sharded.
    pub fn has_no_selectors(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// True if the element matches. An unreadable element never matches; callers that must fail on it check
    /// [`Element::value`].
    pub fn matches(&self, element: &Element) -> bool {
        let in_shard =
            |term: &ShardTerm| term.shards.contain(term.field.map_or("", |field| field.of(element)));
        element.value().is_ok()
            && self.shard.as_deref().is_none_or(in_shard)
            && self.fields.matches(element)
            && (self.labels.is_empty() || self.labels.matches_pairs(element.header().pairs()))
    }

    /// The required value of a header field, if there is exactly one.
    pub fn required(&self, at: usize) -> Option<&str> {
        self.fields.required(Field::Header(at))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use apimachinery::sharding::{ShardKey, ShardRange, hash};
    use bytes::Bytes;
    use storage::KeyValue;

    use super::*;
    use crate::{HeaderBuilder, Ingest, IngestError};

    struct Pod;

    impl Ingest for Pod {
        fn ingest(&self, value: Bytes, header: &mut HeaderBuilder) -> Result<Bytes, IngestError> {
            if value.is_empty() {
                return Err(IngestError::decode("nothing"));
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
    fn grouped_terms_match_like_single_ones() {
        let all = [
            (Field::Header(0), "node-1"),
            (Field::Header(0), "node-2"),
            (Field::Name, "a"),
            (Field::Name, "b"),
        ];
        let all: Vec<(Field, bool, &str)> =
            all.iter().flat_map(|(field, value)| [(*field, true, *value), (*field, false, *value)]).collect();
        let pod = pod(b"x");
        for chosen in 0_u32..1 << all.len() {
            let terms: Vec<_> =
                all.iter().zip(0..).filter(|(_, at)| chosen >> at & 1 == 1).map(|(term, _)| *term).collect();
            let expected = terms.iter().all(|term| wants(&[*term], "").matches(&pod));
            assert_eq!(wants(&terms, "").matches(&pod), expected, "{terms:?}");
        }
    }

    #[test]
    fn elements_match_by_shard_of_field() {
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
    fn unreadable_elements_never_match() {
        assert!(!Predicate::default().matches(&pod(b"")));
    }

    #[test]
    fn required_value_must_be_unique() {
        let field = Field::Header(0);
        assert_eq!(wants(&[(field, true, "n"), (field, true, "n")], "").required(0), Some("n"));
        assert_eq!(wants(&[(field, true, "n"), (field, true, "m")], "").required(0), None);
        assert_eq!(wants(&[(field, true, "n"), (field, false, "n")], "").required(0), None);
        assert_eq!(wants(&[(field, false, "n")], "").required(0), None);
    }
}
