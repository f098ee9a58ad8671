//! Tests of option decoding.

use super::*;
use jsontree::json;

fn list(query: &str) -> Result<ListOptions, String> {
    ListOptions::from_query(&Query::parse(query)).map_err(|error| error.to_string())
}

fn delete(query: &str) -> Result<DeleteOptions, String> {
    DeleteOptions::from_query(&Query::parse(query)).map_err(|error| error.to_string())
}

#[test]
fn an_empty_query_has_zero_options() {
    assert_eq!(list(""), Ok(ListOptions::default()));
    assert_eq!(delete(""), Ok(DeleteOptions::default()));
    assert_eq!(PatchOptions::from_query(&Query::parse("")), PatchOptions::default());
}

#[test]
fn list_options_are_read_by_name() {
    let options = list(
        "watch=1&allowWatchBookmarks=true&resourceVersion=5&resourceVersionMatch=Exact&timeoutSeconds=7\
         &limit=-1&continue=tok&sendInitialEvents=false&shardSelector=shard&labelSelector=b,a&fieldSelector=x=1&unknown=2",
    );
    assert_eq!(
        options,
        Ok(ListOptions {
            label_selector: labels::parse("a,b").unwrap_or_default(),
            field_selector: fields::Selector::equals("x", "1"),
            watch: true,
            allow_watch_bookmarks: true,
            resource_version: "5".to_owned(),
            resource_version_match: "Exact".to_owned(),
            timeout_seconds: Some(7),
            limit: -1,
            continue_token: "tok".to_owned(),
            send_initial_events: Some(false),
            shard_selector: "shard".to_owned(),
        })
    );
}

#[test]
fn only_zero_and_false_are_false() {
    let check = |query, expected| assert_eq!(list(query).map(|o| o.watch), Ok(expected), "{query}");
    for query in ["watch=0", "watch=false", "watch=FALSE", ""] {
        check(query, false);
    }
    for query in ["watch=1", "watch", "watch=", "watch=no", "watch=00", "watch=f"] {
        check(query, true);
    }
    check("watch=0&watch=1", false);
}

#[test]
fn bad_parameters_use_gos_error_texts() {
    let check = |query, expected: &str| assert_eq!(list(query), Err(expected.to_owned()), "{query}");
    check("limit=abc", r#"strconv.ParseInt: parsing "abc": invalid syntax"#);
    check("limit=", r#"strconv.ParseInt: parsing "": invalid syntax"#);
    check("timeoutSeconds=2.5", r#"strconv.ParseInt: parsing "2.5": invalid syntax"#);
    check("timeoutSeconds", r#"strconv.ParseInt: parsing "": invalid syntax"#);
    check("labelSelector=((", "found '(', expected: !, identifier, or 'end of string'");
    check("fieldSelector=((", "invalid selector: '(('; can't understand '(('");
    check("fieldSelector=((&labelSelector=((&limit=x", r#"strconv.ParseInt: parsing "x": invalid syntax"#);
    check("fieldSelector=((&labelSelector=((", "found '(', expected: !, identifier, or 'end of string'");
    let grace = delete("gracePeriodSeconds=x");
    assert_eq!(grace, Err(r#"strconv.ParseInt: parsing "x": invalid syntax"#.to_owned()));
}

#[test]
fn watch_from_now_requests_initial_events() {
    let check = |query, expected: (Option<bool>, &str)| {
        let mut options = list(query).unwrap_or_default();
        options.set_watch_list_defaults();
        assert_eq!(
            (options.send_initial_events, options.resource_version_match.as_str()),
            expected,
            "{query}"
        );
    };
    check("watch=1", (Some(true), "NotOlderThan"));
    check("watch=1&resourceVersion=0", (Some(true), "NotOlderThan"));
    check("watch=1&resourceVersion=5", (None, ""));
    check("watch=1&sendInitialEvents=false", (Some(false), ""));
    check("watch=1&resourceVersionMatch=Exact", (None, "Exact"));
    check("resourceVersion=0", (None, ""));
}

#[test]
fn dry_run_keeps_every_value() {
    assert_eq!(CreateOptions::from_query(&Query::parse("dryRun")).dry_run, [""]);
    assert_eq!(UpdateOptions::from_query(&Query::parse("dryRun=All&dryRun=x")).dry_run, ["All", "x"]);
    let patch =
        PatchOptions::from_query(&Query::parse("dryRun=All&force=0&fieldManager=m&fieldValidation=Strict"));
    let update = UpdateOptions::from(patch.clone());
    assert_eq!((patch.force, update.field_manager.as_str(), update.dry_run.len()), (Some(false), "m", 1));
}

#[test]
fn a_delete_query_can_carry_preconditions() {
    let options =
        delete("uid=u&resourceVersion=&propagationPolicy=&orphanDependents=x&gracePeriodSeconds=-1");
    assert_eq!(
        options,
        Ok(DeleteOptions {
            grace_period_seconds: Some(-1),
            preconditions: Some(Preconditions { uid: Some("u".to_owned()), resource_version: None }),
            orphan_dependents: Some(true),
            propagation_policy: Some(String::new()),
            dry_run: Vec::new(),
            ignore_store_read_error: false,
        })
    );
}

#[test]
fn delete_body_is_decoded_completely() {
    let body = json!({
        "kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0, "preconditions": {"resourceVersion": "4"},
        "orphanDependents": false, "propagationPolicy": "Orphan", "dryRun": ["All"],
    });
    let options = body.as_object().map(DeleteOptions::from_object);
    assert_eq!(
        options,
        Some(DeleteOptions {
            grace_period_seconds: Some(0),
            preconditions: Some(Preconditions { uid: None, resource_version: Some("4".to_owned()) }),
            orphan_dependents: Some(false),
            propagation_policy: Some("Orphan".to_owned()),
            dry_run: vec!["All".to_owned()],
            ignore_store_read_error: false,
        })
    );
    assert_eq!(DeleteOptions::from_object(&Object::new()), DeleteOptions::default());
}

#[test]
fn delete_options_round_trip() {
    let body = json!({
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "u", "resourceVersion": "4"},
        "orphanDependents": false,
        "propagationPolicy": "Orphan",
        "dryRun": ["All"],
    });
    let body = body.as_object().cloned().unwrap_or_default();
    assert_eq!(DeleteOptions::from_object(&body).to_object(), body);
    assert_eq!(DeleteOptions::default().to_object(), Object::new());
}
