//! Computes the permissions that a set of rules does not cover (component-helpers' `auth/rbac/validation`).

use super::Rule;
use super::rule::{has_or_all, path_matches};

/// Maximum number of comparisons: some tens of milliseconds. A role of 3 MiB can contain billions of
/// permissions. Real roles contain some thousands, and a user has some hundred rules.
const COMPARISONS_MAX: usize = 5_000_000;

/// Error: the rules contain too many permissions for a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany;

/// An indivisible permission.
#[derive(Debug, Clone, Copy)]
enum Atom<'r> {
    Resource { verb: &'r str, group: &'r str, resource: &'r str, name: Option<&'r str> },
    Path { verb: &'r str, path: &'r str },
}

impl Atom<'_> {
    fn rule(self) -> Rule {
        let one = |text: &str| vec![text.to_owned()];
        match self {
            Atom::Resource { verb, group, resource, name } => Rule {
                verbs: one(verb),
                groups: one(group),
                resources: one(resource),
                names: name.into_iter().map(str::to_owned).collect(),
                paths: Vec::new(),
            },
            Atom::Path { verb, path } => Rule { verbs: one(verb), paths: one(path), ..Rule::default() },
        }
    }
}

/// Returns the permissions in `required` that `present` does not cover, as rules with one permission each.
///
/// # Errors
/// [`TooMany`].
pub fn missing(present: &[&Rule], required: &[Rule]) -> Result<Vec<Rule>, TooMany> {
    let size = |rule: &&Rule| {
        1 + rule.verbs.len() + rule.groups.len() + rule.resources.len() + rule.names.len() + rule.paths.len()
    };
    let per_atom = present.iter().map(size).fold(1, usize::saturating_add);
    let mut budget = Budget(COMPARISONS_MAX);
    let doubtful: Vec<&Rule> =
        required.iter().filter(|rule| !budget.is_covered_by_one(present, rule)).collect();
    let count = doubtful.iter().map(|rule| permissions(rule)).fold(0, usize::saturating_add);
    if count.saturating_mul(per_atom) > COMPARISONS_MAX {
        return Err(TooMany);
    }
    let covered = |atom: &Atom<'_>| present.iter().any(|rule| covers(rule, *atom));
    let atoms = doubtful.into_iter().flat_map(atoms);
    Ok(atoms.filter(|atom| !covered(atom)).map(Atom::rule).collect())
}

/// Remaining comparisons of whole rules. Beyond this limit, a rule counts as not covered.
struct Budget(usize);

impl Budget {
    /// True if a single rule covers `required`. This applies to most rules and avoids splitting them.
    fn is_covered_by_one(&mut self, present: &[&Rule], required: &Rule) -> bool {
        present.iter().any(|rule| self.covers(rule, required))
    }

    fn covers(&mut self, rule: &Rule, required: &Rule) -> bool {
        let of_every = |list: &[String], text: &str| has_or_all(list, text) || of_every_resource(list, text);
        let of_path = |list: &[String], path: &str| list.iter().any(|pattern| path_matches(pattern, path));
        self.covers_all(&rule.verbs, &required.verbs, has_or_all)
            && self.covers_all(&rule.groups, &required.groups, has_or_all)
            && self.covers_all(&rule.resources, &required.resources, of_every)
            && self.covers_all(&rule.paths, &required.paths, of_path)
            && (rule.names.is_empty()
                || !required.names.is_empty() && self.covers_all(&rule.names, &required.names, has))
    }

    /// True if `holds` is true for every wanted string.
    fn covers_all(
        &mut self,
        list: &[String],
        required: &[String],
        holds: impl Fn(&[String], &str) -> bool,
    ) -> bool {
        let cost = required.len().saturating_mul(list.len()).saturating_add(1);
        let Some(remaining) = self.0.checked_sub(cost) else { return false };
        self.0 = remaining;
        required.iter().all(|text| holds(list, text))
    }
}

/// Returns the number of permissions in a rule.
fn permissions(rule: &Rule) -> usize {
    let verbs = rule.verbs.len();
    let names = rule.names.len().max(1);
    let resources =
        [rule.groups.len(), rule.resources.len(), names].into_iter().fold(verbs, usize::saturating_mul);
    resources.saturating_add(rule.paths.len().saturating_mul(verbs))
}

fn atoms(rule: &Rule) -> Vec<Atom<'_>> {
    let mut atoms = Vec::new();
    let names: Vec<Option<&str>> = match &rule.names[..] {
        [] => vec![None],
        names => names.iter().map(|name| Some(name.as_str())).collect(),
    };
    for group in &rule.groups {
        for resource in &rule.resources {
            for verb in &rule.verbs {
                atoms.extend(names.iter().map(|&name| Atom::Resource { verb, group, resource, name }));
            }
        }
    }
    for path in &rule.paths {
        atoms.extend(rule.verbs.iter().map(|verb| Atom::Path { verb, path }));
    }
    atoms
}

