//! CronJobs.

mod columns;
mod defaults;
mod warnings;

use super::job::{self, validate_job_template};
use crate::core::pod::PodOptions;
use crate::kind::{Columns, Kind, OnUpdate, RareProperties, Validation, Version, WarningRules};
use crate::strategy::gated::fields::gated_path;
use crate::strategy::gated::shared::{OLD_ANNOTATIONS, POD_SPEC};
use crate::strategy::hooks::Common;
use crate::validation::NameRule;
use crate::validation::cron::parse_schedule;
use crate::validation::kinds::workload::none_negative;
use crate::validation::rules::{ContextRules, ValidationContext, metadata, metadata_update};
use crate::validation::time_zone::unknown_zone;
use crate::validation::value::required_one_of;
use crate::warnings::common::generation_changed;
use api::tree::{child, maybe_text, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use schema::object::Object;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[
        Version::with_defaults("batch/v1", defaults::cron_job),
        Version::with_defaults("batch/v1beta1", defaults::cron_job),
    ],
    validation: Validation::Settings(RULES),
    warnings: WarningRules {
        create: warnings::create,
        update: OnUpdate::Custom(|new, old, out| warnings::update(new, generation_changed(new, old), out)),
        ..WarningRules::NONE
    },
    columns: Columns::Custom(columns::COLUMNS),
    gated: &[
        gated_path(&["spec", "jobTemplate", "spec", "template"], OLD_ANNOTATIONS),
        gated_path(&["spec", "jobTemplate", "spec", "template", "spec"], POD_SPEC),
        gated_path(&["spec", "jobTemplate", "spec"], job::SPEC),
    ],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};

pub(crate) const RULES: ContextRules = ContextRules { create, update };

/// Length limit of the name in bytes. The controller adds eleven bytes for the name of a job, which is a DNS
/// label.
const NAME_BYTES_MAX: usize = 52;
/// Length limit of a part of a time zone's name, in bytes.
const ZONE_PART_BYTES_MAX: usize = 14;

fn create(new: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = metadata(new, true, NameRule::DnsSubdomain);
    spec(new, None, context, &mut errors);
    let name = child(new, "metadata").map_or("", |meta| text(meta, "name"));
    if name.len() > NAME_BYTES_MAX {
        let detail = format!("must be no more than {NAME_BYTES_MAX} characters");
        errors.push(Error::invalid(&Path::root("metadata.name"), name, detail));
    }
    errors
}

fn update(subresource: &str, new: &Object, old: &Object, context: &ValidationContext) -> ErrorList {
    if subresource == "status" {
        return ErrorList::new();
    }
    let mut errors = metadata_update(new, old);
    spec(new, child(old, "spec"), context, &mut errors);
    errors
}

fn spec(new: &Object, old: Option<&Object>, context: &ValidationContext, errors: &mut ErrorList) {
    let empty = Object::new();
    let spec = child(new, "spec").unwrap_or(&empty);
    let path = Path::root("spec");
    let zone = maybe_text(spec, "timeZone");
    schedule(&path.child("schedule"), text(spec, "schedule"), zone, old, errors);
    none_negative(&path, spec, &["startingDeadlineSeconds"], errors);
    if let Some(zone) = zone.filter(|_| old.is_none_or(|old| maybe_text(old, "timeZone") != zone)) {
        errors.append(time_zone(&path.child("timeZone"), zone));
    }
    let policies = ["Allow", "Forbid", "Replace"];
    required_one_of(&path.child("concurrencyPolicy"), text(spec, "concurrencyPolicy"), &policies, errors);
    let old = old.and_then(|old| child(old, "jobTemplate")).and_then(|job| child(job, "spec"));
    let options = PodOptions::new(false, old.and_then(|spec| child(spec, "template")), context);
    let job = child(spec, "jobTemplate").unwrap_or(&empty);
    validate_job_template(&path.child("jobTemplate"), job, &options, errors);
    none_negative(&path, spec, &["successfulJobsHistoryLimit", "failedJobsHistoryLimit"], errors);
}

fn schedule(
    path: &Path<'_>,
    schedule: &str,
    zone: Option<&str>,
    old: Option<&Object>,
    errors: &mut ErrorList,
) {
    if schedule.is_empty() {
        errors.push(Error::required(path, ""));
        return;
    }
    if let Err(problem) = parse_schedule(schedule) {
        errors.push(Error::invalid(path, schedule, problem.to_string()));
    }
    // Old objects may have a time zone here.
    let tolerated = old.is_some_and(|old| text(old, "schedule").contains("TZ"));
    let detail = match schedule.contains("TZ") {
        true if !tolerated => "cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
        true if zone.is_some() => "cannot use both timeZone field and TZ or CRON_TZ in schedule",
        _ => return,
    };
    errors.push(Error::invalid(path, schedule, detail));
}

