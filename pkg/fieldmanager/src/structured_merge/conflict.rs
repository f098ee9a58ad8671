//! Conflicts: fields that an applier would change while other managers own them.

use std::fmt::{self, Display};

use apimachinery::go_quote::quote;

use super::path::PathText;
use super::set::Set;

/// The fields that one other manager owns. A set rather than a list of paths, because paths repeat their
/// common prefixes and item keys can be long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The owner of the fields, by its key in [`Managers`](super::updater::Managers).
    pub manager: String,
    /// The fields; never empty.
    pub fields: Set,
}

/// All conflicts of one request, by manager in bytewise order; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflicts(pub Vec<Conflict>);

/// A single field is formatted as a sentence; several are listed under their managers.
impl Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [Conflict { manager, fields }] = self.0.as_slice()
            && fields.len() == 1
        {
            return write!(f, "conflict with {}: {fields}", quote(manager));
        }
        let mut separator = "";
        for Conflict { manager, fields } in &self.0 {
            write!(f, "{separator}conflicts with {}:", quote(manager))?;
            let mut result = Ok(());
            fields.for_each(|path| result = result.and_then(|()| write!(f, "\n- {}", PathText(path))));
            result?;
            separator = "\n";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> Set {
        Set::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn one_conflict_is_a_sentence() {
        let fields = set(r#"{"f:list":{"k:{\"key\":\"a\",\"id\":2}":{"f:id":{}}}}"#);
        let conflicts = Conflicts(vec![Conflict { manager: "Bob".to_owned(), fields }]);
        assert_eq!(conflicts.to_string(), r#"conflict with "Bob": .list[id=2,key="a"].id"#);
    }

    #[test]
    fn many_conflicts_are_listed_by_manager() {
        let of =
            |(manager, fields): (&str, &str)| Conflict { manager: manager.to_owned(), fields: set(fields) };
        let managers = [
            ("Alice", r#"{"f:a":{},"f:set":{"v:2":{}}}"#),
            ("B\"ob", r#"{"f:b":{},"f:a":{".":{},"f:x":{}}}"#),
        ];
        let conflicts = Conflicts(managers.map(of).to_vec());
        let expected =
            "conflicts with \"Alice\":\n- .a\n- .set[=2]\nconflicts with \"B\\\"ob\":\n- .a\n- .b\n- .a.x";
        assert_eq!(conflicts.to_string(), expected);
    }
}
