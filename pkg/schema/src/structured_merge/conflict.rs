//! Conflicts: fields that an applier would change while others own them.

use std::fmt::{self, Display};

use apimachinery::go_quote::quote;

use super::path::{PathElement, PathText};
use super::set::Set;

/// One field that another manager owns. Displays upstream's sentence about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Who owns the field.
    pub manager: String,
    /// The field.
    pub path: Vec<PathElement>,
}

impl Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "conflict with {}: {}", quote(&self.manager), PathText(&self.path))
    }
}

/// All conflicts of one request, by manager in bytewise order, then by path; never none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflicts(pub Vec<Conflict>);

impl Conflicts {
    /// Adds the paths of `set`, all owned by `manager`.
    pub(super) fn add(&mut self, manager: &str, set: &Set) {
        set.for_each(|path| self.0.push(Conflict { manager: manager.to_owned(), path: path.to_vec() }));
    }

    /// The fields in conflict, whoever owns them.
    pub fn to_set(&self) -> Set {
        Set::of(self.0.iter().map(|conflict| conflict.path.as_slice()))
    }
}

/// One conflict is a sentence; more are listed under their managers.
impl Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [conflict] = self.0.as_slice() {
            return conflict.fmt(f);
        }
        let mut separator = "";
        for conflicts in self.0.chunk_by(|a, b| a.manager == b.manager) {
            let Some(first) = conflicts.first() else { continue };
            write!(f, "{separator}conflicts with {}:", quote(&first.manager))?;
            for conflict in conflicts {
                write!(f, "\n- {}", PathText(&conflict.path))?;
            }
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
        let mut conflicts = Conflicts(Vec::new());
        conflicts.add("Bob", &set(r#"{"f:list":{"k:{\"key\":\"a\",\"id\":2}":{"f:id":{}}}}"#));
        assert_eq!(conflicts.to_string(), r#"conflict with "Bob": .list[id=2,key="a"].id"#);
    }

    #[test]
    fn many_conflicts_are_listed_by_manager() {
        let mut conflicts = Conflicts(Vec::new());
        conflicts.add("Alice", &set(r#"{"f:a":{},"f:set":{"v:2":{}}}"#));
        conflicts.add("B\"ob", &set(r#"{"f:b":{},"f:a":{".":{},"f:x":{}}}"#));
        let expected =
            "conflicts with \"Alice\":\n- .a\n- .set[=2]\nconflicts with \"B\\\"ob\":\n- .a\n- .b\n- .a.x";
        assert_eq!(conflicts.to_string(), expected);
        assert_eq!(conflicts.to_set(), set(r#"{"f:a":{".":{},"f:x":{}},"f:b":{},"f:set":{"v:2":{}}}"#));
    }
}
