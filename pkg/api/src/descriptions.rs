//! What types and their members are for, in the words of the Go sources that the published API
//! documents carry and that the `k8s-openapi` crate took from them. What the crate does not have (lists,
//! the parameters of queries, which values there are) is in `build/descriptions.json`, which
//! `tools/api-descriptions.py` makes.
//!
//! `build.rs` has put them into one constant text with tables of positions beside it. They are pages of
//! the executable that are read when somebody asks, and take no memory before that.

/// A piece of [`TEXT`], or a part of [`MEMBERS`]: first and behind the last.
type Span = (u32, u32);

include!(concat!(env!("OUT_DIR"), "/descriptions.rs"));

/// Every name and every description, each once.
static TEXT: &str = include_str!(concat!(env!("OUT_DIR"), "/descriptions.txt"));

/// A type that has what every object has.
const ANY_OBJECT: &str = "io.k8s.api.core.v1.ConfigMap";

/// What a definition (`io.k8s.api.core.v1.Pod`) is for, or, unless `member` is empty, that member of
/// it. Empty if nothing is known.
pub fn description(definition: &str, member: &str) -> &'static str {
    let Ok(found) = TYPES.binary_search_by(|(name, ..)| text(*name).cmp(definition)) else {
        return "";
    };
    let Some(&(_, own, (first, end))) = TYPES.get(found) else { return "" };
    if member.is_empty() {
        return text(own);
    }
    let members = MEMBERS.get(first as usize..end as usize).unwrap_or_default();
    let found = members.binary_search_by(|(name, _)| text(*name).cmp(member));
    found.ok().and_then(|at| members.get(at)).map_or("", |(_, description)| text(*description))
}

/// What `apiVersion`, `kind` or `metadata` of any object is for.
pub fn of_any_object(member: &str) -> &'static str {
    description(ANY_OBJECT, member)
}

fn text((start, end): Span) -> &'static str {
    TEXT.get(start as usize..end as usize).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use schema::builtin;

    use super::*;

    #[test]
    fn types_and_members_are_described() {
        let check = |definition, member, start: &str| {
            let found = description(definition, member);
            assert!(found.starts_with(start) && found.is_empty() == start.is_empty(), "{found}");
        };
        check("io.k8s.api.core.v1.Pod", "", "Pod is a collection of containers");
        check("io.k8s.api.core.v1.Pod", "spec", "Specification of the desired behavior of the pod.");
        check("io.k8s.api.core.v1.Pod", "apiVersion", "APIVersion defines");
        check("io.k8s.api.core.v1.PodList", "kind", "Kind is a string value");
        check("io.k8s.api.core.v1.PodList", "items", "List of pods.");
        check("io.k8s.api.core.v1.PodList", "", "PodList is a list of Pods.");
        check("io.k8s.api.core.v1.PodExecOptions", "tty", "TTY if true");
        check("io.k8s.api.core.v1.Pod", "specification", "");
        check("", "", "");
    }

    #[test]
    fn what_values_there_are_is_said_last() {
        let policy = description("io.k8s.api.core.v1.ServicePort", "protocol");
        assert!(
            policy
                .contains("Default is TCP.\n\nPossible enum values:\n - `\"SCTP\"` is the SCTP protocol.\n")
        );
    }

    /// What the tables of shapes do not have could not be shown.
    #[test]
    fn what_is_described_exists() {
        let (mut described, mut strange) = (0, Vec::new());
        for &(name, _, (first, end)) in TYPES {
            let Some(message) = builtin::message(text(name)) else {
                strange.push(text(name).to_owned());
                continue;
            };
            for &(member, _) in &MEMBERS[first as usize..end as usize] {
                let member = text(member);
                let type_meta = message.type_meta && ["apiVersion", "kind"].contains(&member);
                if type_meta || message.members.iter().any(|own| own.name == member) {
                    described += 1;
                } else {
                    strange.push(format!("{}.{member}", text(name)));
                }
            }
        }
        assert_eq!(strange, Vec::<String>::new());
        assert!(described > 2_500, "only {described}");
    }

    #[test]
    fn every_type_that_is_stored_is_described() {
        let rows = crate::resources::all().filter(|row| row.subresource.is_empty());
        let without: Vec<_> =
            rows.filter(|row| description(row.message.name, "").is_empty()).map(|row| row.kind).collect();
        assert_eq!(without, Vec::<&str>::new());
    }
}