/// Returns the errors of a time zone's name, at most two.
fn time_zone(path: &Path<'_>, zone: &str) -> ErrorList {
    let invalid = |detail: String| Error::invalid(path, BadValue::json_text(zone), detail);
    if zone.is_empty() {
        return ErrorList::from([invalid("timeZone must be nil or non-empty string".to_owned())]);
    }
    if !zone.split('/').all(is_zone_part) {
        return ErrorList::from([invalid(format!("unknown time zone {zone}"))]);
    }
    let local = zone.eq_ignore_ascii_case("Local").then(|| {
        "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones".to_owned()
    });
    local.into_iter().chain(unknown_zone(zone)).map(invalid).collect()
}

/// See <https://data.iana.org/time-zones/theory.html#naming>; digits and `+` for legacy names.
fn is_zone_part(part: &str) -> bool {
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || b".-_+".contains(&byte);
    (1..=ZONE_PART_BYTES_MAX).contains(&part.len())
        && part.bytes().all(valid)
        && !part.starts_with('-')
        && !matches!(part, "." | "..")
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn cron_job(spec: Value) -> Object {
        let pod = json!({
            "restartPolicy": "Never", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30,
            "containers": [{"name": "c", "image": "i", "imagePullPolicy": "Always",
                "terminationMessagePolicy": "File"}],
        });
        let mut all = json!({
            "schedule": "* * * * *", "concurrencyPolicy": "Allow",
            "jobTemplate": {"spec": {"template": {"spec": pod}}},
        });
        if let (Some(all), Value::Object(spec)) = (all.as_object_mut(), spec) {
            all.extend(spec);
        }
        let meta = json!({"name": "a", "namespace": "ns", "resourceVersion": "1"});
        Object::from_iter([("metadata".to_owned(), meta), ("spec".to_owned(), all)])
    }

    fn texts_of(errors: &ErrorList) -> Vec<String> {
        errors.iter().map(Error::to_string).collect()
    }

    fn check(spec: Value, expected: &[&str]) {
        assert_eq!(
            texts_of(&create(&cron_job(spec.clone()), &ValidationContext::default())),
            expected,
            "{spec}"
        );
    }

    #[test]
    fn schedules_have_no_time_zone_but_old_ones() {
        let zoned = || cron_job(json!({"schedule": "TZ=UTC * * * * *"}));
        let detail = "Invalid value: \"TZ=UTC * * * * *\": cannot use TZ or CRON_TZ in schedule, use timeZone \
            field instead";
        check(json!({}), &[]);
        check(json!({"schedule": ""}), &["spec.schedule: Required value"]);
        check(json!({"schedule": "TZ=UTC * * * * *"}), &[&format!("spec.schedule: {detail}")]);
        assert_eq!(texts_of(&update("", &zoned(), &zoned(), &ValidationContext::default())), [""; 0]);
        let two_zones = cron_job(json!({"schedule": "TZ=UTC * * * * *", "timeZone": "UTC"}));
        let detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
        let expected = format!("spec.schedule: Invalid value: \"TZ=UTC * * * * *\": {detail}");
        assert_eq!(texts_of(&update("", &two_zones, &zoned(), &ValidationContext::default())), [expected]);
    }

    #[test]
    fn time_zones_are_explicit_and_known() {
        let check = |zone: &str, details: &[&str]| {
            let expected: Vec<String> =
                details.iter().map(|d| format!("p: Invalid value: \"{zone}\": {d}")).collect();
            assert_eq!(texts_of(&time_zone(&Path::root("p"), zone)), expected);
        };
        let explicit = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        check("Europe/Berlin", &[]);
        check("", &["timeZone must be nil or non-empty string"]);
        check("Mars/City", &["unknown time zone Mars/City"]);
        check("../UTC", &["unknown time zone ../UTC"]);
        check("Local", &[explicit]);
        check("local", &[explicit, "unknown time zone local"]);
    }

    #[test]
    fn unchanged_zone_is_not_validated() {
        let old = || cron_job(json!({"timeZone": "Mars/City"}));
        assert_eq!(texts_of(&update("", &old(), &old(), &ValidationContext::default())), [""; 0]);
        assert_eq!(create(&old(), &ValidationContext::default()).len(), 1);
    }

    #[test]
    fn names_leave_room_for_job_suffix() {
        let mut long = cron_job(json!({}));
        let name = "x".repeat(53);
        long.insert("metadata", json!({"name": name, "namespace": "ns"}));
        let expected =
            format!("metadata.name: Invalid value: \"{name}\": must be no more than 52 characters");
        assert_eq!(texts_of(&create(&long, &ValidationContext::default())), [expected]);
    }

    #[test]
    fn jobs_get_their_selectors_from_the_server() {
        let mut object = cron_job(json!({}));
        if let Some(spec) = object.get_mut("spec").and_then(|spec| spec.pointer_mut("/jobTemplate/spec")) {
            spec["selector"] = json!({"matchLabels": {"a": "b"}});
            spec["manualSelector"] = true.into();
        }
        let expected = [
            "spec.jobTemplate.spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"b\"}}: `selector` will be \
             auto-generated",
            "spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: \"nil\", \"false\"",
        ];
        assert_eq!(texts_of(&create(&object, &ValidationContext::default())), expected);
    }
}
