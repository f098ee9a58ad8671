//! The options of a request: decoded from its query (upstream's `ParameterCodec`) or, for deletions,
//! from its body. Decoding takes what it can parse; `kinds::validation` judges it.
//!
//! Only the first value of a repeated parameter counts, except for `dryRun`. Unknown parameters are
//! ignored. A boolean is false only when it is absent, `0` or `false` in any case: `watch=no` and
//! `watch=` watch.

use crate::tree::{child, texts};
use apimachinery::query::Query;
use apimachinery::strconv::NumError;
use apimachinery::{fields, labels};
use jsontree::Value;
use schema::object::Object;
use thiserror::Error;

/// Decoding error of a parameter. The text is the one that upstream returns with status 400.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParameterError {
    /// Not an integer, or empty.
    #[error(transparent)]
    Integer(#[from] NumError),
    #[error(transparent)]
    LabelSelector(#[from] labels::LabelSelectorError),
    #[error(transparent)]
    FieldSelector(#[from] fields::FieldSelectorError),
}

/// `resourceVersionMatch`: the data of exactly this resource version.
pub const MATCH_EXACT: &str = "Exact";
/// `resourceVersionMatch`: data of this resource version or a later one.
pub const MATCH_NOT_OLDER_THAN: &str = "NotOlderThan";

/// Options of list, watch and deletecollection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOptions {
    pub label_selector: labels::Selector,
    /// Field selector with the field labels of the requested version.
    pub field_selector: fields::Selector,
    /// Watch instead of list.
    pub watch: bool,
    /// The client accepts bookmarks.
    pub allow_watch_bookmarks: bool,
    /// Not parsed here: the storage layer parses it and has its own errors.
    pub resource_version: String,
    /// Empty, [`MATCH_EXACT`] or [`MATCH_NOT_OLDER_THAN`]; any text before validation.
    pub resource_version_match: String,
    /// Time limit of a list or watch.
    pub timeout_seconds: Option<i64>,
    /// Page size; 0 or less means no limit.
    pub limit: i64,
    pub continue_token: String,
    /// Starts a watch with the current state.
    pub send_initial_events: Option<bool>,
    /// Shard selector. Not parsed here: it has no meaning while its gate is off.
    pub shard_selector: String,
}

impl ListOptions {
    /// Decodes a query.
    ///
    /// # Errors
    /// A parameter does not parse; upstream returns 400 with the text. Numbers are parsed before selectors.
    pub fn from_query(query: &Query) -> Result<Self, ParameterError> {
        let timeout_seconds = query.integer("timeoutSeconds")?;
        let limit = query.integer("limit")?.unwrap_or_default();
        Ok(Self {
            label_selector: labels::parse(query.first("labelSelector").unwrap_or_default())?,
            field_selector: fields::parse(query.first("fieldSelector").unwrap_or_default())?,
            watch: query.flag("watch").unwrap_or_default(),
            allow_watch_bookmarks: query.flag("allowWatchBookmarks").unwrap_or_default(),
            resource_version: query.text("resourceVersion"),
            resource_version_match: query.text("resourceVersionMatch"),
            timeout_seconds,
            limit,
            continue_token: query.text("continue"),
            send_initial_events: query.flag("sendInitialEvents"),
            shard_selector: query.text("shardSelector"),
        })
    }

    /// Requests initial events for a watch that has no resource version (or "0") and does not set
    /// `sendInitialEvents`. Such a watch has always had this meaning (KEP-3157). Must be called before
    /// validation, so some errors are about options that the client did not set.
    pub fn set_watch_list_defaults(&mut self) {
        let from_now = matches!(self.resource_version.as_str(), "" | "0");
        let silent = self.send_initial_events.is_none() && self.resource_version_match.is_empty();
        if self.watch && from_now && silent {
            self.send_initial_events = Some(true);
            MATCH_NOT_OLDER_THAN.clone_into(&mut self.resource_version_match);
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GetOptions {
    /// Empty for the latest state; not parsed here.
    pub resource_version: String,
}

impl GetOptions {
    pub fn from_query(query: &Query) -> Self {
        Self { resource_version: query.text("resourceVersion") }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CreateOptions {
    /// Dry-run values; only `All` is valid. If the list is not empty, nothing is stored.
    pub dry_run: Vec<String>,
    /// Name of the field manager; if empty, it is derived from the user agent.
    pub field_manager: String,
    /// `Ignore`, `Warn`, `Strict`, or empty for the default.
    pub field_validation: String,
}

impl CreateOptions {
    pub fn from_query(query: &Query) -> Self {
        Self {
            dry_run: query.texts("dryRun"),
            field_manager: query.text("fieldManager"),
            field_validation: query.text("fieldValidation"),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpdateOptions {
    pub dry_run: Vec<String>,
    pub field_manager: String,
    pub field_validation: String,
}

impl UpdateOptions {
    pub fn from_query(query: &Query) -> Self {
        let CreateOptions { dry_run, field_manager, field_validation } = CreateOptions::from_query(query);
        Self { dry_run, field_manager, field_validation }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchOptions {
    pub dry_run: Vec<String>,
    /// Lets an apply take over fields of other managers. Not permitted with other patch types.
    pub force: Option<bool>,
    /// Name of the field manager; required for an apply.
    pub field_manager: String,
    pub field_validation: String,
}

impl PatchOptions {
    pub fn from_query(query: &Query) -> Self {
        let force = query.flag("force");
        let CreateOptions { dry_run, field_manager, field_validation } = CreateOptions::from_query(query);
        Self { dry_run, force, field_manager, field_validation }
    }
}

impl From<PatchOptions> for UpdateOptions {
    fn from(patch: PatchOptions) -> Self {
        let PatchOptions { dry_run, field_manager, field_validation, force: _ } = patch;
        Self { dry_run, field_manager, field_validation }
    }
}

impl From<PatchOptions> for CreateOptions {
    fn from(patch: PatchOptions) -> Self {
        let PatchOptions { dry_run, field_manager, field_validation, force: _ } = patch;
        Self { dry_run, field_manager, field_validation }
    }
}

/// Options of delete and deletecollection. A body replaces the query completely.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Seconds until the object is removed; a negative value means one second.
    pub grace_period_seconds: Option<i64>,
    pub preconditions: Option<Preconditions>,
    /// Deprecated form of `propagation_policy`.
    pub orphan_dependents: Option<bool>,
    /// `Foreground`, `Background` or `Orphan`; any text before validation.
    pub propagation_policy: Option<String>,
    pub dry_run: Vec<String>,
    /// `ignoreStoreReadErrorWithClusterBreakingPotential`: removes an object that cannot be read (KEP-3926).
    /// Ignored unless the gate `AllowUnsafeMalformedObjectDeletion` is on.
    pub ignore_store_read_error: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    pub uid: Option<String>,
    pub resource_version: Option<String>,
}

impl DeleteOptions {
    /// Decodes a query.
    ///
    /// # Errors
    /// The grace period is not an integer; upstream returns 400 with the text.
    pub fn from_query(query: &Query) -> Result<Self, ParameterError> {
        let parameter = |name| query.first(name).filter(|value| !value.is_empty()).map(str::to_owned);
        let uid = parameter("uid");
        let resource_version = parameter("resourceVersion");
        let any = uid.is_some() || resource_version.is_some();
        Ok(Self {
            grace_period_seconds: query.integer("gracePeriodSeconds")?,
            preconditions: any.then_some(Preconditions { uid, resource_version }),
            orphan_dependents: query.flag("orphanDependents"),
            propagation_policy: query.first("propagationPolicy").map(str::to_owned),
            dry_run: query.texts("dryRun"),
            ignore_store_read_error: query.flag(IGNORE_STORE_READ_ERROR).unwrap_or_default(),
        })
    }

    /// Converts a body that was decoded as `DeleteOptions` of any group.
    pub fn from_object(body: &Object) -> Self {
        let member = |object: &Object, name| object.get(name).and_then(Value::as_str).map(str::to_owned);
        Self {
            grace_period_seconds: body.get("gracePeriodSeconds").and_then(Value::as_i64),
            preconditions: child(body, "preconditions").map(|preconditions| Preconditions {
                uid: member(preconditions, "uid"),
                resource_version: member(preconditions, "resourceVersion"),
            }),
            orphan_dependents: body.get("orphanDependents").and_then(Value::as_bool),
            propagation_policy: member(body, "propagationPolicy"),
            dry_run: texts(body, "dryRun").map(str::to_owned).collect(),
            ignore_store_read_error: body
                .get(IGNORE_STORE_READ_ERROR)
                .and_then(Value::as_bool)
                .unwrap_or_default(),
        }
    }

    /// Converts the options to a body without `kind` and `apiVersion`.
    pub fn to_object(&self) -> Object {
        let text = |text: &Option<String>| text.as_deref().map(Value::from);
        let preconditions = self.preconditions.as_ref().map(|preconditions| {
            let Preconditions { uid, resource_version } = preconditions;
            members([("uid", text(uid)), ("resourceVersion", text(resource_version))]).into()
        });
        members([
            ("gracePeriodSeconds", self.grace_period_seconds.map(Value::from)),
            ("preconditions", preconditions),
            ("orphanDependents", self.orphan_dependents.map(Value::from)),
            ("propagationPolicy", text(&self.propagation_policy)),
            ("dryRun", (!self.dry_run.is_empty()).then(|| self.dry_run.as_slice().into())),
            (IGNORE_STORE_READ_ERROR, self.ignore_store_read_error.then(|| true.into())),
        ])
    }
}

/// Name of the option for removing objects that cannot be read.
pub const IGNORE_STORE_READ_ERROR: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";

/// Collects the members that have a value.
fn members<const N: usize>(members: [(&str, Option<Value>); N]) -> Object {
    members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// Part of each object that a row contains: `Metadata`, `Object`, `None`; empty means `Metadata`.
    pub include_object: String,
}

impl TableOptions {
    pub fn from_query(query: &Query) -> Self {
        Self { include_object: query.text("includeObject") }
    }
}

#[cfg(test)]
mod tests;
