//! Import cycles of files within a crate.
//!
//! File A imports file B if A has a path that starts with `crate::` or `super::` and leads into the module of B. The
//! longest module path that has a file of its own counts. A parent that declares its child, or uses the child by a relative
//! path, does not import it; a child that uses `super::` imports its parent. Comments and tests do not count.

use std::collections::{BTreeMap, BTreeSet};

type Module = Vec<String>;

/// Returns the cycles as lines of `xtask/src/tidy/cycles.txt`: the sorted paths of the files, separated by spaces.
pub(crate) fn cycles(sources: &[(String, String)]) -> BTreeSet<String> {
    let mut crates: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for (path, text) in sources {
        if let Some((root, _)) = path.split_once("/src/") {
            crates.entry(root).or_default().push((path, text));
        }
    }
    crates.into_iter().flat_map(|(root, files)| cycles_of_crate(root, &files)).collect()
}

/// Returns cycles that are not listed, and listed cycles that do not exist.
pub(crate) fn findings(actual: &BTreeSet<String>, list: &str) -> Vec<String> {
    let lines = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let listed: BTreeSet<String> = lines.map(str::to_owned).collect();
    let new = actual.difference(&listed).map(|cycle| format!("not listed: {cycle}"));
    let stale = listed.difference(actual).map(|cycle| format!("listed, but not there: {cycle}"));
    new.chain(stale).collect()
}

fn cycles_of_crate(root: &str, files: &[(&str, &str)]) -> Vec<String> {
    let modules: BTreeMap<Module, &str> = files.iter().map(|(path, _)| (module(root, path), *path)).collect();
    let code: Vec<(Module, String)> =
        files.iter().map(|(path, text)| (module(root, path), without_comments(text))).collect();
    let tests: BTreeSet<Module> = code.iter().flat_map(|(module, code)| test_modules(module, code)).collect();
    let is_test = |module: &Module| tests.iter().any(|test| module.starts_with(test));
    let mut edges: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for (module, code) in code.iter().filter(|(module, _)| !is_test(module)) {
        let targets =
            paths(without_tests(code)).into_iter().filter_map(|path| target(module, &path, &modules));
        let targets = targets.filter(|target| target != module && !is_test(target)).collect();
        edges.insert(module.clone(), targets);
    }
    components(&edges)
        .into_iter()
        .map(|cycle| {
            cycle.iter().filter_map(|module| modules.get(module).copied()).collect::<Vec<_>>().join(" ")
        })
        .collect()
}

/// Returns the module of a file.
fn module(root: &str, path: &str) -> Module {
    let inner = path.strip_prefix(root).and_then(|rest| rest.strip_prefix("/src/")).unwrap_or(path);
    let names: Module = inner.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if names.len() == 1 && matches!(names[0].as_str(), "lib" | "main") { Vec::new() } else { names }
}

/// Removes comments. Text after `//` within a string is removed too, except in URLs.
fn without_comments(text: &str) -> String {
    let mut code = String::new();
    for line in text.lines() {
        let mut end = line.len();
        for (at, _) in line.match_indices("//") {
            if !line[..at].ends_with(':') {
                end = at;
                break;
            }
        }
        code.push_str(&line[..end]);
        code.push('\n');
    }
    code
}

/// Returns, for each `#[cfg(test)]`, its position and the code after it and further attributes.
fn test_items(code: &str) -> impl Iterator<Item = (usize, &str)> {
    const TEST: &str = "#[cfg(test)]";
    code.match_indices(TEST).map(|(at, _)| {
        let mut rest = code[at + TEST.len()..].trim_start();
        while rest.starts_with("#[") {
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
        }
        (at, rest.strip_prefix("pub(crate) ").unwrap_or(rest))
    })
}

/// Returns the child modules that are compiled for tests only and have files of their own.
fn test_modules(module: &Module, code: &str) -> Vec<Module> {
    let names = test_items(code).filter_map(|(_, item)| {
        let (name, _) = item.strip_prefix("mod ")?.split_once([';', ' '])?;
        Some(name.to_owned())
    });
    names.map(|name| module.iter().cloned().chain([name]).collect()).collect()
}

/// Returns the code before its inline module of tests, which comes last.
pub(crate) fn without_tests(code: &str) -> &str {
    let inline = test_items(code).find(|(_, item)| {
        item.strip_prefix("mod ").is_some_and(|rest| rest.trim_start_matches(is_word).starts_with(" {"))
    });
    inline.map_or(code, |(at, _)| &code[..at])
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns all paths that start with `crate` or `super`; a use tree counts as its separate paths.
fn paths(code: &str) -> Vec<Module> {
    let mut modules = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            // Within a longer path it has been read already.
            if !code[..at].ends_with(|c| is_word(c) || c == ':') {
                tree(&code[at..], &mut Vec::new(), &mut modules);
            }
        }
    }
    modules
}

