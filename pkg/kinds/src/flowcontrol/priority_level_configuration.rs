//! Priority levels: concurrency limits for groups of requests, and queuing or rejection beyond them.

mod columns;
mod defaults;

use super::{CATCH_ALL, EXEMPT, conditions, name};
use crate::kind::{Columns, Kind, RareProperties, Validation, Version, WarningRules};
use crate::strategy::hooks::Common;
use crate::validation::NameRule;
use crate::validation::go_value::go_value;
use crate::validation::rules::{Rules, metadata};
use api::semantic::equal;
use api::tree::{child, integer, is_set, maybe_integer, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use jsontree::{Value, json};
use schema::builtin::IO_K8S_API_FLOWCONTROL_V1_PRIORITYLEVELCONFIGURATIONSPEC as SPEC;
use schema::object::Object;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[
        Version::with_defaults("flowcontrol.apiserver.k8s.io/v1", defaults::priority_level),
        Version::with_defaults("flowcontrol.apiserver.k8s.io/v1beta3", defaults::priority_level_v1beta3),
        Version::with_defaults("flowcontrol.apiserver.k8s.io/v1beta2", defaults::priority_level_v1beta2),
        Version::with_defaults("flowcontrol.apiserver.k8s.io/v1beta1", defaults::priority_level_v1beta2),
    ],
    validation: Validation::Objects(RULES),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(columns::COLUMNS),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties { resets: super::RESETS, ..RareProperties::NONE },
};

pub(crate) const RULES: Rules = Rules { create, update };

const QUEUES_MAX: i64 = 10_000_000;
/// Limit of hash bits for shuffle sharding.
const HASH_BITS_MAX: f64 = 60.0;
/// Annotation for v1beta3 objects only.
const ZERO_SHARES_ANNOTATION: &str = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";

fn update(subresource: &str, new: &Object, _: &Object) -> ErrorList {
    let mut errors = ErrorList::new();
    match subresource {
        "status" => conditions(new, &mut errors),
        _ => errors = create(new),
    }
    errors
}

fn create(new: &Object) -> ErrorList {
    let mut errors = metadata(new, false, NameRule::DnsSubdomain);
    let annotations = child(new, "metadata").and_then(|meta| child(meta, "annotations"));
    if annotations.is_some_and(|annotations| annotations.contains_key(ZERO_SHARES_ANNOTATION)) {
        let detail = format!("annotation '{ZERO_SHARES_ANNOTATION}' is forbidden");
        errors.push(Error::forbidden(&Path::root("metadata.annotations"), detail));
    }
    let empty = Object::new();
    let path = Path::root("spec");
    let spec = child(new, "spec").unwrap_or(&empty);
    by_type(&path, spec, name(new), &mut errors);
    fixed(&path, spec, name(new), &mut errors);
    conditions(new, &mut errors);
    errors
}

fn by_type(path: &Path<'_>, spec: &Object, name: &str, errors: &mut ErrorList) {
    let kind = text(spec, "type");
    let type_path = path.child("type");
    if (name == EXEMPT) != (kind == "Exempt") {
        let detail = "must be 'Exempt' if and only if `name` is 'exempt'";
        errors.push(Error::invalid(&type_path, BadValue::json_text(kind), detail));
    }
    let limited_path = path.child("limited");
    let exempt_path = path.child("exempt");
    match (kind, child(spec, "limited"), child(spec, "exempt")) {
        ("Exempt", limited_of, exempt_of) => {
            if limited_of.is_some() {
                errors.push(Error::forbidden(&limited_path, "must be nil if the type is not Limited"));
            }
            if let Some(exempt) = exempt_of {
                shares(&exempt_path, exempt, errors);
                lendable(&exempt_path, exempt, errors);
            }
        }
        ("Limited", limited_of, exempt_of) => {
            if exempt_of.is_some() {
                errors.push(Error::forbidden(&exempt_path, "must be nil if the type is Limited"));
            }
            match limited_of {
                None => errors.push(Error::required(&limited_path, "must not be empty when type is Limited")),
                Some(object) => limited(&limited_path, object, errors),
            }
        }
        ("", ..) => errors.push(Error::required(&type_path, "")),
        _ => errors.push(Error::not_supported(&type_path, BadValue::json_text(kind), &["Exempt", "Limited"])),
    }
}

/// Checks the server's own levels, which are immutable except for the shares of the exempt one.
fn fixed(path: &Path<'_>, spec: &Object, name: &str, errors: &mut ErrorList) {
    let (fixed, except) = match name {
        EXEMPT => (
            json!({"type": "Exempt", "exempt": spec.get("exempt").unwrap_or(&Value::Null)}),
            " except the 'spec.exempt' field",
        ),
        CATCH_ALL => (
            json!({"type": "Limited", "limited": {"nominalConcurrencyShares": 5, "lendablePercent": 0,
                "limitResponse": {"type": "Reject"}}}),
            "",
        ),
        _ => return,
    };
    if !fixed.as_object().is_some_and(|fixed| equal(&SPEC, spec, fixed)) {
        let detail = format!("spec of '{name}'{except} must equal the fixed value");
        errors.push(Error::invalid(path, go_value(&SPEC, spec), detail));
    }
}

fn shares(path: &Path<'_>, level: &Object, errors: &mut ErrorList) {
    let member = "nominalConcurrencyShares";
    if let Some(shares) = maybe_integer(level, member).filter(|shares| *shares < 0) {
        errors.push(Error::invalid(&path.child(member), shares, "must be a non-negative integer"));
    }
}

