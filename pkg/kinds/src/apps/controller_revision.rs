//! ControllerRevisions.

mod columns;

use crate::kind::{Columns, Kind, NO_DEFAULTS, RareProperties, Validation, WarningRules};
use crate::strategy::hooks::Common;
use crate::validation::NameRule;
use crate::validation::immutable::IMMUTABLE;
use crate::validation::rules::{Rules, metadata, metadata_update};
use crate::validation::value::nonnegative;
use api::tree::{integer, maybe_text, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use jsontree::Value;
use schema::object::Object;
use schema::{json, json_write};

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: NO_DEFAULTS,
    validation: Validation::Objects(RULES),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(columns::COLUMNS),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};

pub(crate) const RULES: Rules = Rules { create, update };

fn create(new: &Object) -> ErrorList {
    let mut errors = metadata_and_revision(new);
    let path = Path::root("data");
    let decoded = maybe_text(new, "data").map(|data| json::decode_untyped(data.as_bytes()));
    match decoded.map(|decoded| decoded.map(|decoded| decoded.value)) {
        Some(Ok(Value::Object(_))) => {}
        None | Some(Ok(Value::Null)) => errors.push(Error::required(&path, "data is mandatory")),
        Some(Ok(_)) => errors.push(Error::required(&path, "data must be a valid JSON object")),
        Some(Err(error)) => {
            let detail = format!("error parsing data: {error}");
            errors.push(Error::invalid(&path, "<value omitted>", detail));
        }
    }
    errors
}

fn update(_: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = metadata_update(new, old);
    errors.append(metadata_and_revision(new));
    if text(new, "data") != text(old, "data") {
        let mut shown = Vec::new();
        if json_write::compact(text(new, "data").as_bytes(), &mut shown).is_err() {
            shown = b"null".to_vec();
        }
        let shown = BadValue::Plain(String::from_utf8(shown).unwrap_or_default());
        errors.push(Error::invalid(&Path::root("data"), shown, IMMUTABLE));
    }
    errors
}

fn metadata_and_revision(new: &Object) -> ErrorList {
    let mut errors = metadata(new, true, NameRule::DnsSubdomain);
    nonnegative(&Path::root("revision"), integer(new, "revision"), &mut errors);
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::json;

    fn revision(number: i64, data: &str) -> Object {
        let meta = json!({"name": "n", "namespace": "ns", "resourceVersion": "1"});
        let members = [("metadata", meta), ("revision", number.into()), ("data", data.into())];
        members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn texts_of(errors: &ErrorList) -> Vec<String> {
        errors.iter().map(Error::to_string).collect()
    }

    #[test]
    fn data_are_an_object() {
        let check = |data: &str, expected: &[&str]| {
            assert_eq!(texts_of(&create(&revision(1, data))), expected, "{data}");
        };
        check("{\"a\":1}", &[]);
        check("null", &["data: Required value: data is mandatory"]);
        check("[]", &["data: Required value: data must be a valid JSON object"]);
        let mut without = revision(-1, "");
        without.remove("data");
        let negative = "revision: Invalid value: -1: must be greater than or equal to 0";
        assert_eq!(texts_of(&create(&without)), [negative, "data: Required value: data is mandatory"]);
    }

    #[test]
    fn data_is_immutable_but_revision_may_change() {
        let old = revision(1, "{}");
        assert_eq!(texts_of(&update("", &revision(2, "{}"), &old)), [""; 0]);
        let changed = ["data: Invalid value: {\"a\":1}: field is immutable"];
        assert_eq!(texts_of(&update("", &revision(1, "{\"a\": 1}"), &old)), changed);
    }
}
