//! Election rules: a function of lease, candidates and time. Rules and times are those of upstream's
//! `controller/leaderelection`, because candidates rely on them.

use std::cmp::Ordering;
use std::time::Duration;

use api::tree;
use apimachinery::time::{UnixTime, parse_micro_time, parse_time};
use cel::ext::semver::Version;
use jsontree::json;
use registry::meta;
use schema::object::{self, Object};

use crate::desired_state::object;

/// Response deadline of a pinged candidate, and validity of a response.
const PING_TIMEOUT: Duration = Duration::from_secs(5);
/// Lifetime of a candidate without renewal.
const CANDIDATE_LIFETIME: Duration = Duration::from_secs(30 * 60);
/// Initial duration of an assigned lease in seconds, until its holder renews it.
const DURATION_SECONDS: i64 = 5;
/// The only strategy implemented here. Other strategies are left to other controllers.
const OLDEST: &str = "OldestEmulationVersion";

/// A candidate for a lease.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) name: String,
    /// Name of the lease, which is in the candidate's namespace.
    pub(super) lease: String,
    strategy: String,
    emulation: Option<Version>,
    binary: Option<Version>,
    /// `spec.pingTime` (and, on the next field, `spec.renewTime`).
    pinged: Option<UnixTime>,
    renewed: Option<UnixTime>,
    created: UnixTime,
}

impl Candidate {
    /// Reads a LeaseCandidate.
    pub(super) fn of(object: &Object) -> Self {
        let empty = Object::new();
        let spec = tree::child(object, "spec").unwrap_or(&empty);
        let version = |name| Version::parse_normalized(tree::text(spec, name).trim()).ok();
        let created = parse_time(meta::text(object, "creationTimestamp"));
        Candidate {
            name: meta::text(object, "name").to_owned(),
            lease: tree::text(spec, "leaseName").to_owned(),
            strategy: tree::text(spec, "strategy").to_owned(),
            emulation: version("emulationVersion"),
            binary: version("binaryVersion"),
            pinged: time(spec, "pingTime"),
            renewed: time(spec, "renewTime"),
            created: created.unwrap_or_default(),
        }
    }

    /// True if the candidate was pinged and has not responded yet.
    pub(super) fn awaits_ping_response(&self) -> bool {
        self.pinged.is_some() && self.renewed < self.pinged
    }

    /// True if the candidate has expired.
    pub(super) fn has_expired(&self, now: UnixTime) -> bool {
        self.renewed.is_none_or(|renewed| has_elapsed(renewed, CANDIDATE_LIFETIME, now))
    }

    fn responded_recently(&self, now: UnixTime) -> bool {
        self.renewed.is_some_and(|renewed| is_within(renewed, PING_TIMEOUT, now))
    }

    /// Orders candidates: older emulation version first, then older binary version, then older creation time.
    fn order(&self, other: &Self) -> Ordering {
        let versions = (&self.emulation, &self.binary).cmp(&(&other.emulation, &other.binary));
        versions.then(self.created.cmp(&other.created))
    }
}

/// The relevant fields of a lease.
#[derive(Debug, Clone, Default)]
pub(super) struct Lease {
    holder: Option<String>,
    renewed: Option<UnixTime>,
    seconds: Option<i64>,
}

impl Lease {
    /// Reads a Lease.
    pub(super) fn of(object: &Object) -> Self {
        let Some(spec) = tree::child(object, "spec") else { return Lease::default() };
        Lease {
            holder: tree::maybe_text(spec, "holderIdentity").map(str::to_owned),
            renewed: time(spec, "renewTime"),
            seconds: tree::maybe_integer(spec, "leaseDurationSeconds"),
        }
    }

    fn holder(&self) -> Option<&str> {
        self.holder.as_deref().filter(|holder| !holder.is_empty())
    }

    /// True if the lease has expired, or if its renewal time or duration is missing.
    fn is_expired(&self, now: UnixTime) -> bool {
        let Some((renewed, seconds)) = self.renewed.zip(self.seconds) else { return true };
        has_elapsed(renewed, Duration::from_secs(u64::try_from(seconds).unwrap_or(0)), now)
    }
}

/// Error of an election without a winner, in upstream's wording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ElectionError {
    #[error("no candidates")]
    NoCandidates,
    /// No candidate responded to its ping.
    #[error("no available candidates")]
    NoneAvailable,
    #[error("could not find suitable electee")]
    NoneSuitable,
    /// Two of the newest candidates request different strategies.
    #[error(
        "candidates {:?}, {:?} at same binary version but received differing strategies {}, {}",
        names[0], names[1], strategies[0], strategies[1]
    )]
    Strategies { names: [String; 2], strategies: [String; 2] },
}

/// Next step for a lease.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing: there are no candidates, or the right one holds the lease.
    Wait,
    /// Pings these candidates, and waits for those pinged earlier.
    Ping(Vec<String>),
    /// Assigns the lease.
    Assign(ElectionResult),
}

/// Result of an election.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ElectionResult {
    pub(super) strategy: String,
    /// The new holder; `None` if another controller decides.
    pub(super) holder: Option<String>,
}

