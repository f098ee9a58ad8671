//! Tests of option validation.

use super::*;

fn check(errors: ErrorList, expected: &[&str]) {
    let errors: Vec<String> = errors.iter().map(Error::to_string).collect();
    assert_eq!(errors, expected);
}

/// Returns list options with resource version, match and continue token.
fn list(version: &str, matching: &str, token: &str) -> ListOptions {
    ListOptions {
        resource_version: version.to_owned(),
        resource_version_match: matching.to_owned(),
        continue_token: token.to_owned(),
        ..ListOptions::default()
    }
}

#[test]
fn a_match_needs_a_resource_version() {
    check(validate_list_options(&list("5", "Exact", ""), true), &[]);
    check(validate_list_options(&list("0", "NotOlderThan", ""), true), &[]);
    check(validate_list_options(&list("", "", "tok"), true), &[]);
    check(
        validate_list_options(&list("", "Bogus", "tok"), true),
        &[
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided",
            r#"resourceVersionMatch: Unsupported value: "Bogus": supported values: "Exact", "NotOlderThan", """#,
        ],
    );
    check(
        validate_list_options(&list("0", "Exact", ""), true),
        &[
            r#"resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0""#,
        ],
    );
    let with_events = ListOptions { send_initial_events: Some(false), ..ListOptions::default() };
    check(
        validate_list_options(&with_events, true),
        &["sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"],
    );
}

#[test]
fn initial_events_and_match_need_each_other() {
    let watch = |send_initial_events, version, matching, token| {
        let options = ListOptions { watch: true, send_initial_events, ..list(version, matching, token) };
        validate_list_options(&options, true)
    };
    check(watch(None, "5", "", "x"), &[]);
    check(watch(Some(true), "", "NotOlderThan", ""), &[]);
    check(
        watch(Some(true), "", "Exact", ""),
        &[
            "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            r#"resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan""#,
        ],
    );
    check(
        watch(None, "5", "NotOlderThan", ""),
        &[
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ],
    );
    check(
        watch(Some(true), "", "NotOlderThan", "x"),
        &["resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided"],
    );
}

#[test]
fn initial_events_need_gate() {
    let options =
        ListOptions { watch: true, send_initial_events: Some(true), ..list("1", "NotOlderThan", "") };
    check(
        validate_list_options(&options, false),
        &[
            "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
        ],
    );
}

#[test]
fn write_option_errors_list_supported_values() {
    let create = CreateOptions {
        dry_run: vec!["Some".to_owned()],
        field_manager: "a\u{7}".to_owned(),
        field_validation: "Bogus".to_owned(),
    };
    check(
        validate_create_options(&create),
        &[
            r#"fieldManager: Invalid value: "a\a": invalid character U+0007 (at position 1)"#,
            r#"dryRun: Unsupported value: ["Some"]: supported values: "All""#,
            r#"fieldValidation: Unsupported value: "Bogus": supported values: "", "Ignore", "Strict", "Warn""#,
        ],
    );
    let update =
        UpdateOptions { field_manager: "x".repeat(129), dry_run: vec![String::new()], ..Default::default() };
    check(
        validate_update_options(&update),
        &[
            "fieldManager: Too long: may not be more than 128 bytes",
            r#"dryRun: Unsupported value: [""]: supported values: "All""#,
        ],
    );
}

#[test]
fn apply_needs_manager_and_only_apply_forces() {
    let patch = PatchOptions { force: Some(true), ..PatchOptions::default() };
    check(
        validate_patch_options(&patch, true),
        &["fieldManager: Required value: is required for apply patch"],
    );
    check(
        validate_patch_options(&patch, false),
        &["force: Forbidden: may not be specified for non-apply patch"],
    );
}

#[test]
fn a_deletion_has_one_policy() {
    let delete = DeleteOptions {
        propagation_policy: Some("Sideways".to_owned()),
        orphan_dependents: Some(true),
        dry_run: vec!["dryRunValue".to_owned()],
        ..DeleteOptions::default()
    };
    check(
        validate_delete_options(&delete),
        &[
            r#"propagationPolicy: Invalid value: "Sideways": orphanDependents and deletionPropagation cannot be both set"#,
            r#"propagationPolicy: Unsupported value: "Sideways": supported values: "Foreground", "Background", "Orphan", "nil""#,
            r#"dryRun: Unsupported value: ["dryRunValue"]: supported values: "All""#,
        ],
    );
    check(validate_delete_options(&DeleteOptions::default()), &[]);
}

#[test]
fn table_option_has_known_values() {
    let table = |include: &str| TableOptions { include_object: include.to_owned() };
    check(validate_table_options(&table("Object")), &[]);
    check(
        validate_table_options(&table("object")),
        &[r#"includeObject: Invalid value: "object": must be 'Metadata', 'Object', 'None', or empty"#],
    );
}
