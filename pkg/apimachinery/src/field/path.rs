//! Path from the root of an object to a field, as a chain of borrowed steps on the stack. Walking a valid
//! object allocates nothing.

use std::fmt::{self, Display};

/// A path to a field, printed as `spec.containers[0].env[KEY]`.
///
/// Each step borrows its parent, so intermediate paths are bound by `let`, or
/// used within one expression:
///
/// ```
/// use apimachinery::field::Path;
/// let spec = Path::root("spec");
/// let containers = spec.child("containers");
/// assert_eq!(containers.index(2).child("name").to_string(), "spec.containers[2].name");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Nil,
    Name(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> Path<'a> {
    /// Absent path. Like upstream's nil `*field.Path`, it prints as `<nil>`, and its children print like
    /// roots.
    pub const NIL: Path<'static> = Path { parent: None, step: Step::Nil };

    /// A path of one name, or of several joined by dots.
    pub const fn root(name: &'a str) -> Self {
        Path { parent: None, step: Step::Name(name) }
    }

    /// The member `name` of this one; a dotted name descends several levels.
    pub const fn child<'b>(&'b self, name: &'b str) -> Path<'b> {
        Path { parent: Some(self), step: Step::Name(name) }
    }

    /// The list item at `index`.
    pub const fn index(&self, index: usize) -> Path<'_> {
        Path { parent: Some(self), step: Step::Index(index) }
    }

    /// The map entry under `key`.
    pub const fn key<'b>(&'b self, key: &'b str) -> Path<'b> {
        Path { parent: Some(self), step: Step::Key(key) }
    }

    /// True if the path prints nothing before this step.
    fn is_first(&self) -> bool {
        self.parent.is_none_or(|parent| matches!(parent.step, Step::Nil))
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.write(f)?;
        }
        match self.step {
            Step::Nil => Ok(()),
            Step::Name("") => f.write_str("[]"),
            Step::Name(name) if self.is_first() => f.write_str(name),
            Step::Name(name) => write!(f, ".{name}"),
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Key(key) => write!(f, "[{key}]"),
        }
    }
}

impl Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.step {
            Step::Nil => f.write_str("<nil>"),
            _ => self.write(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_print_as_upstream() {
        let spec = Path::root("spec");
        let containers = spec.child("containers");
        let first = containers.index(0);
        assert_eq!(spec.to_string(), "spec");
        assert_eq!(first.to_string(), "spec.containers[0]");
        assert_eq!(first.child("env").key("a.b/c").to_string(), "spec.containers[0].env[a.b/c]");
        assert_eq!(spec.child("template.spec").child("x").to_string(), "spec.template.spec.x");
        assert_eq!(spec.key("").child("x").to_string(), "spec[].x");
    }

    #[test]
    fn absent_path_prints_as_nil() {
        assert_eq!(Path::NIL.to_string(), "<nil>");
        assert_eq!(Path::NIL.child("key").to_string(), "key");
        assert_eq!(Path::NIL.child("values").index(0).key("k").to_string(), "values[0][k]");
        assert_eq!(Path::NIL.key("k").child("x").to_string(), "[k].x");
    }

    #[test]
    fn an_empty_name_prints_as_an_empty_subscript() {
        assert_eq!(Path::root("").to_string(), "[]");
    }
}
