//! Sources of dependencies, and consistency of cargo-deny's configuration with these checks.

/// The only allowed source of dependencies.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Returns packages of a lock file from other sources.
pub(crate) fn elsewhere(lock: &str) -> Vec<String> {
    let sources = lock.lines().filter_map(|line| line.strip_prefix("source = "));
    let foreign = sources.map(|source| source.trim_matches('"')).filter(|source| *source != REGISTRY);
    foreign.map(str::to_owned).collect()
}

/// Returns missing and superfluous items of a list in `deny.toml`. The list starts with the line `NAME = [`,
/// and has one item per line.
pub(crate) fn differences(deny: &str, name: &str, expected: &[&str]) -> Vec<String> {
    let begin = format!("{name} = [");
    let items = deny.lines().skip_while(|line| *line != begin).skip(1).take_while(|line| *line != "]");
    let items: Vec<&str> = items.map(|line| line.trim().trim_end_matches(',').trim_matches('"')).collect();
    let missing =
        expected.iter().filter(|item| !items.contains(item)).map(|item| format!("{name} lacks {item}"));
    let extra = items.iter().filter(|item| !expected.contains(item)).map(|item| format!("{name} has {item}"));
    missing.chain(extra).collect()
}

#[test]
fn package_from_other_source_is_found() {
    let lock = format!("source = \"{REGISTRY}\"\nsource = \"git+https://example.com/x\"\n");
    assert_eq!(elsewhere(&lock), ["git+https://example.com/x"]);
}

#[test]
fn lists_that_differ_are_found() {
    let deny = "deny = [\n    \"x\",\n]\nallow = [\n    \"a\",\n    \"b\",\n]\n";
    assert_eq!(differences(deny, "allow", &["a", "c"]), ["allow lacks c", "allow has b"]);
    assert!(differences(deny, "deny", &["x"]).is_empty());
}
