//! Pods and their templates: fields that upstream's internal types do not have.

use super::kind::{Conversion, NONE};
use crate::tree::{child_mut, integer, list, rename, text};
use jsontree::{Value, json};
use schema::object::Object;

pub(super) static POD: Conversion = Conversion {
    normalise: |object| {
        pod(object);
        Ok(())
    },
    ..NONE
};

pub(super) static POD_TEMPLATE: Conversion = Conversion {
    normalise: |object| {
        pod_template(object, &["template"]);
        Ok(())
    },
    ..NONE
};

/// A workload with its template in `spec.template`.
pub(super) static WORKLOAD: Conversion = Conversion {
    normalise: |object| {
        pod_template(object, &["spec", "template"]);
        Ok(())
    },
    ..NONE
};

pub(super) static CRON_JOB: Conversion = Conversion {
    normalise: |object| {
        pod_template(object, &["spec", "jobTemplate", "spec", "template"]);
        Ok(())
    },
    ..NONE
};

fn pod(pod: &mut Object) {
    pod_spec(pod);
    if let Some(spec) = child_mut(pod, "spec")
        && integer(spec, "terminationGracePeriodSeconds") < 0
    {
        spec.insert("terminationGracePeriodSeconds", Value::from(1));
    }
    let Some(status) = child_mut(pod, "status") else { return };
    let first = list(status, "podIPs").first().and_then(Value::as_object).map(|ip| text(ip, "ip"));
    match (text(status, "podIP"), first) {
        ("", None) => {}
        // The single address takes precedence, because an old kubelet sets only that one.
        (single, first) if !single.is_empty() && Some(single) != first => {
            let addresses = json!([{"ip": single}]);
            status.insert("podIPs", addresses);
        }
        (_, first) => {
            let first = Value::from(first.unwrap_or_default());
            status.insert("podIP", first);
        }
    }
}

pub(super) fn pod_template(object: &mut Object, path: &[&str]) {
    let template = path.iter().try_fold(object, |at, step| child_mut(at, step));
    if let Some(template) = template {
        pod_spec(template);
    }
}

fn pod_spec(template: &mut Object) {
    let spec = template.entry("spec").or_insert_with(|| Value::Object(Object::new()));
    let Value::Object(spec) = spec else { return };
    if text(spec, "serviceAccountName").is_empty() {
        rename(spec, "serviceAccount", "serviceAccountName");
    }
    match text(spec, "serviceAccountName").to_owned() {
        name if name.is_empty() => drop(spec.remove("serviceAccount")),
        name => drop(spec.insert("serviceAccount", Value::from(name))),
    }
    let context = spec.entry("securityContext").or_insert(Value::Null);
    if context.is_null() {
        *context = Value::Object(Object::new());
    }
}
