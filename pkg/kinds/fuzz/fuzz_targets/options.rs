//! Fuzzes request options: the input is a query, a NUL, and the JSON body of a deletion. The options of every
//! verb are parsed and validated without a panic. Deletion options survive a round trip.
#![no_main]

use api::options::{CreateOptions, DeleteOptions, ListOptions, PatchOptions, TableOptions, UpdateOptions};
use kinds::validation::{
    validate_create_options, validate_delete_options, validate_list_options, validate_patch_options,
    validate_table_options, validate_update_options,
};
use apimachinery::query::Query;
use jsontree::Value;
use libfuzzer_sys::fuzz_target;
use schema::json;

fuzz_target!(|data: &[u8]| {
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let query = parts.next().unwrap_or_default();
    let body = parts.next().unwrap_or_default();
    let Ok(query) = std::str::from_utf8(query) else { return };
    let query = Query::parse(query);
    if let Ok(mut options) = ListOptions::from_query(&query) {
        options.set_watch_list_defaults();
        let _ = validate_list_options(&options, true);
    }
    let _ = validate_create_options(&CreateOptions::from_query(&query));
    let _ = validate_update_options(&UpdateOptions::from_query(&query));
    let _ = validate_patch_options(&PatchOptions::from_query(&query), true);
    let _ = validate_patch_options(&PatchOptions::from_query(&query), false);
    let _ = validate_table_options(&TableOptions::from_query(&query));
    let mut deletions: Vec<_> = DeleteOptions::from_query(&query).into_iter().collect();
    if let Ok(Value::Object(body)) = json::decode_untyped(body).map(|untyped| untyped.value) {
        deletions.push(DeleteOptions::from_object(&body));
    }
    for options in deletions {
        let _ = validate_delete_options(&options);
        assert_eq!(DeleteOptions::from_object(&options.to_object()), options);
    }
});
