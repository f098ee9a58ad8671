//! Checks one item of a limit range against requests and limits.

use api::tree::text;
use apimachinery::quantity::Quantity;
use schema::object::Object;

use crate::resource_list::ResourceList;

/// The greatest value whose thousandfold fits an `i64` (upstream's `MaxMilliValue`).
const MILLI_VALUE_MAX: i64 = i64::MAX / 1000;

/// Requests and limits under check.
pub(super) struct RequestedResources {
    pub(super) requests: ResourceList,
    pub(super) limits: ResourceList,
}

impl RequestedResources {
    /// Reads a container's `resources`.
    pub(super) fn from_resources(resources: Option<&Object>) -> Self {
        let list = |name| resources.map(|resources| ResourceList::of(resources, name)).unwrap_or_default();
        RequestedResources { requests: list("requests"), limits: list("limits") }
    }
}

pub(super) struct Constraints<'l> {
    /// The limited kind, for messages.
    kind: &'l str,
    min: ResourceList,
    max: ResourceList,
    ratio: ResourceList,
}

impl<'l> Constraints<'l> {
    pub(super) fn of(limit: &'l Object) -> Self {
        let list = |name| ResourceList::of(limit, name);
        Constraints {
            kind: text(limit, "type"),
            min: list("min"),
            max: list("max"),
            ratio: list("maxLimitRequestRatio"),
        }
    }

    pub(super) fn check(&self, requested: &RequestedResources, errors: &mut Vec<String>) {
        let RequestedResources { requests, limits } = requested;
        let lists = |name: &String| (requests.get(name), limits.get(name));
        errors.extend(self.min.iter().filter_map(|(name, least)| self.min(name, least, lists(name))));
        errors.extend(self.max.iter().filter_map(|(name, most)| self.max(name, most, lists(name))));
        errors.extend(self.ratio.iter().filter_map(|(name, most)| self.ratio(name, most, lists(name))));
    }

    /// Checks requests of a kind without limits.
    pub(super) fn check_requests(&self, requests: &ResourceList, errors: &mut Vec<String>) {
        let least =
            self.min.iter().filter_map(|(name, least)| self.min(name, least, (requests.get(name), None)));
        errors.extend(least);
        errors.extend(
            self.max.iter().filter_map(|(name, most)| self.max_request(name, most, requests.get(name))),
        );
    }

    fn min(&self, name: &str, least: &Quantity, (request, limit): Pair<'_>) -> Option<String> {
        let prefix = format!("minimum {name} usage per {} is {least}", self.kind);
        let Some(request) = request else { return Some(format!("{prefix}.  No request is specified")) };
        let [asked, top, bound] = comparable([Some(request), limit, Some(least)]);
        match limit {
            _ if asked < bound => Some(format!("{prefix}, but request is {request}")),
            Some(limit) if top < bound => Some(format!("{prefix}, but limit is {limit}")),
            _ => None,
        }
    }

    fn max(&self, name: &str, most: &Quantity, (request, limit): Pair<'_>) -> Option<String> {
        let prefix = format!("maximum {name} usage per {} is {most}", self.kind);
        let Some(limit) = limit else { return Some(format!("{prefix}.  No limit is specified")) };
        let [asked, top, bound] = comparable([request, Some(limit), Some(most)]);
        match request {
            _ if top > bound => Some(format!("{prefix}, but limit is {limit}")),
            Some(request) if asked > bound => Some(format!("{prefix}, but request is {request}")),
            _ => None,
        }
    }

    fn max_request(&self, name: &str, most: &Quantity, request: Option<&Quantity>) -> Option<String> {
        let prefix = format!("maximum {name} usage per {} is {most}", self.kind);
        let Some(request) = request else { return Some(format!("{prefix}.  No request is specified")) };
        let [asked, _, bound] = comparable([Some(request), None, Some(most)]);
        (asked > bound).then(|| format!("{prefix}, but request is {request}"))
    }

    #[allow(clippy::cast_precision_loss, reason = "upstream compares ratios as floating-point numbers")]
    fn ratio(&self, name: &str, most: &Quantity, (request, limit): Pair<'_>) -> Option<String> {
        let prefix = format!("{name} max limit to request ratio per {} is {most}", self.kind);
        let [asked, top, _] = comparable([request, limit, Some(most)]);
        if request.is_none() || asked == 0 {
            return Some(format!("{prefix}, but no request is specified or request is 0"));
        }
        if limit.is_none() || top == 0 {
            return Some(format!("{prefix}, but no limit is specified or limit is 0"));
        }
        let ratio = top as f64 / asked as f64;
        let exceeded = if most.value() <= MILLI_VALUE_MAX {
            ratio * 1000.0 > most.milli_value() as f64
        } else {
            ratio > most.value() as f64
        };
        exceeded.then(|| format!("{prefix}, but provided ratio is {ratio:.6}"))
    }
}

type Pair<'q> = (Option<&'q Quantity>, Option<&'q Quantity>);

/// Returns whole numbers for comparison: thousandths if all of them fit, units otherwise. A missing quantity
/// is 0.
fn comparable(quantities: [Option<&Quantity>; 3]) -> [i64; 3] {
    let values = quantities.map(|quantity| quantity.map_or(0, Quantity::value));
    if values.iter().all(|value| *value <= MILLI_VALUE_MAX) {
        quantities.map(|quantity| quantity.map_or(0, Quantity::milli_value))
    } else {
        values
    }
}
