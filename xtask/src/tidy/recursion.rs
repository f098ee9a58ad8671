//! Recursive functions over trees, and the bound on which each relies.
//!
//! The search is textual, covers one file at a time and expects rustfmt's layout. Functions of the same name in a file count
//! as one, except that methods and free functions differ. Of functions that call each other, at least one must name a tree
//! type.

use std::collections::{BTreeMap, BTreeSet};

use super::cycles::{components, without_tests};
use super::functions::{blank, functions, is_word};

/// Types of trees.
const TREES: [&str; 6] = ["Value", "Object", "Node", "Branch", "Json", "Set"];

/// Methods of collections. On another receiver than `self` they are not calls of a tree's own methods.
const COLLECTION_METHODS: [&str; 20] = [
    "as_f64",
    "as_i64",
    "as_u64",
    "get_key_value",
    "into_iter",
    "iter_mut",
    "remove_entry",
    "clone",
    "cmp",
    "extend",
    "get",
    "get_mut",
    "insert",
    "is_empty",
    "iter",
    "len",
    "next",
    "push",
    "remove",
    "retain",
];

/// Functions that call their argument.
const ADAPTERS: [&str; 11] = [
    "all",
    "and_then",
    "any",
    "filter",
    "filter_map",
    "find_map",
    "flat_map",
    "for_each",
    "map",
    "retain_mut",
    "try_for_each",
];

/// Returns the groups of functions that call each other, as `path function …` with sorted names.
pub(crate) fn recursive(sources: &[(String, String)]) -> BTreeSet<String> {
    let lines = |(path, text): &(String, String)| -> Vec<String> {
        groups(text).into_iter().map(|names| format!("{path} {}", names.join(" "))).collect()
    };
    sources.iter().flat_map(lines).collect()
}

/// Returns groups without a bound in the table, and entries of the table without a group. An entry is `group: bound`.
pub(crate) fn findings(actual: &BTreeSet<String>, table: &str) -> Vec<String> {
    let lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let listed: BTreeMap<&str, &str> =
        lines.map(|line| line.split_once(": ").unwrap_or((line, ""))).collect();
    let bounded = |group: &String| listed.get(group.as_str()).is_some_and(|bound| !bound.trim().is_empty());
    let new = actual
        .iter()
        .filter(|group| !bounded(group))
        .map(|group| format!("not listed with a reason: {group}"));
    let stale = listed.keys().filter(|group| !actual.contains(**group));
    new.chain(stale.map(|group| format!("listed, but not there: {group}"))).collect()
}

/// All functions of a name.
#[derive(Default)]
struct Bodies {
    text: String,
    /// Types of the `impl` blocks; empty for free functions.
    owners: BTreeSet<String>,
}

fn groups(text: &str) -> Vec<Vec<String>> {
    let text = without_tests(text);
    let code = blank(text);
    let mut all: BTreeMap<(String, bool), Bodies> = BTreeMap::new();
    for function in functions(text) {
        let owner = owner(&code[..function.range.start]);
        let bodies = all.entry((function.name, owner.is_some())).or_default();
        bodies.text.push_str(&code[function.range]);
        bodies.owners.extend(owner);
    }
    let calls = |from: &Bodies| -> BTreeSet<(String, bool)> {
        let called = all.iter().filter(|((name, _), to)| is_called(name, to, from));
        called.map(|(key, _)| key.clone()).collect()
    };
    let edges: BTreeMap<_, _> = all.iter().map(|(key, bodies)| (key.clone(), calls(bodies))).collect();
    let mut groups = components(&edges);
    let direct = edges.iter().filter(|(key, calls)| calls.contains(*key));
    let single: Vec<_> = direct
        .map(|(key, _)| BTreeSet::from([key.clone()]))
        .filter(|candidate| !groups.iter().any(|group| group.is_superset(candidate)))
        .collect();
    groups.extend(single);
    let walks_tree = |group: &BTreeSet<(String, bool)>| {
        group
            .iter()
            .any(|key| words(&all[key].text).chain(all[key].owners.iter().map(String::as_str)).any(is_tree))
    };
    groups
        .into_iter()
        .filter(walks_tree)
        .map(|group| group.into_iter().map(|(name, _)| name).collect())
        .collect()
}

