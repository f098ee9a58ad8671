//! Compares rows read from bytes with rows of the decoded tree, for every kind with columns. The inputs are
//! objects that Kubernetes wrote (`pkg/schema/testdata`), which fill every field, and variants of them.

use super::*;
use apimachinery::time::parse_time;
use schema::proto::{self, Envelope, is_canonical};
use schema::table::Message;

type PrintedRow = (Value, Option<RowCondition>);

fn row(printer: Printer, subject: &Subject<'_>) -> Result<PrintedRow, NotInPlace> {
    let row = printer.row(subject, NOW)?;
    Ok((json_of(&row.cells), row.condition))
}

/// Returns true if the bytes are an object that prints in place. The output must then equal that of its tree.
fn check_raw(name: &str, printer: Printer, message: &'static Message, raw: &[u8]) -> bool {
    let Ok(tree) = proto::decode(message, raw) else { return false };
    let of_tree = row(printer, &Subject::tree(&tree)).unwrap();
    match row(printer, &Subject::message(message, raw)) {
        Ok(in_place) => {
            assert_eq!(in_place, of_tree, "{name}: {tree:?}");
            true
        }
        Err(NotInPlace) => false,
    }
}

struct Case {
    name: String,
    printer: Printer,
    message: &'static Message,
    raw: Vec<u8>,
}

/// Returns every object of a kind with columns, once for each resource of the kind.
fn cases() -> Vec<Case> {
    let rows: Vec<_> = resources::all().filter(|resource| resource.serves("list")).collect();
    let mut cases = Vec::new();
    for archive in ["fixtures", "generated"] {
        for (name, bytes) in crate::testdata::files(archive) {
            if !name.ends_with(".pb") || name.contains("after_roundtrip") {
                continue;
            }
            let envelope = Envelope::parse(&bytes).unwrap();
            let of_kind = |r: &&&resources::Resource| {
                r.kind == envelope.kind && r.kind_group_version == envelope.api_version
            };
            for resource in rows.iter().filter(of_kind) {
                cases.push(Case {
                    name: name.clone(),
                    printer: Printer::of(resource),
                    message: resource.message,
                    raw: envelope.raw.to_vec(),
                });
            }
        }
    }
    cases
}

/// A small deterministic generator, so that failures can be reproduced.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n.max(1)
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}

/// Texts that printers compare with.
const WORDS: [&str; 34] = [
    "",
    "True",
    "False",
    "Always",
    "Ready",
    "Running",
    "Pending",
    "Failed",
    "Succeeded",
    "Complete",
    "Completed",
    "Initialized",
    "PodInitializing",
    "PodScheduled",
    "SchedulingGated",
    "NodeLost",
    "Available",
    "Dangling",
    "ClusterIP",
    "NodePort",
    "LoadBalancer",
    "ExternalName",
    "InternalIP",
    "ExternalIP",
    "User",
    "Group",
    "ServiceAccount",
    "Resource",
    "Pods",
    "Object",
    "External",
    "ContainerResource",
    "ReadWriteOnce",
    "fd00::1",
];

/// Changes one inner value, preferably near the surface.
fn vary(value: &mut Value, random: &mut Random) {
    let stop = random.below(4) == 0;
    match value {
        Value::Object(members) if !members.is_empty() => {
            let name = members.keys().nth(random.below(members.len())).unwrap().clone();
            if stop && random.below(3) == 0 {
                drop(members.remove(&name))
            } else {
                vary(&mut members[&name], random)
            }
        }
        Value::Array(items) if !items.is_empty() => {
            let at = random.below(items.len());
            match random.below(6) {
                0 => items.clear(),
                1 => items.push(items[at].clone()),
                _ => vary(&mut items[at], random),
            }
        }
        Value::String(text) if parse_time(text).is_ok() => {
            let times = ["", "0001-01-01T00:00:00Z", "2024-01-02T03:04:05Z", "2023-01-02T03:04:05.000006Z"];
            *value = match random.of(&times) {
                "" => Value::Null,
                time => time.into(),
            };
        }
        Value::String(_) => *value = random.of(&WORDS).into(),
        Value::Number(_) => *value = [0, 1, 3, -1, 1 << 30][random.below(5)].into(),
        Value::Bool(flag) => *flag = !*flag,
        _ => {}
    }
}

#[test]
fn rows_in_place_match_the_tree() {
    let mut kinds = std::collections::BTreeSet::new();
    for case in cases() {
        assert!(check_raw(&case.name, case.printer, case.message, &case.raw), "{}", case.name);
        kinds.insert(case.message.name);
    }
    assert!(kinds.len() > 70, "{}", kinds.len());
}

#[test]
fn rows_in_place_match_varied_trees() {
    let mut random = Random(5);
    let mut equal_count = 0;
    let mut count = 0;
    for case in cases() {
        let mut tree = Value::Object(proto::decode(case.message, &case.raw).unwrap());
        for _ in 0..40 {
            vary(&mut tree, &mut random);
            let mut raw = Vec::new();
            // A word in place of a quantity does not encode; the tree is then restored.
            if proto::encode(case.message, tree.as_object().unwrap(), &mut raw).is_err() {
                tree = Value::Object(proto::decode(case.message, &case.raw).unwrap());
                continue;
            }
            count += 1;
            equal_count += usize::from(check_raw(&case.name, case.printer, case.message, &raw));
        }
    }
    // Everything that an encoder writes can be read in place.
    assert!(count > 20_000 && equal_count == count, "{equal_count} of {count}");
}

#[test]
fn canonical_bytes_print_like_their_tree() {
    let mut random = Random(11);
    let mut equal_count = 0;
    let mut canonical = 0;
    let mut other = 0;
    for case in cases() {
        for _ in 0..40 {
            let mut raw = case.raw.clone();
            let at = random.below(raw.len());
            match random.below(3) {
                0 => raw[at] = random.below(256) as u8,
                1 => raw[at] ^= 1 << random.below(8),
                _ => raw.truncate(at),
            }
            if is_canonical(case.message, &raw) {
                canonical += 1;
                equal_count += usize::from(check_raw(&case.name, case.printer, case.message, &raw));
            } else {
                // Only checks that it terminates.
                let _ = row(case.printer, &Subject::message(case.message, &raw));
                other += 1;
            }
        }
    }
    // The others have text in a column that is not UTF-8.
    assert!(
        canonical > 2000 && other > 2000 && equal_count > canonical * 9 / 10,
        "{equal_count} {canonical} {other}"
    );
}

#[test]
fn irregular_bytes_are_an_error() {
    let message = schema::builtin::kind("v1", "ServiceAccount").unwrap();
    let check = |raw: &[u8]| {
        let printer = printer("v1", "serviceaccounts");
        assert_eq!(row(printer, &Subject::message(message, raw)), Err(NotInPlace), "{raw:?}");
    };
    // A name that is not UTF-8, a truncated one, one that is a number, and a creation time in year 10000.
    check(b"\x0a\x03\x0a\x01\xff");
    check(b"\x0a\x03\x0a\x02a");
    check(b"\x0a\x02\x08\x01");
    check(b"\x0a\x0a\x42\x08\x08\x80\xdd\xdb\xff\xaf\x07\x00");
}
