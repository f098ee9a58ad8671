//! `AlwaysPullImages` sets the pull policy `Always`. Each image is pulled with the pod's own credentials, so
//! a pod cannot run a private image that another pod has pulled (upstream's
//! `plugin/pkg/admission/alwayspullimages`).

use std::collections::BTreeSet;

use api::tree::{child, child_mut, children, children_mut, text};
use apimachinery::field::{Error, Path};
use apimachinery::status::Status;
use async_trait::async_trait;
use schema::object::Object;

use crate::{AdmissionNotes, Attributes, Plugin, Verdict, meta};

const ALWAYS: &str = "Always";

pub struct AlwaysPullImages;

fn images(pod: &Object) -> impl Iterator<Item = &str> {
    let containers = child(pod, "spec").into_iter().flat_map(meta::containers);
    containers.map(|container| text(container, "image"))
}

#[async_trait]
impl Plugin for AlwaysPullImages {
    fn name(&self) -> &'static str {
        "AlwaysPullImages"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.is_pod() && a.writes()
    }

    async fn mutate(&self, a: &Attributes<'_>, pod: Option<&mut Object>, _: &mut AdmissionNotes) -> Verdict {
        let Some(pod) = pod else { return Ok(()) };
        if has_no_new_images(a, pod) {
            return Ok(());
        }
        let Some(spec) = child_mut(pod, "spec") else { return Ok(()) };
        for (list, _) in meta::CONTAINER_LISTS {
            for container in children_mut(spec, list) {
                container.insert("imagePullPolicy", ALWAYS.into());
            }
        }
        for volume in children_mut(spec, "volumes") {
            if let Some(image) = child_mut(volume, "image") {
                image.insert("pullPolicy", ALWAYS.into());
            }
        }
        Ok(())
    }

    async fn validate(&self, a: &Attributes<'_>, object: Option<&Object>, _: &mut AdmissionNotes) -> Verdict {
        let Some(pod) = object.filter(|pod| !has_no_new_images(a, pod)) else { return Ok(()) };
        let Some(spec) = child(pod, "spec") else { return Ok(()) };
        let root = Path::root("spec");
        let mut errors = Vec::new();
        let mut check = |path: &Path<'_>, policy: &str| {
            if policy != ALWAYS {
                errors.push(a.forbidden(Error::not_supported(path, policy, &[ALWAYS]).to_string()).message);
            }
        };
        for (list, _) in meta::CONTAINER_LISTS {
            let list_path = root.child(list);
            for (i, container) in children(spec, list).enumerate() {
                let item = list_path.index(i);
                check(&item.child("imagePullPolicy"), text(container, "imagePullPolicy"));
            }
        }
        let volumes = root.child("volumes");
        for (i, volume) in children(spec, "volumes").enumerate() {
            let Some(image) = child(volume, "image") else { continue };
            let item = volumes.index(i);
            let member = "image";
            let item = item.child(member);
            check(&item.child("pullPolicy"), text(image, "pullPolicy"));
        }
        reject(a, errors)
    }
}

/// True for an update without new images. Such an update is not checked.
fn has_no_new_images(a: &Attributes<'_>, pod: &Object) -> bool {
    let Some(old) = a.old else { return false };
    let before: BTreeSet<&str> = images(old).collect();
    images(pod).all(|image| before.contains(image))
}

/// Rejects with all messages. Upstream returns several errors as one plain error without a reason.
fn reject(a: &Attributes<'_>, mut errors: Vec<String>) -> Verdict {
    match errors.len() {
        0 => Ok(()),
        1 => {
            let mut status = a.forbidden("");
            status.message = errors.pop().unwrap_or_default();
            Err(status)
        }
        _ => Err(Status::unmapped(meta::aggregate(errors).unwrap_or_default()).into()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use jsontree::json;

    use super::*;
    use crate::testing::Write;

    #[test]
    fn new_images_are_always_pulled() {
        let pod = |policy: &str, image: &str| {
            json!({"metadata": {"name": "p"}, "spec": {
                "containers": [{"image": image, "imagePullPolicy": policy}],
                "volumes": [{"image": {"pullPolicy": policy}}]}})
        };
        let got = Write::default().mutated(&AlwaysPullImages, pod("Never", "a")).unwrap();
        assert_eq!(got, pod(ALWAYS, "a"));
        let changed = Write::default().over(pod("Never", "a"));
        assert_eq!(changed.mutated(&AlwaysPullImages, pod("Never", "b")).unwrap(), pod(ALWAYS, "b"));
        assert_eq!(changed.mutated(&AlwaysPullImages, pod("Never", "a")).unwrap(), pod("Never", "a"));
    }

    #[test]
    fn other_pull_policy_is_rejected() {
        let one = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"imagePullPolicy": "Never"}]}});
        let got = Write::default().validated(&AlwaysPullImages, one);
        let refusal = "pods \"p\" is forbidden: spec.containers[0].imagePullPolicy: Unsupported value: \"Never\": \
                       supported values: \"Always\"";
        assert_eq!(got.err(), Some(refusal.to_owned()));
        let fine =
            json!({"metadata": {"name": "p"}, "spec": {"containers": [{"imagePullPolicy": "Always"}]}});
        assert!(Write::default().validated(&AlwaysPullImages, fine).is_ok());
    }
}
