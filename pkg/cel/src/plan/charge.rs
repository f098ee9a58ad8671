//! Runtime costs of calls, as cel-go and Kubernetes define them (`runtimecost.go`, `library/cost.go`, and the
//! trackers of cel-go's lists and sets).

use crate::overloads::Overload;
use crate::value::{List, Map, Trait, Value, code_points, go_type};

/// Cost rule of a call, based on its arguments and its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Charge {
    /// One unit.
    One,
    /// An authorization check: two of them fit into the limit of a call.
    Check,
    /// Parsing a selector into requirements.
    Selector,
    /// Traversal of a value with everything inside.
    Walk,
    /// A tenth of the first argument's size.
    Read,
    /// A tenth of the second argument's size.
    ReadPart,
    /// Two tenths of the first argument's size.
    ReadTwice,
    /// Two tenths of the result's size.
    WriteTwice,
    /// Regular expression search.
    Search,
    /// Test if a network contains an address; true if the address is parsed from a string first.
    ContainsIp(bool),
    /// Test if a network contains another one; true if that is parsed from a string first.
    ContainsCidr(bool),
    /// Validation of a string by a named format.
    Validate,
    /// Equality: a tenth of the smaller size; one unit for values of Kubernetes' own types.
    Equality,
    /// A tenth of the smaller size.
    Smaller,
    /// A tenth of both sizes.
    Both,
    /// One step per element of the second argument.
    InList,
    /// Substring search.
    Contains,
    /// A list as long as the result.
    NewList,
    Flatten,
    /// Comparison of all elements of an argument with each other; the number is the argument's index.
    SelfCompare(u8),
    /// Comparison of two sets, repeated this many times.
    Sets(u8),
}

fn size(value: Value<'_>) -> u64 {
    value.size().unwrap_or(1)
}

/// cel-go's own size looks through optional values.
fn inner_size(mut value: Value<'_>) -> u64 {
    while let Value::Optional(Some(inner)) = value {
        value = *inner;
    }
    size(value)
}

fn scaled(size: u64, factor: f64) -> u64 {
    (size as f64 * factor).ceil() as u64
}

/// Returns a tenth, rounded up. Go computes this in floating point, with the same result below 2^50.
#[inline]
fn tenth(size: u64) -> u64 {
    if size < 1 << 50 { size.div_ceil(10) } else { scaled(size, 0.1) }
}

impl Charge {
    /// Returns the rule of a function, or of the overload if the checker found a single one.
    pub(super) fn of(function: &str, overload: Option<Overload>) -> Self {
        if let Some(charge) = overload.and_then(tracked) {
            return charge;
        }
        match function {
            "check" => Self::Check,
            "fieldSelector" | "labelSelector" => Self::Selector,
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" | "includes" => Self::Walk,
            "url"
            | "lowerAscii"
            | "upperAscii"
            | "substring"
            | "trim"
            | "jsonpatch.escapeKey"
            | "cidr"
            | "isIP"
            | "isCIDR"
            | "quantity"
            | "isQuantity"
            | "semver"
            | "isSemver" => Self::Read,
            "ip" if overload != Some(Overload::CidrIp) => Self::Read,
            "replace" | "split" | "ip.isCanonical" => Self::ReadTwice,
            "join" => Self::WriteTwice,
            "find" | "findAll" => Self::Search,
            "containsIP" => Self::ContainsIp(overload == Some(Overload::CidrContainsIpString)),
            "containsCIDR" => Self::ContainsCidr(overload == Some(Overload::CidrContainsCidrString)),
            "validate" => Self::Validate,
            "_==_" => Self::Equality,
            _ => overload.map_or(Self::One, standard),
        }
    }

    /// Returns true if the cost depends on the result.
    pub(crate) fn needs_result(self) -> bool {
        matches!(self, Self::WriteTwice | Self::NewList)
    }