/// Reads a path or a use tree, and returns the code after it.
fn tree<'c>(mut code: &'c str, prefix: &mut Module, modules: &mut Vec<Module>) -> &'c str {
    let depth = prefix.len();
    loop {
        let word = code.split(|c| !is_word(c)).next().unwrap_or_default();
        prefix.push(word.to_owned());
        code = &code[word.len()..];
        let Some(rest) = code.strip_prefix("::") else { break };
        code = rest;
        if let Some(rest) = code.strip_prefix('{') {
            code = rest;
            loop {
                code = tree(code.trim_start(), prefix, modules).trim_start();
                match code.strip_prefix(',') {
                    Some(rest) => code = rest,
                    None => break,
                }
                if code.trim_start().starts_with('}') {
                    break;
                }
            }
            prefix.truncate(depth);
            return code.trim_start().strip_prefix('}').unwrap_or(code);
        }
    }
    modules.push(prefix.clone());
    prefix.truncate(depth);
    // An alias or a star.
    let alias = code.trim_start().strip_prefix("as ").map(|rest| rest.trim_start_matches(is_word));
    alias.or_else(|| code.strip_prefix('*')).unwrap_or(code)
}

/// Returns the innermost module with a file of its own on a path in `from`.
fn target(from: &Module, path: &Module, modules: &BTreeMap<Module, &str>) -> Option<Module> {
    let mut base = if path.first()? == "crate" { Vec::new() } else { from.clone() };
    for name in path.iter().skip_while(|name| *name == "crate") {
        match name.as_str() {
            "super" => _ = base.pop(),
            "self" => {}
            name => base.push(name.to_owned()),
        }
    }
    while !modules.contains_key(&base) {
        base.pop()?;
    }
    Some(base)
}

/// Returns the sets of two or more nodes that reach each other.
pub(crate) fn components<T: Ord + Clone>(edges: &BTreeMap<T, BTreeSet<T>>) -> BTreeSet<BTreeSet<T>> {
    let reached = |from: &T| {
        let mut seen = BTreeSet::new();
        let mut open = vec![from.clone()];
        while let Some(module) = open.pop() {
            for next in edges.get(&module).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&T, BTreeSet<T>> = edges.keys().map(|from| (from, reached(from))).collect();
    let back = |from: &T, to: &T| reached.get(to).is_some_and(|all| all.contains(from));
    let component = |(from, all): (&&T, &BTreeSet<T>)| -> BTreeSet<T> {
        all.iter().filter(|to| back(from, to)).cloned().collect()
    };
    reached.iter().map(component).filter(|component| component.len() > 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let files: Vec<(String, String)> =
            files.iter().map(|(path, text)| (format!("pkg/x/src/{path}"), (*text).to_owned())).collect();
        let actual: Vec<String> = cycles(&files).into_iter().collect();
        assert_eq!(actual, expected.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>());
    }

    #[test]
    fn mutual_imports_are_a_cycle() {
        let cycle = &["pkg/x/src/a.rs pkg/x/src/b.rs"];
        check(&[("a.rs", "use crate::b::B;"), ("b.rs", "use crate::a::A;")], cycle);
        check(&[("a.rs", "use crate::{c, b::{B, C}};"), ("b.rs", "fn f() { crate::a::f() }")], cycle);
        check(&[("a.rs", "use super::b::*;"), ("b.rs", "use super::a::A;")], cycle);
        check(&[("a.rs", "use crate::b::B;"), ("b.rs", "")], &[]);
        let long = [("a.rs", "use crate::b::B;"), ("b.rs", "use crate::c::C;"), ("c.rs", "use crate::a::A;")];
        check(&long, &["pkg/x/src/a.rs pkg/x/src/b.rs pkg/x/src/c.rs"]);
    }

    #[test]
    fn a_parent_does_not_import_its_child() {
        let parent = "mod b;\nuse b::B;";
        check(&[("a.rs", parent), ("a/b.rs", "use super::A;")], &[]);
        let away =
            [("a.rs", "use crate::c::C;"), ("a/b.rs", "use super::A;"), ("c.rs", "use crate::a::b::B;")];
        check(&away, &["pkg/x/src/a.rs pkg/x/src/a/b.rs pkg/x/src/c.rs"]);
    }

    #[test]
    fn comments_and_tests_do_not_count() {
        let b = ("b.rs", "use crate::a::A;");
        check(&[("a.rs", "// crate::b::B"), b], &[]);
        check(&[("a.rs", "#[cfg(test)]\n#[allow(x)]\nmod tests {\n    use crate::b::B;\n}"), b], &[]);
        check(&[("a.rs", "#[cfg(test)]\nmod tests;"), ("a/tests.rs", "use crate::b::B;"), b], &[]);
    }

    #[test]
    fn the_list_is_exact() {
        let actual = BTreeSet::from(["a b".to_owned()]);
        assert_eq!(findings(&actual, "# Why.\na b\n"), Vec::<String>::new());
        assert_eq!(findings(&actual, ""), ["not listed: a b"]);
        assert_eq!(findings(&BTreeSet::new(), "a b"), ["listed, but not there: a b"]);
    }
}
