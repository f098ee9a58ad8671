//! Functions on Kubernetes' own types: URLs, addresses, quantities, versions, named formats.

use apimachinery::quantity::{Format, Quantity};

use super::Context;
use crate::arena::{Abort, Outcome};
use crate::ext::ParseError;
use crate::ext::ip::{
    is_global_unicast, is_link_local_multicast, is_link_local_unicast, parse_cidr, parse_ip,
};
use crate::ext::named_format::{self, NamedFormat};
use crate::ext::semver::Version;
use crate::ext::url::{Url, is_url, parse_url};
use crate::overloads::Overload;
use crate::value::{GrowingMap, Map, Opaque, Value};

impl<'a> Context<'a, '_> {
    /// Runs functions that parse a string.
    pub(super) fn parse(self, overload: Overload, text: &'a str, normalize: bool) -> Outcome<'a> {
        use Overload::*;
        match overload {
            StringToUrl => match parse_url(text) {
                Ok(_) => self.arena.opaque(Opaque::Url(text)),
                Err(problem) => self.arena.error(problem),
            },
            IsUrlString => Ok(Value::Bool(is_url(text))),
            StringToIp => match parse_ip(text) {
                Ok(address) => self.arena.opaque(Opaque::Ip(address)),
                Err(problem) => self.arena.error(problem),
            },
            IsIp => Ok(Value::Bool(parse_ip(text).is_ok())),
            IpIsCanonical => match parse_ip(text) {
                Ok(address) => Ok(Value::Bool(address.to_string() == text)),
                Err(problem) => self.arena.error(problem),
            },
            StringToCidr => match parse_cidr(text) {
                Ok(cidr) => self.arena.opaque(Opaque::Cidr(cidr)),
                Err(problem) => self.arena.error(problem),
            },
            IsCidr => Ok(Value::Bool(parse_cidr(text).is_ok())),
            StringToQuantity => match text.parse::<Quantity>() {
                Ok(_) => self.arena.opaque(Opaque::Quantity { text, computed: false }),
                Err(problem) => self.arena.error(problem),
            },
            IsQuantityString => Ok(Value::Bool(text.parse::<Quantity>().is_ok())),
            StringToSemver | StringBoolToSemver => match parse_version(text, normalize) {
                Ok(_) => self.arena.opaque(Opaque::Semver { text, normalize }),
                Err(problem) => self.arena.error(problem),
            },
            IsSemverString | IsSemverStringBool => Ok(Value::Bool(parse_version(text, normalize).is_ok())),
            FormatNamed => match named_format::find_format(text) {
                Some(format) => {
                    let format = self.arena.opaque(Opaque::Format(format))?;
                    self.arena.optional(format)
                }
                None => Ok(Value::Optional(None)),
            },
            _ => Ok(Value::NO_SUCH_OVERLOAD),
        }
    }

    /// Runs functions without arguments.
    pub(super) fn constant(self, overload: Overload) -> Outcome<'a> {
        if overload == Overload::OptionalNone {
            return Ok(Value::Optional(None));
        }
        match overload.id().strip_prefix("format.").and_then(named_format::find_format) {
            Some(format) => self.arena.opaque(Opaque::Format(format)),
            None => Ok(Value::NO_SUCH_OVERLOAD),
        }
    }

    pub(super) fn of_opaque(
        self,
        overload: Overload,
        opaque: &'a Opaque<'a>,
        args: &[Value<'a>],
    ) -> Outcome<'a> {
        match overload {
            Overload::OptionalOfNonZeroValue if args[0].is_zero() => return Ok(Value::Optional(None)),
            Overload::OptionalOf | Overload::OptionalOfNonZeroValue => return self.arena.optional(args[0]),
            _ => {}
        }
        match *opaque {
            Opaque::Url(text) => self.of_url(overload, text),
            Opaque::Ip(address) => Ok(match overload {
                Overload::IpToString => return self.arena.string(&address.to_string()),
                Overload::IpFamily => Value::Int(if address.is_ipv4() { 4 } else { 6 }),
                Overload::IpIsUnspecified => Value::Bool(address.is_unspecified()),
                Overload::IpIsLoopback => Value::Bool(address.is_loopback()),
                Overload::IpIsLinkLocalMulticast => Value::Bool(is_link_local_multicast(address)),
                Overload::IpIsLinkLocalUnicast => Value::Bool(is_link_local_unicast(address)),
                Overload::IpIsGlobalUnicast => Value::Bool(is_global_unicast(address)),
                _ => Value::NO_SUCH_OVERLOAD,
            }),
            Opaque::Cidr(cidr) => match overload {
                Overload::CidrToString => self.arena.string(&cidr.to_string()),
                Overload::CidrIp => self.arena.opaque(Opaque::Ip(cidr.address)),
                Overload::CidrPrefixLength => Ok(Value::Int(cidr.bits.into())),
                Overload::CidrMasked => self.arena.opaque(Opaque::Cidr(cidr.masked())),
                _ => self.contained(overload, opaque, args),
            },
            Opaque::Quantity { text, .. } => self.of_quantity(overload, text, args.get(1).copied()),
            Opaque::Semver { .. } => Ok(of_version(overload, opaque, args.get(1).copied())),
            Opaque::Format(format) => match args.get(1) {
                Some(Value::String(text)) => self.validate(format, text),
                _ => Ok(Value::NO_SUCH_OVERLOAD),
            },
            _ => self.authorize(overload, opaque, args),
        }
    }

    fn contained(self, overload: Overload, network: &Opaque<'a>, args: &[Value<'a>]) -> Outcome<'a> {
        let inner = match (overload, args.get(1)) {
            (Overload::CidrContainsIpString, Some(Value::String(text))) => {
                self.parse(Overload::StringToIp, text, false)?
            }
            (Overload::CidrContainsCidrString, Some(Value::String(text))) => {
                self.parse(Overload::StringToCidr, text, false)?
            }
            (_, Some(value)) => *value,
            _ => return Ok(Value::NO_SUCH_OVERLOAD),
        };
        Ok(match inner {
            Value::Opaque(inner) => network.contains(inner),
            // Upstream reports the error of the receiver here instead of the address's, and there is none.
            _ if overload == Overload::CidrContainsIpString => Value::NO_SUCH_OVERLOAD,
            other => other.or_no_such_overload(),
        })
    }

    fn of_url(self, overload: Overload, text: &'a str) -> Outcome<'a> {
        let Ok(url) = parse_url(text) else { return Ok(Value::NO_SUCH_OVERLOAD) };
        self.arena.string(&match overload {
            Overload::UrlGetQuery => return self.query(&url),
            Overload::UrlGetScheme => url.scheme().to_owned(),
            Overload::UrlGetHost => url.host(),
            Overload::UrlGetHostname => url.hostname(),
            Overload::UrlGetPort => url.port(),
            Overload::UrlGetEscapedPath => url.escaped_path(),
            _ => return Ok(Value::NO_SUCH_OVERLOAD),
        })
    }

    fn query(self, url: &Url) -> Outcome<'a> {
        let map = self.arena.alloc(GrowingMap::new(self.arena.bump()))?;
        for (key, values) in url.query() {
            let values = self.new_list(values.iter().map(|value| self.arena.string(value)))?;
            if !map.replace(self.arena.string(&key)?, values) {
                return Err(Abort::CostLimit);
            }
        }
        Ok(Value::Map(Map::Growing(map)))
    }

    fn of_quantity(self, overload: Overload, text: &str, other: Option<Value<'a>>) -> Outcome<'a> {
        use Overload::*;
        let Ok(mut this) = text.parse::<Quantity>() else { return Ok(Value::NO_SUCH_OVERLOAD) };
        let other = match other {
            Some(Value::Opaque(Opaque::Quantity { text, .. })) => text.parse().ok(),
            Some(Value::Int(int)) => Some(Quantity::new(int, Format::DecimalExponent)),
            _ => None,
        };
        Ok(match (overload, other) {
            (QuantitySign, _) => Value::Int(this.sign() as i64),
            (QuantityIsInteger, _) => Value::Bool(this.as_int64().is_some()),
            (QuantityGetInt, _) => {
                this.as_int64().map_or(Value::Error("cannot convert value to integer"), Value::Int)
            }
            (QuantityGetFloat, _) => Value::Double(this.approximate_f64()),
            (QuantityIsGreaterThan, Some(other)) => Value::Bool(this > other),
            (QuantityIsLessThan, Some(other)) => Value::Bool(this < other),
            (QuantityCompareTo, Some(other)) => Value::Int(this.cmp(&other) as i64),
            (QuantityAdd | QuantityAddInt, Some(other)) => {
                this.add(&other);
                return self.computed_quantity(&this);
            }
            (QuantitySub | QuantitySubInt, Some(other)) => {
                this.sub(&other);
                return self.computed_quantity(&this);
            }
            _ => Value::NO_SUCH_OVERLOAD,
        })
    }

    fn computed_quantity(self, quantity: &Quantity) -> Outcome<'a> {
        let text = self.arena.text(&quantity.to_string())?;
        self.arena.opaque(Opaque::Quantity { text, computed: true })
    }

    fn validate(self, format: &NamedFormat, text: &str) -> Outcome<'a> {
        self.work.spend(text.len() as u64 / 16)?;
        let problems = format.validate(text);
        if problems.is_empty() {
            return Ok(Value::Optional(None));
        }
        let problems = self.new_list(problems.iter().map(|problem| self.arena.string(problem)))?;
        self.arena.optional(problems)
    }
}

fn parse_version(text: &str, normalize: bool) -> Result<Version, ParseError> {
    if normalize { Version::parse_normalized(text) } else { Version::parse(text) }
}

/// Runs functions on versions.
fn of_version<'v>(overload: Overload, this: &Opaque<'_>, other: Option<Value<'_>>) -> Value<'v> {
    use Overload::*;
    let Some(version) = this.version() else { return Value::NO_SUCH_OVERLOAD };
    let other = match other {
        Some(Value::Opaque(other)) => other.version(),
        _ => None,
    };
    match (overload, other.map(|other| version.cmp(&other))) {
        (SemverMajor, _) => Value::Int(version.major as i64),
        (SemverMinor, _) => Value::Int(version.minor as i64),
        (SemverPatch, _) => Value::Int(version.patch as i64),
        (SemverCompareTo, Some(ordering)) => Value::Int(ordering as i64),
        (SemverIsGreaterThan, Some(ordering)) => Value::Bool(ordering.is_gt()),
        (SemverIsLessThan, Some(ordering)) => Value::Bool(ordering.is_lt()),
        _ => Value::NO_SUCH_OVERLOAD,
    }
}
