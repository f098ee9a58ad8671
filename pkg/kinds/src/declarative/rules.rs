//! Types of the rule table. Names and meaning are those of upstream's `+k8s:` tags.

use super::formats::Format;

/// Rules of a type.
#[derive(Debug)]
pub(super) struct TypeRules {
    /// OpenAPI definition name.
    pub(super) name: &'static str,
    /// Checks of the struct as a whole. They precede those of the fields.
    pub(super) checks: &'static [Rule],
    /// Fields with rules, or with a type that has rules, in the order of their declaration.
    pub(super) fields: &'static [FieldRules],
}

/// Rules of a field.
#[derive(Clone, Copy, Debug)]
pub(super) struct FieldRules {
    pub(super) name: &'static str,
    /// Rules in the order of their checks. Those that can end the validation of the field come first.
    pub(super) rules: &'static [Rule],
    pub(super) correlation: Correlation,
    /// Rules of the struct in the field, or of the items of a list or map.
    pub(super) child: Option<&'static TypeRules>,
}

/// Relation between the items of a new list and those of the old one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Correlation {
    /// Every item is new if the list has changed.
    Uncorrelated,
    ByValue,
    /// Items with equal keys correspond.
    ByKeys(&'static [&'static str]),
}

/// A check with its level and condition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) level: Level,
    pub(super) condition: Condition,
    pub(super) check: Check,
}

/// Stability level of a rule, which determines whether its errors are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// Never reported, because the hand-written rules are authoritative. The rule can still end the validation
    /// of its field.
    Alpha,
    /// Reported, in place of equal hand-written errors, while `DeclarativeValidationBeta` is enabled.
    Beta,
    /// Always reported.
    Standard,
}

/// Condition of a rule: a validation option, most often a feature gate.
#[derive(Clone, Copy, Debug)]
pub(super) enum Condition {
    Always,
    Enabled(&'static str),
    Disabled(&'static str),
}

/// A check of a struct or of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Check {
    Required,
    /// Ends the validation of an unset field.
    Optional,
    Forbidden,
    Immutable,
    MaxItems(usize),
    Update(&'static [UpdateConstraint]),
    /// Maximum length in characters.
    MaxLength(usize),
    MaxBytes(usize),
    Minimum(i64),
    Maximum(i64),
    Monotonic,
    Format(Format),
    Enum(&'static [&'static str]),
    Custom(CustomCheck),
    /// The items of a list are unique, by the correlation of the field.
    Unique,
    EachItem(&'static Check),
    EachKey(&'static Check),
    /// At most one of these items exists: key, its value, and the name of the item in errors.
    AtMostOneItem(&'static [(&'static str, &'static str, &'static str)]),
    /// Rules of a member of the field's struct.
    Subfield(&'static str, &'static [Rule]),
    /// Of the struct: exactly one of the members is set.
    Union(&'static [&'static str]),
    /// Of the struct: member, discriminator, and the check of the member by the value of the discriminator. With
    /// other values the member is forbidden.
    Mode(&'static str, &'static str, &'static [ModeRule]),
    /// Of the struct: if the first member is set, the second one must be.
    DependentRequired(&'static str, &'static str),
    /// Of the struct: if the first member is set, the second one must not be.
    DependentForbidden(&'static str, &'static str),
}

/// Check of a member for one value of the discriminator.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModeRule {
    pub(super) value: &'static str,
    pub(super) check: Check,
}

/// Restriction of the changes of a field, in the order of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::enum_variant_names, reason = "upstream's names")]
pub(super) enum UpdateConstraint {
    NoSet,
    NoUnset,
    NoModify,
    NoAddItem,
    NoRemoveItem,
}

/// Check that upstream writes by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CustomCheck {
    /// No domain of Kubernetes itself.
    ReservedDomain,
    /// No priority of responders of Kubernetes itself.
    ReservedPriority,
}

impl Check {
    /// True if the check can end the validation of the field.
    pub(super) const fn short_circuits(self) -> bool {
        matches!(
            self,
            Check::Required
                | Check::Optional
                | Check::Forbidden
                | Check::Immutable
                | Check::MaxItems(_)
                | Check::Update(_)
        )
    }
}

impl Rule {
    /// Adds the condition that an option is enabled.
    pub(super) const fn when(self, option: &'static str) -> Self {
        Rule { condition: Condition::Enabled(option), ..self }
    }

    /// Adds the condition that an option is disabled.
    pub(super) const fn unless(self, option: &'static str) -> Self {
        Rule { condition: Condition::Disabled(option), ..self }
    }
}

impl FieldRules {
    /// Sets the relation between new and old items.
    pub(super) const fn correlated(self, correlation: Correlation) -> Self {
        FieldRules { correlation, ..self }
    }

    /// Sets the rules of the struct in the field.
    pub(super) const fn with(self, child: &'static TypeRules) -> Self {
        FieldRules { child: Some(child), ..self }
    }
}

pub(super) const fn alpha(check: Check) -> Rule {
    Rule { level: Level::Alpha, condition: Condition::Always, check }
}

pub(super) const fn beta(check: Check) -> Rule {
    Rule { level: Level::Beta, condition: Condition::Always, check }
}

pub(super) const fn standard(check: Check) -> Rule {
    Rule { level: Level::Standard, condition: Condition::Always, check }
}

pub(super) const fn mode(value: &'static str, check: Check) -> ModeRule {
    ModeRule { value, check }
}

pub(super) const fn field(name: &'static str, rules: &'static [Rule]) -> FieldRules {
    FieldRules { name, rules, correlation: Correlation::Uncorrelated, child: None }
}

pub(super) const fn type_rules(
    name: &'static str,
    checks: &'static [Rule],
    fields: &'static [FieldRules],
) -> TypeRules {
    TypeRules { name, checks, fields }
}
