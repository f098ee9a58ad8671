//! Bootstrap priority levels and flow schemas (upstream's `flowcontrol/ensurer`, KEP-1040).
//!
//! `exempt` and `catch-all` are mandatory: the server enforces their specs. The others are suggestions, which
//! the server updates until a user changes them. An annotation records this. The server adds the annotation
//! if it is missing.

use api::resources::Resource;
use api::{semantic, tree};
use apimachinery::status::Reason;
use component_base::features::Gates;
use jsontree::json;
use registry::client::{Client, ReadFreshness};
use registry::{Registry, meta};
use schema::object::{self, Object};

use super::objects;
use crate::dangling::DanglingReporter;
use crate::error::Error;

const GROUP: &str = "flowcontrol.apiserver.k8s.io";
const GROUP_VERSION: &str = "flowcontrol.apiserver.k8s.io/v1";
/// The annotation that enables updates of the spec by the server.
const AUTO_UPDATE: &str = "apf.kubernetes.io/autoupdate-spec";
/// The unlimited level. Operators may set the number of seats that it lends.
const EXEMPT: &str = "exempt";
const MANDATORY: [&str; 2] = [EXEMPT, "catch-all"];
/// Field manager of these objects.
const FIELD_MANAGER: &str = "api-priority-and-fairness-config-producer-v1";

/// Reconciles both kinds.
pub struct FlowControl {
    levels: (Client, Vec<Object>),
    schemas: (Client, Vec<Object>),
    dangling: DanglingReporter,
}

impl FlowControl {
    /// Loads the bootstrap objects.
    ///
    /// # Errors
    /// The built-in data is invalid.
    pub fn new(registry: &Registry) -> Result<Self, Error> {
        let of = |plural: &str, kind: &str| {
            let client = Client::find(registry, GROUP, plural)?.with_field_manager(FIELD_MANAGER);
            Ok::<_, Error>((client, objects::of_kind(GROUP_VERSION, kind, &Gates::default())?))
        };
        Ok(FlowControl {
            levels: of("prioritylevelconfigurations", "PriorityLevelConfiguration")?,
            schemas: of("flowschemas", "FlowSchema")?,
            dangling: DanglingReporter::new(registry)?,
        })
    }

    /// Creates missing objects and updates those with automatic updates.
    ///
    /// # Errors
    /// The first failure. A conflict is not an error; the next round resolves it.
    pub async fn ensure(&self) -> Result<(), Error> {
        // Levels first, because schemas refer to them.
        for (client, objects) in [&self.levels, &self.schemas] {
            for expected in objects {
                let name = meta::text(expected, "name");
                let reconciled =
                    client.reconcile("", name, &|current| revised(client.row(), current, expected)).await;
                let reconciled = ignore_conflict(reconciled)?.and_then(|reconciled| reconciled.object);
                if let Some(schema) = reconciled.filter(|object| tree::text(object, "kind") == "FlowSchema") {
                    ignore_conflict(self.dangling.report(&schema).await)?;
                }
            }
        }
        Ok(())
    }

    /// Like [`ensure`](Self::ensure). Also removes obsolete objects of earlier releases and updates the
    /// status of the users' schemas. The watch cache must be filled.
    ///
    /// # Errors
    /// Like [`ensure`](Self::ensure).
    pub async fn maintain(&self) -> Result<(), Error> {
        self.ensure().await?;
        for (client, objects) in [&self.schemas, &self.levels] {
            let present = client.list("", ReadFreshness::Cached).await?;
            for unwanted in present.iter().filter(|object| is_obsolete(object, objects)) {
                ignore_conflict(client.delete_exact(unwanted).await)?;
            }
        }
        let (schemas, _) = &self.schemas;
        for schema in schemas.list("", ReadFreshness::Cached).await? {
            ignore_conflict(self.dangling.report(&schema).await)?;
        }
        Ok(())
    }
}

/// Returns the result of a step; `None` after a conflict, which the next round resolves.
fn ignore_conflict<T>(outcome: registry::Result<T>) -> Result<Option<T>, Error> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(status) if matches!(status.reason, Reason::Conflict | Reason::NotFound) => Ok(None),
        Err(status) => Err(status.into()),
    }
}

fn is_mandatory(object: &Object) -> bool {
    MANDATORY.contains(&meta::text(object, "name"))
}

