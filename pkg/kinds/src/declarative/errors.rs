//! Errors of declarative rules, and their precedence over those of hand-written rules.

use std::collections::HashSet;

use apimachinery::field::{Error, ErrorList, ErrorType};

use super::rules::Level;
use crate::validation::immutable::IMMUTABLE;

/// Details of hand-written errors whose type and field can be those of a beta rule, although they come from another
/// rule.
const OTHER_RULES: [&str; 1] = ["must be greater than or equal to `minReplicas`"];

/// Members of an exact device request, which are members of the request itself in `resource.k8s.io/v1beta1`.
const EXACT_REQUEST: [&str; 7] = [
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "derivedAttributes",
];

/// Properties by which a beta rule finds the hand-written error that it replaces.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Identity {
    kind: ErrorType,
    field: String,
    /// True for an error about the change of a value, not about the value (upstream's origins `immutable` and
    /// `update`).
    is_change: bool,
}

impl Identity {
    fn of(error: &Error, field: String) -> Self {
        let detail = error.detail();
        let is_change = detail.starts_with(IMMUTABLE) || detail.starts_with("field cannot be ");
        Identity { kind: error.kind(), field, is_change }
    }
}

/// Reported errors of one object.
#[derive(Debug)]
pub(super) struct Findings {
    errors: ErrorList,
    /// Errors of beta rules. Paths are those of hand-written errors.
    beta: HashSet<Identity>,
    beta_enabled: bool,
}

impl Findings {
    /// Creates an empty list without allocating. `beta_enabled` is the state of `DeclarativeValidationBeta`.
    pub(super) fn new(beta_enabled: bool) -> Self {
        Findings { errors: ErrorList::new(), beta: HashSet::new(), beta_enabled }
    }

    /// True if errors of this level are reported.
    pub(super) fn reports(&self, level: Level) -> bool {
        match level {
            Level::Alpha => false,
            Level::Beta => self.beta_enabled,
            Level::Standard => true,
        }
    }

    /// Adds an error if its level is reported.
    pub(super) fn push(&mut self, level: Level, error: impl FnOnce() -> Error) {
        if !self.reports(level) || self.errors.is_full() {
            return;
        }
        let error = error();
        if level == Level::Beta {
            self.beta.insert(Identity::of(&error, newest_path(error.field())));
        }
        self.errors.push(error);
    }

    /// Returns the hand-written errors that no beta rule reports, followed by those of the declarative rules.
    ///
    /// Upstream marks the hand-written errors that a declarative rule covers, and compares the rules, too. Their
    /// [`Identity`] suffices, except for [`OTHER_RULES`].
    pub(super) fn merged(self, mut hand_written: ErrorList) -> ErrorList {
        if !self.beta.is_empty() {
            let reported = |error: &Error| self.beta.contains(&Identity::of(error, error.field().to_owned()));
            hand_written.retain(|error| OTHER_RULES.contains(&error.detail()) || !reported(error));
        }
        hand_written.append(self.errors);
        hand_written
    }
}

/// Returns the path of a field in `resource.k8s.io/v1`, which hand-written errors have in every version (upstream's
/// `ResourceNormalizationRules`). Other paths are unchanged.
fn newest_path(path: &str) -> String {
    let Some((head, devices)) = path.split_once("spec.devices") else { return path.to_owned() };
    let in_list = |list| devices.strip_prefix(list).and_then(|rest: &str| rest.split_once("]."));
    if let Some((index, member)) = in_list(".requests[")
        && member.split(['.', '[']).next().is_some_and(|name| EXACT_REQUEST.contains(&name))
    {
        return format!("{head}spec.devices.requests[{index}].exactly.{member}");
    }
    match in_list("[").and_then(|(index, member)| Some((index, member.strip_prefix("basic.")?))) {
        Some((index, member)) => format!("{head}spec.devices[{index}].{member}"),
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use apimachinery::field::{LIST_BYTES_MAX, Path};

    fn required(name: &str, detail: &str) -> Error {
        Error::required(&Path::root(name), detail)
    }

    fn merged(level: Level, beta_enabled: bool) -> Vec<String> {
        let mut findings = Findings::new(beta_enabled);
        findings.push(level, || required("a", ""));
        let mut hand_written = ErrorList::new();
        hand_written.extend([required("a", "detail"), required("b", "")]);
        findings.merged(hand_written).iter().map(Error::to_string).collect()
    }

    #[test]
    fn change_does_not_replace_invalid_value() {
        let invalid = |detail: &str| Error::invalid(&Path::root("a"), "x", detail);
        let mut findings = Findings::new(true);
        findings.push(Level::Beta, || invalid(IMMUTABLE));
        let mut hand_written = ErrorList::new();
        hand_written.extend([invalid("no name"), invalid(IMMUTABLE)]);
        let merged: Vec<String> = findings.merged(hand_written).iter().map(Error::to_string).collect();
        let expected = [invalid("no name"), invalid(IMMUTABLE)].map(|error| error.to_string());
        assert_eq!(merged, expected);
    }

    #[test]
    fn replaced_errors_of_a_full_list_leave_the_declarative_ones() {
        let long = || Error::invalid(&Path::root("a"), "x".repeat(LIST_BYTES_MAX), IMMUTABLE);
        let mut findings = Findings::new(true);
        findings.push(Level::Beta, long);
        let merged = findings.merged(ErrorList::from([long(), long()]));
        assert_eq!((merged.iter().count(), merged.omitted()), (1, 1));
    }

    #[test]
    fn beta_replaces_hand_written() {
        assert_eq!(merged(Level::Beta, true), ["b: Required value", "a: Required value"]);
    }

    #[test]
    fn disabled_beta_keeps_hand_written() {
        assert_eq!(merged(Level::Beta, false), ["a: Required value: detail", "b: Required value"]);
    }

    #[test]
    fn standard_follows_hand_written() {
        let expected = ["a: Required value: detail", "b: Required value", "a: Required value"];
        assert_eq!(merged(Level::Standard, false), expected);
    }

    #[test]
    fn paths_of_old_versions_match() {
        let check = |path: &str, expected: &str| assert_eq!(newest_path(path), expected);
        check("spec.devices.requests[0].selectors", "spec.devices.requests[0].exactly.selectors");
        check("spec.devices.requests[0].firstAvailable", "spec.devices.requests[0].firstAvailable");
        check(
            "spec.spec.devices.requests[1].tolerations[2].key",
            "spec.spec.devices.requests[1].exactly.tolerations[2].key",
        );
        check("spec.devices[0].basic.attributes[a]", "spec.devices[0].attributes[a]");
        check("spec.devices.requests[0].exactly.selectors", "spec.devices.requests[0].exactly.selectors");
        check("spec.template.spec", "spec.template.spec");
    }

    #[test]
    fn alpha_is_not_reported() {
        assert_eq!(merged(Level::Alpha, true), ["a: Required value: detail", "b: Required value"]);
    }
}