fn lendable(path: &Path<'_>, level: &Object, errors: &mut ErrorList) {
    let member = "lendablePercent";
    if let Some(percent) = maybe_integer(level, member).filter(|percent| !(0..=100).contains(percent)) {
        errors.push(Error::invalid(&path.child(member), percent, "must be between 0 and 100, inclusive"));
    }
}

fn limited(path: &Path<'_>, level: &Object, errors: &mut ErrorList) {
    shares(path, level, errors);
    let empty = Object::new();
    let response = child(level, "limitResponse").unwrap_or(&empty);
    let response_path = path.child("limitResponse");
    let queuing_path = response_path.child("queuing");
    match (text(response, "type"), child(response, "queuing")) {
        ("Reject", _) if is_set(response, "queuing") => {
            let detail = "must be nil if limited.limitResponse.type is not Limited";
            errors.push(Error::forbidden(&queuing_path, detail));
        }
        ("Reject", _) => {}
        ("Queue", Some(object)) => queuing(&queuing_path, object, errors),
        ("Queue", None) => {
            let detail = "must not be empty if limited.limitResponse.type is Limited";
            errors.push(Error::required(&queuing_path, detail));
        }
        ("", _) => errors.push(Error::required(&response_path.child("type"), "")),
        (kind, _) => {
            let path = response_path.child("type");
            errors.push(Error::not_supported(&path, BadValue::json_text(kind), &["Queue", "Reject"]));
        }
    }
    lendable(path, level, errors);
    let member = "borrowingLimitPercent";
    if let Some(percent) = maybe_integer(level, member).filter(|percent| *percent < 0) {
        let detail = "if specified, must be a non-negative integer";
        errors.push(Error::invalid(&path.child(member), percent, detail));
    }
}

fn queuing(path: &Path<'_>, queuing: &Object, errors: &mut ErrorList) {
    let length = integer(queuing, "queueLengthLimit");
    let queues = integer(queuing, "queues");
    let hand = integer(queuing, "handSize");
    if length <= 0 {
        errors.push(Error::invalid(&path.child("queueLengthLimit"), length, "must be positive"));
    }
    if queues <= 0 {
        errors.push(Error::invalid(&path.child("queues"), queues, "must be positive"));
    } else if queues > QUEUES_MAX {
        let detail = format!("must not be greater than {QUEUES_MAX}");
        errors.push(Error::invalid(&path.child("queues"), queues, detail));
    }
    let detail = if hand <= 0 {
        "must be positive".to_owned()
    } else if hand > queues {
        format!("should not be greater than queues ({queues})")
    } else if entropy_bits(queues, hand) > HASH_BITS_MAX {
        format!(
            "required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {HASH_BITS_MAX}"
        )
    } else {
        return;
    };
    errors.push(Error::invalid(&path.child("handSize"), hand, detail));
}

/// Returns the number of hash bits for dealing a hand from a deck (shuffle sharding).
fn entropy_bits(deck: i64, hand: i64) -> f64 {
    // Both are far below 2^52.
    #[allow(clippy::cast_precision_loss)]
    let deck = deck as f64;
    let hand = hand as f64;
    (deck.log2() * hand).ceil()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, spec: Value, expected: &[&str]) {
        let object = json!({"metadata": {"name": name}, "spec": spec});
        let errors = create(object.as_object().unwrap_or(&Object::new()));
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected, "{spec}");
    }

    #[test]
    fn levels_are_exempt_or_limited() {
        let reject = json!({"limitResponse": {"type": "Reject"}});
        check("a", json!({"type": "Limited", "limited": reject}), &[]);
        check("a", json!({"type": "Limited"}), &["spec.limited"]);
        check("a", json!({"type": "x"}), &["spec.type"]);
        check("a", json!({"type": "Exempt", "limited": reject}), &["spec.type", "spec.limited"]);
        let bad = json!({"limitResponse": {"type": "x"}, "nominalConcurrencyShares": -1, "lendablePercent": 101,
            "borrowingLimitPercent": -1});
        let step = |step: &str| format!("spec.limited.{step}");
        check(
            "a",
            json!({"type": "Limited", "limited": bad}),
            &[
                &step("nominalConcurrencyShares"),
                &step("limitResponse.type"),
                &step("lendablePercent"),
                &step("borrowingLimitPercent"),
            ],
        );
    }

    #[test]
    fn a_hand_of_queues_takes_sixty_bits() {
        let with = |queues: i64, hand: i64| {
            json!({"type": "Limited", "limited": {"limitResponse": {"type": "Queue",
            "queuing": {"queues": queues, "handSize": hand, "queueLengthLimit": 1}}}})
        };
        let step = |step: &str| format!("spec.limited.limitResponse.queuing.{step}");
        check("a", with(64, 10), &[]);
        check("a", with(64, 11), &[&step("handSize")]);
        check("a", with(2, 3), &[&step("handSize")]);
        check("a", with(0, 0), &[&step("queues"), &step("handSize")]);
        check("a", with(10_000_001, 1), &[&step("queues")]);
    }

    #[test]
    fn the_servers_own_levels_are_fixed() {
        check(EXEMPT, json!({"type": "Exempt", "exempt": {"nominalConcurrencyShares": 7}}), &[]);
        check(
            EXEMPT,
            json!({"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}),
            &["spec.type", "spec"],
        );
        let limited = |shares: i64| {
            json!({"type": "Limited", "limited": {"nominalConcurrencyShares": shares,
            "lendablePercent": 0, "limitResponse": {"type": "Reject"}}})
        };
        check(CATCH_ALL, limited(5), &[]);
        check(CATCH_ALL, limited(6), &["spec"]);
    }
}