/// Returns the type of the `impl` or `trait` block around a position, or `None` outside of one.
fn owner(before: &str) -> Option<String> {
    let item = before.lines().rev().find(|line| line.starts_with(|c: char| c.is_ascii_alphabetic()))?;
    let block = ["impl", "unsafe impl", "trait", "pub trait", "pub(crate) trait"];
    let rest = block
        .iter()
        .find_map(|start| item.strip_prefix(start).filter(|rest| rest.starts_with([' ', '<'])))?;
    let name = rest.rsplit_once(" for ").map_or(rest, |(_, name)| name);
    words(name).find(|word| word.starts_with(|c: char| c.is_ascii_uppercase())).map(str::to_owned)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

fn is_tree(word: &str) -> bool {
    TREES.contains(&word)
}

/// True if a body calls a function, or passes it to an adapter. A method can be called on `self`, on a tree of its type, and
/// on a variable that has the name of the type.
fn is_called(name: &str, to: &Bodies, from: &Bodies) -> bool {
    let body = from.text.as_str();
    let shadowed = body.contains(&format!("let {name} =")) || body.contains(&format!("let mut {name} ="));
    body.match_indices(name).filter(|(at, _)| *at > 0).any(|(at, _)| {
        let before = &body[..at];
        let after = body.as_bytes().get(at + name.len()).copied().unwrap_or_default();
        if is_word(before.as_bytes()[at - 1]) || is_word(after) || before.ends_with("fn ") {
            return false;
        }
        let calls = after == b'(' || before.ends_with("Self::") && after == b')';
        match before.strip_suffix('.') {
            Some(receiver) => {
                let receiver = words(receiver).last().unwrap_or_default();
                let on_tree =
                    to.owners.iter().any(|owner| is_tree(owner)) && !COLLECTION_METHODS.contains(&name);
                let of_type = to.owners.iter().any(|owner| owner.to_lowercase() == receiver);
                calls && (receiver == "self" || of_type || on_tree)
            }
            None if before.ends_with("Self::") => calls && !to.owners.is_empty(),
            None if before.ends_with("::") => {
                calls && to.owners.iter().any(|owner| before.ends_with(&format!("{owner}::")))
            }
            None => {
                let passed =
                    after == b')' && ADAPTERS.iter().any(|adapter| before.ends_with(&format!("{adapter}(")));
                to.owners.is_empty() && !shadowed && (calls || passed)
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let actual: Vec<String> = groups(text).into_iter().map(|names| names.join(" ")).collect();
        assert_eq!(actual, expected, "{text}");
    }

    #[test]
    fn recursion_over_trees_is_found() {
        check("fn a(value: &Value) { for v in value { a(v) } }", &["a"]);
        check("fn a(value: &Value) { value.iter().for_each(a) }", &["a"]);
        check("fn a(v: &Value) { b(v) }\nfn b(v: &Value) { a(v) }\nfn c(v: &Value) { a(v) }", &["a b"]);
        check("impl X {\n    fn a(&self, v: &Value) { self.a(v) }\n}", &["a"]);
        check("impl X {\n    fn a(v: &Value) { v.iter().map(|v| Self::a(v)) }\n}", &["a"]);
        check("impl<'t> Node<'t> {\n    fn a(&self) { self.child().a() }\n}", &["a"]);
        check("impl Decoder {\n    fn a(&mut self) -> Value { self.each(|decoder| decoder.a()) }\n}", &["a"]);
    }

    #[test]
    fn other_calls_do_not_count() {
        check("fn a(text: &str) { a(text) }", &[]);
        check("fn a(v: &Value) { b::a(v) }", &[]);
        check("fn a(v: &Value) { let a = f; a(v) }", &[]);
        check("impl Object {\n    fn insert(&mut self, v: Value) { self.members.insert(v); }\n}", &[]);
        check("impl X {\n    fn a(&self, v: &Value) { self.y.a(v); a(v) }\n}", &[]);
        check("fn a(v: &Value) { // a(v)\n}\nfn ab(v: &Value) { a(v) }", &[]);
        check("#[cfg(test)]\nmod tests {\n    fn a(v: &Value) { a(v) }\n}", &[]);
    }

    #[test]
    fn table_is_exact() {
        let actual = BTreeSet::from(["f a b".to_owned()]);
        assert_eq!(findings(&actual, "# Why.\nf a b: its depth\n"), Vec::<String>::new());
        assert_eq!(findings(&actual, "f a b: \n"), ["not listed with a reason: f a b"]);
        assert_eq!(findings(&actual, ""), ["not listed with a reason: f a b"]);
        assert_eq!(findings(&BTreeSet::new(), "f a: its depth"), ["listed, but not there: f a"]);
    }
}
