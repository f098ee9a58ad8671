//! Validation of request options. Upstream returns 422 for a kind such as `ListOptions.meta.k8s.io`.

use super::validate_field_manager;
use api::options::{
    CreateOptions, DeleteOptions, IGNORE_STORE_READ_ERROR, ListOptions, MATCH_EXACT, MATCH_NOT_OLDER_THAN,
    PatchOptions, TableOptions, UpdateOptions,
};
use apimachinery::field::{Error, ErrorList, Path};
use jsontree::Value;

const FOREGROUND: &str = "Foreground";
const BACKGROUND: &str = "Background";
const ORPHAN: &str = "Orphan";

const RESOURCE_VERSION_MATCH: Path<'static> = Path::root("resourceVersionMatch");
const NOT_WITH_CONTINUE: &str = "resourceVersionMatch is forbidden when continue is provided";

/// Validates the options of a list or watch. For a watch, call [`ListOptions::set_watch_list_defaults`]
/// first, if `watch_lists` is true: the feature gate `WatchList`.
pub fn validate_list_options(options: &ListOptions, watch_lists: bool) -> ErrorList {
    if options.watch {
        return validate_watch_options(options, watch_lists);
    }
    let mut errors = ErrorList::new();
    let matching = options.resource_version_match.as_str();
    if !matching.is_empty() {
        let mut forbid = |detail| errors.push(Error::forbidden(&RESOURCE_VERSION_MATCH, detail));
        if options.resource_version.is_empty() {
            forbid("resourceVersionMatch is forbidden unless resourceVersion is provided");
        }
        if !options.continue_token.is_empty() {
            forbid(NOT_WITH_CONTINUE);
        }
        if !matches!(matching, MATCH_EXACT | MATCH_NOT_OLDER_THAN) {
            let supported = [MATCH_EXACT, MATCH_NOT_OLDER_THAN, ""];
            errors.push(Error::not_supported(&RESOURCE_VERSION_MATCH, matching, &supported));
        }
        if matching == MATCH_EXACT && options.resource_version == "0" {
            let detail = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            errors.push(Error::forbidden(&RESOURCE_VERSION_MATCH, detail));
        }
    }
    if options.send_initial_events.is_some() {
        let detail = "sendInitialEvents is forbidden for list";
        errors.push(Error::forbidden(&Path::root("sendInitialEvents"), detail));
    }
    errors
}

fn validate_watch_options(options: &ListOptions, watch_lists: bool) -> ErrorList {
    let mut errors = ErrorList::new();
    let matching = options.resource_version_match.as_str();
    if options.send_initial_events.is_some() {
        if matching != MATCH_NOT_OLDER_THAN {
            let detail =
                format!("sendInitialEvents requires setting resourceVersionMatch to {MATCH_NOT_OLDER_THAN}");
            errors.push(Error::forbidden(&RESOURCE_VERSION_MATCH, detail));
        }
        if !watch_lists {
            let detail =
                "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
            errors.push(Error::forbidden(&Path::root("sendInitialEvents"), detail));
        }
    }
    if matching.is_empty() {
        return errors;
    }
    if options.send_initial_events.is_none() {
        let detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
        errors.push(Error::forbidden(&RESOURCE_VERSION_MATCH, detail));
    }
    if matching != MATCH_NOT_OLDER_THAN {
        errors.push(Error::not_supported(&RESOURCE_VERSION_MATCH, matching, &[MATCH_NOT_OLDER_THAN]));
    }
    if !options.continue_token.is_empty() {
        errors.push(Error::forbidden(&RESOURCE_VERSION_MATCH, NOT_WITH_CONTINUE));
    }
    errors
}

pub fn validate_create_options(options: &CreateOptions) -> ErrorList {
    validate_write(&options.field_manager, &options.dry_run, &options.field_validation)
}

pub fn validate_update_options(options: &UpdateOptions) -> ErrorList {
    validate_write(&options.field_manager, &options.dry_run, &options.field_validation)
}

/// Validates the options of a patch; `apply` for server-side apply.
pub fn validate_patch_options(options: &PatchOptions, apply: bool) -> ErrorList {
    let mut errors = ErrorList::new();
    if apply && options.field_manager.is_empty() {
        errors.push(Error::required(&Path::root("fieldManager"), "is required for apply patch"));
    }
    if !apply && options.force.is_some() {
        errors.push(Error::forbidden(&Path::root("force"), "may not be specified for non-apply patch"));
    }
    errors.append(validate_write(&options.field_manager, &options.dry_run, &options.field_validation));
    errors
}

pub fn validate_delete_options(options: &DeleteOptions) -> ErrorList {
    let mut errors = ErrorList::new();
    if let Some(policy) = options.propagation_policy.as_deref() {
        let path = Path::root("propagationPolicy");
        if options.orphan_dependents.is_some() {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            errors.push(Error::invalid(&path, policy, detail));
        }
        if !matches!(policy, FOREGROUND | BACKGROUND | ORPHAN) {
            errors.push(Error::not_supported(&path, policy, &[FOREGROUND, BACKGROUND, ORPHAN, "nil"]));
        }
    }
    errors.extend(dry_run_error(&options.dry_run));
    if options.ignore_store_read_error {
        let together = [
            ("propagationPolicy", options.propagation_policy.is_some()),
            ("orphanDependents", options.orphan_dependents.is_some()),
            ("gracePeriodSeconds", options.grace_period_seconds.is_some()),
            ("preconditions", options.preconditions.is_some()),
        ];
        let path = Path::root(IGNORE_STORE_READ_ERROR);
        for (name, _) in together.into_iter().filter(|(_, is_set)| *is_set) {
            errors.push(Error::invalid(&path, true, format!("cannot be set together with .{name}")));
        }
    }
    errors
}

pub fn validate_table_options(options: &TableOptions) -> ErrorList {
    let include = options.include_object.as_str();
    if matches!(include, "" | "Metadata" | "Object" | "None") {
        return ErrorList::new();
    }
    let detail = "must be 'Metadata', 'Object', 'None', or empty";
    [Error::invalid(&Path::root("includeObject"), include, detail)].into()
}

fn validate_write(field_manager: &str, dry_run: &[String], field_validation: &str) -> ErrorList {
    let mut errors = validate_field_manager(field_manager, &Path::root("fieldManager"));
    errors.extend(dry_run_error(dry_run));
    if !matches!(field_validation, "" | "Ignore" | "Warn" | "Strict") {
        let supported = ["", "Ignore", "Strict", "Warn"];
        errors.push(Error::not_supported(&Path::root("fieldValidation"), field_validation, &supported));
    }
    errors
}

fn dry_run_error(dry_run: &[String]) -> Option<Error> {
    let valid = dry_run.iter().all(|value| value == "All");
    (!valid).then(|| Error::not_supported(&Path::root("dryRun"), &Value::from(dry_run), &["All"]))
}

#[cfg(test)]
mod tests;
