//! Warnings about AppArmor profiles in annotations, which became fields in v1.30 (KEP-24).

use super::collector::Warnings;
use super::common::each;
use api::tree::{child, text};
use apimachinery::field::Path;
use schema::object::{Object, get_object, get_str};

/// Annotation prefix; the container's name follows.
const PREFIX: &str = "container.apparmor.security.beta.kubernetes.io/";
/// Length limit of a profile's path, the kernel's limit for paths.
const PROFILE_BYTES_MAX: usize = 4095;

/// Profile in a form that both annotations and fields share: a type, and a file for `Localhost`.
type Profile<'o> = (&'o str, &'o str);

/// Warns about a created `Pod`, before its annotations are copied to fields. The warnings are about
/// annotations that cannot be copied or contradict the pod's own field. Windows containers have no profile.
pub(crate) fn pod(pod: &Object, out: &mut Warnings) {
    let Some(spec) = child(pod, "spec") else { return };
    let Some(annotations) = get_object(pod, &["metadata", "annotations"]) else { return };
    if get_str(spec, &["os", "name"]) == Some("windows") {
        return;
    }
    let profile_field = field(spec);
    for (_, _, container) in each(spec) {
        let profile = annotated_profile(annotations, container);
        if profile.is_some_and(|profile| {
            profile.filter(is_valid).is_none_or(|profile| Some(profile) != profile_field)
        }) {
            deprecated(&Path::root("metadata.annotations"), container, out);
        }
    }
}

/// Warns about a container in a template, where annotations are not copied.
pub(crate) fn in_template(
    at_annotations: &Path<'_>,
    annotations: &Object,
    spec: &Object,
    container: &Object,
    out: &mut Warnings,
) {
    let profile_field = field(spec);
    if annotated_profile(annotations, container)
        .is_some_and(|profile| profile_field.is_none() || profile_field != profile)
    {
        deprecated(at_annotations, container, out);
    }
}

fn deprecated(at_annotations: &Path<'_>, container: &Object, out: &mut Warnings) {
    let key = format!("{PREFIX}{}", text(container, "name"));
    let path = at_annotations.key(&key);
    out.add(format_args!("{path}: deprecated since v1.30; use the \"appArmorProfile\" field instead"));
}

/// Returns the profile that an annotation sets for a container without its own field. The inner value is
/// `None` if the annotation is malformed.
fn annotated_profile<'o>(annotations: &'o Object, container: &Object) -> Option<Option<Profile<'o>>> {
    if annotations.is_empty() || field(container).is_some() {
        return None;
    }
    let annotation = text_if_set(annotations, &format!("{PREFIX}{}", text(container, "name")))?;
    Some(match annotation {
        "unconfined" => Some(("Unconfined", "")),
        "runtime/default" => Some(("RuntimeDefault", "")),
        _ => annotation
            .strip_prefix("localhost/")
            .filter(|file| !file.is_empty())
            .map(|file| ("Localhost", file)),
    })
}

fn text_if_set<'o>(annotations: &'o Object, key: &str) -> Option<&'o str> {
    annotations.get(key).map(|value| value.as_str().unwrap_or_default())
}

/// Returns the profile in the security context of a pod spec or a container.
fn field(holder: &Object) -> Option<Profile<'_>> {
    let profile = get_object(holder, &["securityContext", "appArmorProfile"])?;
    Some((text(profile, "type"), text(profile, "localhostProfile")))
}

fn is_valid((_, file): &Profile<'_>) -> bool {
    file.trim() == *file && file.len() <= PROFILE_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use super::super::before_create;
    use crate::warnings::testing::{created, object};
    use api::resources::find;
    use component_base::features::Gates;
    use jsontree::{Value, json};

    fn with(annotation: &str, spec: Value) -> Value {
        let annotations = json!({"container.apparmor.security.beta.kubernetes.io/c": annotation});
        json!({"metadata": {"name": "a", "annotations": annotations}, "spec": spec})
    }

    const DEPRECATED: &str = "metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: \
        deprecated since v1.30; use the \"appArmorProfile\" field instead";

    fn check(annotation: &str, spec: Value, warns_pod: bool, warns_template: bool) {
        let pod = with(annotation, spec);
        let row = find("", "v1", "pods", "").unwrap();
        let expected: &[&str] = if warns_pod { &[DEPRECATED] } else { &[] };
        assert_eq!(before_create(row, &object(pod.clone()), &Gates::default()), expected, "{annotation}");
        created("", "pods", pod.clone(), &[]);
        let in_template = format!("template.{DEPRECATED}");
        let expected: &[&str] = if warns_template { &[&in_template] } else { &[] };
        created("", "podtemplates", json!({"template": pod}), expected);
    }

    #[test]
    fn annotation_without_field_warns() {
        let plain = || json!({"containers": [{"name": "c"}]});
        for annotation in
            ["unconfined", "runtime/default", "localhost/x", "localhost/", "nonsense", "localhost/ x"]
        {
            check(annotation, plain(), true, true);
        }
        check("unconfined", json!({"containers": [{"name": "other"}]}), false, false);
        let container =
            json!({"name": "c", "securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}});
        check("unconfined", json!({"initContainers": [container]}), false, false);
    }

    #[test]
    fn annotation_may_repeat_pod_field() {
        let spec = |kind: &str| json!({"securityContext": {"appArmorProfile": {"type": kind}}, "ephemeralContainers": [{"name": "c"}]});
        check("runtime/default", spec("RuntimeDefault"), false, false);
        check("runtime/default", spec("Unconfined"), true, true);
        check("nonsense", spec("Unconfined"), true, true);
    }

    #[test]
    fn pods_on_windows_have_no_profiles() {
        check("unconfined", json!({"os": {"name": "windows"}, "containers": [{"name": "c"}]}), false, true);
    }
}
