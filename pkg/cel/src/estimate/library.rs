//! Kubernetes' cost estimates of functions. They decide which rules a CRD may contain, so a difference in
//! either direction breaks users.

use super::functions::{Call, unknown};
use super::{Argument, Estimate, Estimator, PATTERN, Range, TRAVERSAL};
use crate::overloads::Overload;
use crate::syntax::{Kind, Literal};
use crate::types::{Shape, Type};

/// An authorization check. The limit allows two per expression.
const CHECK: Range = Range::fixed(350_000);
/// Size of an IP address in bytes.
const ADDRESS: Range = Range { min: 4, max: 16 };
/// Length of the longest pattern of a named format.
const FORMAT_PATTERN_MAX: f64 = 128.0;
/// Length of the longest named format's name.
const FORMAT_NAME_MAX: u64 = 64;
/// Requirements per character of a selector.
const REQUIREMENTS: f64 = 0.5;
/// Cost of a requirement: a struct and a list.
const REQUIREMENT: f64 = 50.0;

impl Estimator<'_> {
    pub(super) fn by_library(&mut self, call: &Call<'_>, overload: Overload) -> Option<Estimate> {
        let one = Estimate::new(Range::fixed(1));
        let estimate = match (call.function, call.target.as_ref(), call.args) {
            ("check", _, _) => Estimate::new(CHECK),
            (
                "serviceAccount" | "path" | "group" | "resource" | "subresource" | "namespace" | "name",
                _,
                _,
            )
            | ("allowed" | "reason" | "error" | "errored", _, _)
            | ("masked" | "prefixLength" | "family" | "isUnspecified" | "isLoopback", _, _)
            | ("isLinkLocalMulticast" | "isLinkLocalUnicast" | "isGlobalUnicast" | "format.named", _, _)
            | ("sign" | "asInteger" | "isInteger" | "asApproximateFloat" | "isGreaterThan", _, _)
            | ("isLessThan" | "compareTo" | "add" | "sub" | "major" | "minor" | "patch", _, _)
            | ("getScheme" | "getHostname" | "getHost" | "getPort" | "getEscapedPath" | "getQuery", _, _) => {
                one
            }
            ("ip", _, _) if overload == Overload::CidrIp => one,
            ("fieldSelector" | "labelSelector", _, [text]) => Estimate::new(selector(self.size_of(text))),
            (
                "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" | "includes",
                Some(target),
                _,
            ) => self.traverse(target),
            ("url" | "jsonpatch.escapeKey", None, [text])
            | ("lowerAscii" | "upperAscii" | "substring" | "trim", Some(text), _) => {
                let size = self.size_of(text);
                Estimate::sized(size.scale(TRAVERSAL), size)
            }
            ("replace", Some(text), [from, to, ..]) => self.replace(text, from, to),
            ("split", Some(text), args) => self.split(text, args),
            ("join", Some(list), args) => self.join(list, args.first()),
            ("find" | "findAll", Some(text), [pattern, ..]) => {
                let size = self.size_of(text);
                let cost = size.plus(Range::fixed(1)).scale(TRAVERSAL);
                let cost = cost.times(self.size_of(pattern).scale(PATTERN));
                Estimate::sized(cost, Range { min: 0, max: size.max })
            }
            (
                "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver",
                _,
                [text, ..],
            ) => Estimate::new(self.size_of(text).scale(TRAVERSAL)),
            ("ip.isCanonical", _, [text, ..]) => Estimate::new(self.size_of(text).scale(2.0 * TRAVERSAL)),
            ("containsIP", _, [other, ..]) => {
                let parsed = overload == Overload::CidrContainsIpString;
                Estimate::new(self.contains(other, parsed))
            }
            ("containsCIDR", _, [other, ..]) => {
                let parsed = overload == Overload::CidrContainsCidrString;
                let masked = ADDRESS.scale(TRAVERSAL).plus(Range::fixed(1));
                Estimate::new(self.contains(other, parsed).plus(masked))
            }
            ("validate", _, [text, ..]) => {
                let cost = self.size_of(text).scale(TRAVERSAL);
                Estimate::new(cost.scale(FORMAT_PATTERN_MAX * PATTERN))
            }
            ("_==_", _, [left, right]) => return self.equals(left, right),
            _ => return None,
        };
        Some(estimate)
    }

    /// Estimates a function that traverses a list and its strings, or a string.
    fn traverse(&mut self, target: &Argument) -> Estimate {
        let size = self.size_of(target);
        let Some(element) = self.elements_of(target) else {
            return Estimate::new(size.scale(TRAVERSAL));
        };
        let mut cost = Range::fixed(1);
        if let Shape::String | Shape::Bytes | Shape::Wrapper(Type::STRING | Type::BYTES) =
            self.checked.types.shape(element.ty)
        {
            cost = cost.plus(self.size_of(&element).scale(TRAVERSAL));
        }
        Estimate::new(size.times(cost))
    }

    fn replace(&mut self, text: &Argument, from: &Argument, to: &Argument) -> Estimate {
        let size = self.size_of(text);
        let from = self.size_of(from);
        let to = self.size_of(to);
        // Replacing the empty string inserts the replacement around every character. For the maximum, as many
        // of the shortest parts as fit are replaced by the longest replacement; the minimum is the reverse.
        let (max_count, max_kept) = match from.min {
            0 => (size.max.saturating_add(1), size.max),
            _ if to.max <= from.min => (0, size.max),
            shortest => (ratio(size.max, shortest), 0),
        };
        let (min_count, min_kept) = match from.max {
            0 => (size.min.saturating_add(1), size.min),
            _ if from.max <= to.min => (0, size.min),
            longest => (ratio(size.min, longest), 0),
        };
        let replaced = Range { min: min_count, max: max_count }.times(to);
        Estimate::sized(size.scale(2.0 * TRAVERSAL), replaced.plus(Range { min: min_kept, max: max_kept }))
    }

    fn split(&mut self, text: &Argument, args: &[Argument]) -> Estimate {
        let size = self.size_of(text);
        let limit = args.get(1).and_then(|limit| limit.expr).map(|limit| self.checked.syntax.kind(limit));
        let max = match limit {
            // A negative limit means no limit, as in cel-go.
            Some(Kind::Literal(Literal::Int(limit))) => limit as u64,
            _ => size.max,
        };
        Estimate::sized(size.scale(2.0 * TRAVERSAL), Range { min: 0, max })
    }

    fn join(&mut self, list: &Argument, separator: Option<&Argument>) -> Estimate {
        let count = self.size_of(list);
        let mut size = Range::fixed(0);
        if let Some(element) = self.elements_of(list) {
            size = count.times(self.size_of(&element));
        }
        if let Some(separator) = separator {
            let separators = Range { min: count.min.saturating_sub(1), max: count.max.saturating_sub(1) };
            size = size.plus(self.size_of(separator).times(separators));
        }
        Estimate::sized(size.scale(TRAVERSAL), size)
    }

    /// Estimates the comparison of addresses, and parsing of the other one if it is a string.
    fn contains(&mut self, other: &Argument, parsed: bool) -> Range {
        let compared = ADDRESS.plus(ADDRESS).scale(TRAVERSAL);
        if parsed { compared.plus(self.size_of(other).scale(TRAVERSAL)) } else { compared }
    }

    /// Values of Kubernetes' own types are compared at a fixed cost.
    fn equals(&self, left: &Argument, right: &Argument) -> Option<Estimate> {
        let types = &self.checked.types;
        if types.runtime_name(left.ty) != types.runtime_name(right.ty) {
            return None;
        }
        let cost = match (types.shape(left.ty), types.runtime_name(left.ty)) {
            (Shape::Opaque(..), "net.IP" | "net.CIDR") => Range::fixed(1),
            (Shape::Struct(_), "kubernetes.Quantity" | "kubernetes.Semver") => Range::fixed(1),
            (Shape::Struct(_), name) if name.starts_with("kubernetes.authorization.") => Range::fixed(1),
            (Shape::Struct(_), "kubernetes.NamedFormat") => {
                Range { min: 1, max: FORMAT_NAME_MAX }.scale(TRAVERSAL)
            }
            (Shape::Struct(_), "kubernetes.URL") => {
                let max = right.size.map_or(1, |_| unknown(right).max);
                Range { min: 1, max }.scale(TRAVERSAL)
            }
            _ => return None,
        };
        Some(Estimate::new(cost))
    }
}

/// Estimates parsing a selector and constructing its requirements.
fn selector(length: Range) -> Range {
    let requirements = length.scale(REQUIREMENTS).scale(REQUIREMENT);
    Range::fixed(10).plus(length.scale(TRAVERSAL)).plus(requirements)
}

/// Computes `a / b`, rounded up via floating-point numbers as in cel-go.
fn ratio(a: u64, b: u64) -> u64 {
    (a as f64 / b as f64).ceil() as u64
}