/// Returns the annotation's value if it is a boolean in Go's syntax.
fn annotated(object: &Object) -> Option<bool> {
    match object::get_str(object, &["metadata", "annotations", AUTO_UPDATE])? {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

/// Returns the desired object; `None` if it is up to date.
fn revised(row: &Resource, current: Option<&Object>, bootstrap: &Object) -> Option<Object> {
    let Some(current) = current else { return Some(bootstrap.clone()) };
    let annotated = annotated(current);
    // Without the annotation, an unchanged spec belongs to the server.
    let auto = is_mandatory(bootstrap) || annotated.unwrap_or_else(|| meta::generation(current) == 1);
    let spec = expected_spec(row, current, bootstrap).filter(|_| auto);
    if annotated == Some(auto) && spec.is_none() {
        return None;
    }
    let mut revised = current.clone();
    if let Some(spec) = spec {
        revised.insert("spec", spec.into());
    }
    if annotated != Some(auto) {
        object::set(&mut revised, &["metadata", "annotations", AUTO_UPDATE], json!(auto.to_string()));
    }
    Some(revised)
}

/// Returns the desired spec; `None` if it is equivalent.
fn expected_spec(row: &Resource, current: &Object, bootstrap: &Object) -> Option<Object> {
    let mut expected = bootstrap.clone();
    // These defaults do not depend on feature gates.
    kinds::defaults::apply(row.group_version, row.kind, &mut expected, &Gates::default());
    if meta::text(bootstrap, "name") == EXEMPT
        && let (Some(exempt), Some(current_exempt)) = (
            expected.get_mut("spec").and_then(|spec| spec.get_mut("exempt")?.as_object_mut()),
            object::get_object(current, &["spec", "exempt"]),
        )
    {
        for operators in ["nominalConcurrencyShares", "lendablePercent"] {
            match current_exempt.get(operators) {
                Some(value) => exempt.insert(operators.to_owned(), value.clone()),
                None => exempt.remove(operators),
            };
        }
    }
    let spec = row.message.member("spec")?;
    let unchanged = semantic::equal_members(spec, expected.get("spec"), current.get("spec"));
    // The original spec is written, without defaults, as in upstream.
    if unchanged { None } else { tree::child(bootstrap, "spec").cloned() }
}

/// True if the server created the object in an earlier release and no longer needs it.
fn is_obsolete(object: &Object, bootstrap: &[Object]) -> bool {
    let name = meta::text(object, "name");
    annotated(object) == Some(true)
        && !bootstrap.iter().any(|bootstrap| meta::text(bootstrap, "name") == name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use jsontree::Value;

    fn level(name: &str) -> Object {
        let levels =
            objects::of_kind(GROUP_VERSION, "PriorityLevelConfiguration", &Gates::default()).unwrap();
        levels.into_iter().find(|level| meta::text(level, "name") == name).unwrap()
    }

    /// Builds a stored level with an annotation, a generation and a changed spec field.
    fn stored(
        name: &str,
        annotation: Option<&str>,
        generation: i64,
        change: Option<(&[&str], i64)>,
    ) -> Object {
        let mut stored = level(name);
        kinds::defaults::apply(GROUP_VERSION, "PriorityLevelConfiguration", &mut stored, &Gates::default());
        meta::set_generation(&mut stored, generation);
        meta::set(&mut stored, "annotations", annotation.map(|text| json!({AUTO_UPDATE: text})));
        if let Some((path, value)) = change {
            object::set(&mut stored, path, value);
        }
        stored
    }

    /// Checks the revised object: its annotation, and true if its spec is the server's.
    fn check(stored: &Object, name: &str, expected: Option<(&str, bool)>) {
        let row = api::resources::find(GROUP, "v1", "prioritylevelconfigurations", "").unwrap();
        let bootstrap = level(name);
        let revised = revised(row, Some(stored), &bootstrap);
        let actual = revised.as_ref().map(|revised| {
            let annotation = object::get_str(revised, &["metadata", "annotations", AUTO_UPDATE]).unwrap();
            (annotation, revised.get("spec") == bootstrap.get("spec"))
        });
        assert_eq!(actual, expected, "{}", Value::from(stored.clone()));
    }

    #[test]
    fn suggested_object_is_updated_until_user_changes_it() {
        let shares: Option<(&[&str], i64)> = Some((&["spec", "limited", "nominalConcurrencyShares"], 7));
        let name = "workload-low";
        let check = |annotation, generation, change, expected| {
            check(&stored(name, annotation, generation, change), name, expected);
        };
        check(Some("true"), 1, None, None);
        check(Some("true"), 5, shares, Some(("true", true)));
        check(Some("false"), 5, shares, None);
        check(Some("false"), 1, None, None);
        check(None, 1, None, Some(("true", true)));
        check(None, 1, shares, Some(("true", true)));
        check(None, 2, shares, Some(("false", false)));
        check(Some("perhaps"), 2, shares, Some(("false", false)));
    }

    #[test]
    fn mandatory_spec_is_enforced_except_lending() {
        let shares: Option<(&[&str], i64)> = Some((&["spec", "limited", "nominalConcurrencyShares"], 7));
        check(&stored("catch-all", Some("true"), 1, None), "catch-all", None);
        check(&stored("catch-all", Some("false"), 9, shares), "catch-all", Some(("true", true)));
        let lent: Option<(&[&str], i64)> = Some((&["spec", "exempt", "lendablePercent"], 50));
        check(&stored("exempt", Some("true"), 9, lent), "exempt", None);
    }

    #[test]
    fn obsolete_auto_updated_objects_are_removed() {
        let bootstrap = [level("exempt")];
        let mut other = stored("catch-all", Some("true"), 1, None);
        assert!(is_obsolete(&other, &bootstrap));
        assert!(!is_obsolete(&stored("exempt", Some("true"), 1, None), &bootstrap));
        for annotation in [None, Some("false"), Some("x")] {
            meta::set(&mut other, "annotations", annotation.map(|text| json!({AUTO_UPDATE: text})));
            assert!(!is_obsolete(&other, &bootstrap), "{annotation:?}");
        }
    }
}