/// Computes the next step for a lease from all its candidates.
///
/// # Errors
/// The reason why no candidate can be elected.
pub(super) fn step(
    lease: Option<&Lease>,
    candidates: &[Candidate],
    now: UnixTime,
) -> Result<Step, ElectionError> {
    let candidates: Vec<&Candidate> =
        candidates.iter().filter(|candidate| !candidate.has_expired(now)).collect();
    if candidates.is_empty() || !is_election_needed(lease, &candidates, now)? {
        return Ok(Step::Wait);
    }
    let mut pinged = Vec::new();
    let mut waiting = false;
    for candidate in &candidates {
        let last_ping = candidate.pinged.filter(|_| candidate.awaits_ping_response());
        if last_ping.is_some_and(|at| is_within(at, PING_TIMEOUT, now)) {
            waiting = true;
        } else if !candidate.responded_recently(now) && last_ping.is_none() {
            // Candidates that did not respond to an earlier ping are not pinged again.
            pinged.push(candidate.name.clone());
        }
    }
    if waiting || !pinged.is_empty() {
        return Ok(Step::Ping(pinged));
    }
    let available: Vec<&Candidate> =
        candidates.into_iter().filter(|candidate| candidate.responded_recently(now)).collect();
    if available.is_empty() {
        return Err(ElectionError::NoneAvailable);
    }
    let strategy = strategy(&available)?.to_owned();
    let holder = match strategy.as_str() {
        OLDEST => Some(oldest(&available).ok_or(ElectionError::NoneSuitable)?.name.clone()),
        _ => None,
    };
    Ok(Step::Assign(ElectionResult { strategy, holder }))
}

fn is_election_needed(
    lease: Option<&Lease>,
    candidates: &[&Candidate],
    now: UnixTime,
) -> Result<bool, ElectionError> {
    let Some((holder, lease)) = lease.and_then(|lease| Some((lease.holder()?, lease))) else {
        return Ok(true);
    };
    // All candidates are pinged periodically, to detect dead ones before they expire.
    let unheard = |candidate: &&&Candidate| {
        candidate.renewed.is_some_and(|at| has_elapsed(at, CANDIDATE_LIFETIME / 2, now))
    };
    if lease.is_expired(now) || candidates.iter().any(|candidate| unheard(&candidate)) {
        return Ok(true);
    }
    if strategy(candidates)? != OLDEST {
        return Ok(false);
    }
    Ok(oldest(candidates).is_some_and(|best| best.name != holder))
}

/// Returns the strategy that the newest binaries request.
fn strategy<'c>(candidates: &[&'c Candidate]) -> Result<&'c str, ElectionError> {
    let mut candidates = candidates.iter().copied();
    let mut newest = candidates.next().ok_or(ElectionError::NoCandidates)?;
    for candidate in candidates {
        let zero = || Version::parse("0.0.0").ok();
        let binary = |candidate: &Candidate| candidate.binary.clone().or_else(zero);
        match binary(newest).cmp(&binary(candidate)) {
            Ordering::Less => newest = candidate,
            Ordering::Equal if candidate.strategy != newest.strategy => {
                return Err(ElectionError::Strategies {
                    names: [newest.name.clone(), candidate.name.clone()],
                    strategies: [newest.strategy.clone(), candidate.strategy.clone()],
                });
            }
            _ => {}
        }
    }
    Ok(&newest.strategy)
}

/// Returns the oldest candidate among those with both versions.
fn oldest<'c>(candidates: &[&'c Candidate]) -> Option<&'c Candidate> {
    let valid =
        candidates.iter().filter(|candidate| candidate.emulation.is_some() && candidate.binary.is_some());
    valid.copied().min_by(|a, b| a.order(b))
}

/// Returns the Lease with this assignment; `None` if it is up to date.
///
/// A holder to be replaced sees `preferredHolder`, and lets the lease expire.
pub(super) fn assigned_lease(
    current: Option<&Object>,
    namespace: &str,
    name: &str,
    elected: &ElectionResult,
    now: UnixTime,
) -> Option<Object> {
    let renewed = now.rfc3339_micro().to_string();
    let Some(current) = current else {
        let mut lease = object(json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "strategy": elected.strategy, "leaseDurationSeconds": DURATION_SECONDS, "renewTime": renewed,
            },
        }));
        if let Some(holder) = &elected.holder {
            object::set(&mut lease, &["spec", "holderIdentity"], holder.as_str());
        }
        return Some(lease);
    };
    let before = Lease::of(current);
    let mut lease = current.clone();
    object::set(&mut lease, &["spec", "strategy"], elected.strategy.as_str());
    if let Some(holder) = &elected.holder {
        let other = before.holder() != Some(holder);
        if before.holder().is_none() || other && before.is_expired(now) {
            object::set(&mut lease, &["spec", "holderIdentity"], holder.as_str());
            object::set(&mut lease, &["spec", "renewTime"], renewed);
            object::set(&mut lease, &["spec", "leaseDurationSeconds"], DURATION_SECONDS);
            object::remove(&mut lease, &["spec", "preferredHolder"]);
            object::remove(&mut lease, &["spec", "acquireTime"]);
        } else if other {
            object::set(&mut lease, &["spec", "preferredHolder"], holder.as_str());
        }
    }
    (&lease != current).then_some(lease)
}

/// Returns a LeaseCandidate with a ping.
pub(super) fn pinged_candidate(candidate: &Object, now: UnixTime) -> Object {
    let mut pinged = candidate.clone();
    object::set(&mut pinged, &["spec", "pingTime"], now.rfc3339_micro().to_string());
    pinged
}

fn time(spec: &Object, name: &str) -> Option<UnixTime> {
    parse_micro_time(tree::maybe_text(spec, name)?).ok()
}

fn since(time: UnixTime, span: Duration, now: UnixTime) -> Ordering {
    now.nanos_since(time).cmp(&i64::try_from(span.as_nanos()).unwrap_or(i64::MAX))
}

/// True if a time span is still running.
fn is_within(time: UnixTime, span: Duration, now: UnixTime) -> bool {
    since(time, span, now).is_lt()
}

/// True if a time span is over.
fn has_elapsed(time: UnixTime, span: Duration, now: UnixTime) -> bool {
    since(time, span, now).is_gt()
}

#[cfg(test)]
mod tests;