fn covers(rule: &Rule, atom: Atom<'_>) -> bool {
    match atom {
        Atom::Resource { verb, group, resource, name } => {
            has_or_all(&rule.verbs, verb)
                && has_or_all(&rule.groups, group)
                && (has_or_all(&rule.resources, resource) || of_every_resource(&rule.resources, resource))
                && (rule.names.is_empty() || name.is_some_and(|name| has(&rule.names, name)))
        }
        Atom::Path { verb, path } => {
            has_or_all(&rule.verbs, verb) && rule.paths.iter().any(|pattern| path_matches(pattern, path))
        }
    }
}

fn has(list: &[String], value: &str) -> bool {
    list.iter().any(|text| text == value)
}

/// True if the rule's resources contain this subresource of every resource (`*/subresource`).
fn of_every_resource(resources: &[String], resource: &str) -> bool {
    let Some((_, subresource)) = resource.split_once('/') else { return false };
    resources.iter().any(|pattern| pattern.strip_prefix("*/") == Some(subresource))
}

#[cfg(test)]
mod tests {
    use jsontree::{Value, json};

    use super::*;

    fn rules(list: &Value) -> Vec<Rule> {
        json!({"rules": list}).as_object().map(Rule::all_of).unwrap_or_default()
    }

    #[test]
    fn too_many_permissions_are_rejected_quickly() {
        let many: Vec<String> = (0..100_000).map(|n| n.to_string()).collect();
        let rule = Rule { verbs: many.clone(), groups: many.clone(), resources: many, ..Rule::default() };
        assert_eq!(missing(&[], std::slice::from_ref(&rule)), Err(TooMany));
        assert_eq!(missing(&[&rule], std::slice::from_ref(&rule)), Err(TooMany), "nor whole rules");
    }

    #[test]
    fn rule_covered_by_one_rule_is_not_split() {
        let many: Vec<String> = (0..100_000).map(|n| n.to_string()).collect();
        let all = || vec!["*".to_owned()];
        let held = Rule { verbs: all(), groups: all(), resources: all(), ..Rule::default() };
        let required = Rule { verbs: many.clone(), groups: many.clone(), resources: many, ..Rule::default() };
        assert_eq!(missing(&[&held], &[required]), Ok(Vec::new()));
    }

    #[test]
    fn uncovered_permissions_are_reported_individually() {
        let check = |present: Value, required: Value, expected: Value| {
            let held = rules(&present);
            let uncovered = missing(&held.iter().collect::<Vec<_>>(), &rules(&required));
            assert_eq!(uncovered, Ok(rules(&expected)), "{present} {required}");
        };
        let pods = |verbs: &[&str]| json!({"apiGroups": [""], "resources": ["pods"], "verbs": verbs});
        let named = |name: &str| json!({"apiGroups": [""], "resourceNames": [name], "resources": ["pods"], "verbs": ["get"]});
        let all = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
        check(json!([]), json!([]), json!([]));
        check(json!([]), json!([pods(&["get", "list"])]), json!([pods(&["get"]), pods(&["list"])]));
        check(json!([pods(&["get"])]), json!([pods(&["get", "list"])]), json!([pods(&["list"])]));
        check(json!([pods(&["get"]), pods(&["list"])]), json!([pods(&["get", "list"])]), json!([]));
        check(all.clone(), json!([pods(&["get"]), named("a")]), json!([]));
        check(json!([pods(&["get"])]), all.clone(), all);
        // A named permission is covered by the same name or by a rule without names. An unnamed one is
        // covered only by a rule without names.
        check(
            json!([named("a")]),
            json!([named("a"), named("b"), pods(&["get"])]),
            json!([named("b"), pods(&["get"])]),
        );
        check(json!([pods(&["*"])]), json!([named("a")]), json!([]));

        let status = json!({"apiGroups": [""], "resources": ["pods/status"], "verbs": ["get"]});
        let any_status = json!({"apiGroups": [""], "resources": ["*/status"], "verbs": ["get"]});
        check(json!([any_status]), json!([status, pods(&["get"])]), json!([pods(&["get"])]));

        let path = |path: &str| json!({"nonResourceURLs": [path], "verbs": ["get"]});
        check(
            json!([path("/api/*")]),
            json!([path("/api/v1"), path("/api"), path("/api/*")]),
            json!([path("/api")]),
        );
        check(json!([path("*")]), json!([path("/healthz")]), json!([]));
        check(json!([pods(&["*"])]), json!([path("/healthz")]), json!([path("/healthz")]));
    }
}