    /// Returns the panic of cel-go's tracker, if any: it assumes lists where an error value can occur.
    pub(crate) fn panics(self, args: &[Value<'_>]) -> Option<Box<str>> {
        let Self::SelfCompare(place) = self else { return None };
        let value = *args.get(usize::from(place))?;
        let missing = match value {
            Value::List(_) => return None,
            value if value.has(Trait::Adder) => "Contains",
            _ => "Add",
        };
        let ty = go_type(value);
        Some(format!("interface conversion: {ty} is not traits.Lister: missing method {missing}").into())
    }

    /// Like [`cost`](Self::cost) for two arguments, with a fast path for common rules.
    #[inline(always)]
    pub(crate) fn cost_of_two<'a>(self, a: Value<'a>, b: Value<'a>) -> u64 {
        match (self, a, b) {
            (Self::One, ..) => 1,
            (Self::Read, Value::String(text), _) | (Self::ReadPart, _, Value::String(text)) => {
                tenth(code_points(text))
            }
            (Self::Equality | Self::Smaller, Value::String(a), Value::String(b)) => {
                tenth(code_points(a).min(code_points(b)))
            }
            _ => self.cost(&[a, b], Value::Null),
        }
    }

    /// Computes the cost.
    pub(crate) fn cost(self, args: &[Value<'_>], result: Value<'_>) -> u64 {
        let arg = |place: usize| args.get(place).copied().unwrap_or(Value::Null);
        match self {
            Self::One => 1,
            Self::Check => 350_000,
            // Ten for the list, the cost of parsing, and a struct and a list for each requirement. The
            // shortest requirement has two characters.
            Self::Selector => {
                let len = size(arg(1));
                10 + tenth(len) + scaled(scaled(len, 0.5), 50.0)
            }
            Self::Walk => walk(arg(0)),
            Self::Read => tenth(size(arg(0))),
            Self::ReadPart => tenth(size(arg(1))),
            Self::ReadTwice => (size(arg(0)) as f64 * 2.0 * 0.1).ceil() as u64,
            Self::WriteTwice => (size(result) as f64 * 2.0 * 0.1).ceil() as u64,
            Self::Search => search(size(arg(0)), size(arg(1))),
            Self::ContainsIp(parses) => {
                tenth(2 * size(arg(0))) + if parses { tenth(size(arg(1))) } else { 0 }
            }
            Self::ContainsCidr(parses) => {
                let len = size(arg(0));
                let parsing = if parses { tenth(size(arg(1))) } else { 0 };
                tenth(2 * len) + tenth(len) + 1 + parsing
            }
            Self::Validate => match arg(0) {
                Value::Opaque(crate::value::Opaque::Format(format)) => {
                    search(size(arg(1)), format.pattern_size)
                }
                _ => 1,
            },
            Self::Equality if matches!(arg(0), Value::Opaque(_)) => 1,
            Self::Equality | Self::Smaller => tenth(inner_size(arg(0)).min(inner_size(arg(1)))),
            Self::Both => tenth(inner_size(arg(0)).saturating_add(inner_size(arg(1)))),
            Self::InList => inner_size(arg(1)),
            Self::Contains => tenth(inner_size(arg(0))).saturating_mul(tenth(inner_size(arg(1)))),
            Self::NewList => size(result).saturating_add(11),
            // Go's conversion of a negative depth wraps around.
            Self::Flatten => {
                let depth = match args.get(1) {
                    Some(Value::Int(depth)) => *depth as f64,
                    _ => 1.0,
                };
                ((size(arg(0)) as f64 * depth) as i64 as u64).wrapping_add(11)
            }
            Self::SelfCompare(place) => self_compare(arg(usize::from(place))),
            Self::Sets(times) => {
                let product = size(arg(0)).saturating_mul(size(arg(1)));
                ((product as f64 * f64::from(times)) as u64).saturating_add(1)
            }
        }
    }
}

/// Returns the rule that a cel-go library defines itself; these take precedence over Kubernetes' rules.
fn tracked(overload: Overload) -> Option<Charge> {
    use Overload::*;
    Some(match overload {
        ListSlice | ListsRange | ListReverse => Charge::NewList,
        ListFlatten | ListFlattenInt => Charge::Flatten,
        ListDistinct
        | ListBoolSort
        | ListBytesSort
        | ListDoubleSort
        | ListGoogleProtobufDurationSort
        | ListGoogleProtobufTimestampSort
        | ListIntSort
        | ListStringSort
        | ListUintSort => Charge::SelfCompare(0),
        ListBoolSortByAssociatedKeys
        | ListBytesSortByAssociatedKeys
        | ListDoubleSortByAssociatedKeys
        | ListGoogleProtobufDurationSortByAssociatedKeys
        | ListGoogleProtobufTimestampSortByAssociatedKeys
        | ListIntSortByAssociatedKeys
        | ListStringSortByAssociatedKeys
        | ListUintSortByAssociatedKeys => Charge::SelfCompare(1),
        ListSetsContainsList | ListSetsIntersectsList => Charge::Sets(1),
        ListSetsEquivalentList => Charge::Sets(2),
        _ => return None,
    })
}

/// cel-go's own rules.
fn standard(overload: Overload) -> Charge {
    use Overload::*;
    match overload {
        StartsWithString | EndsWithString => Charge::ReadPart,
        StringToBytes | BytesToString | StringsQuote | StringFormat => Charge::Read,
        InList => Charge::InList,
        LessString | GreaterString | LessEqualsString | GreaterEqualsString | LessBytes | GreaterBytes
        | LessEqualsBytes | GreaterEqualsBytes | Equals | NotEquals => Charge::Smaller,
        AddString | AddBytes => Charge::Both,
        Matches | MatchesString => Charge::Search,
        ContainsString => Charge::Contains,
        _ => Charge::One,
    }
}

/// Cost of matching a text against a pattern, by their sizes. An empty text has a cost too.
fn search(text: u64, pattern: u64) -> u64 {
    tenth(text + 1).saturating_mul((pattern as f64 * 0.25).ceil() as u64)
}

fn self_compare(list: Value<'_>) -> u64 {
    let Value::List(list) = list else { return 11 };
    let factor = match list.get(0) {
        Some(Value::String(_) | Value::Bytes(_)) => 2.1,
        _ => 2.0,
    };
    let len = list.len() as u64;
    ((len.saturating_mul(len) as f64 * factor) as u64).saturating_add(11)
}

/// Cost of traversing a value: a tenth of the size of strings, one for other scalars. Values are no deeper
/// than their sources. A traversal that would take too long costs more than any limit.
fn walk(value: Value<'_>) -> u64 {
    let mut cost = 0;
    let mut remaining = WALK_MAX;
    walk_into(value, 0, &mut cost, &mut remaining);
    if remaining == 0 { u64::MAX / 2 } else { cost }
}

/// Maximum number of traversed elements: more exceed the limit of a call, unless they are empty.
const WALK_MAX: u64 = 10_000_000;
const DEPTH_MAX: u32 = 1000;

fn walk_into(value: Value<'_>, depth: u32, cost: &mut u64, remaining: &mut u64) {
    if *remaining == 0 || depth > DEPTH_MAX {
        *remaining = 0;
        return;
    }
    *remaining -= 1;
    match value {
        Value::String(text) => *cost += (text.len() as f64 * 0.1) as u64,
        Value::Bytes(bytes) => *cost += (bytes.len() as f64 * 0.1) as u64,
        Value::List(list) => walk_list(list, depth, cost, remaining),
        Value::Map(map) => walk_map(map, depth, cost, remaining),
        _ => *cost += 1,
    }
}

fn walk_list(list: List<'_>, depth: u32, cost: &mut u64, remaining: &mut u64) {
    for value in list.iter() {
        walk_into(value, depth + 1, cost, remaining);
        if *remaining == 0 {
            return;
        }
    }
}

fn walk_map(map: Map<'_>, depth: u32, cost: &mut u64, remaining: &mut u64) {
    for (key, value) in map.iter() {
        walk_into(key, depth + 1, cost, remaining);
        walk_into(value, depth + 1, cost, remaining);
        if *remaining == 0 {
            return;
        }
    }
}
