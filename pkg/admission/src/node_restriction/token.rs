//! Token requests of a node. The token must be bound to a pod on the node, for an audience that the pod uses.

use api::tree::{child, children, list, text};
use apimachinery::go_quote::quote;
use apimachinery::status::Status;
use component_base::features::Gate;
use jsontree::Value;
use schema::object::Object;

use super::NodeRestriction;
use super::pod::node_name;
use crate::error::RejectionReason;
use crate::{Attributes, Verdict, meta};

/// In-tree volume sources and the CSI drivers that replaced them (csi-translation-lib).
const MIGRATED: [(&str, &str); 7] = [
    ("awsElasticBlockStore", "ebs.csi.aws.com"),
    ("azureDisk", "disk.csi.azure.com"),
    ("azureFile", "file.csi.azure.com"),
    ("cinder", "cinder.csi.openstack.org"),
    ("gcePersistentDisk", "pd.csi.storage.gke.io"),
    ("portworxVolume", "pxd.portworx.com"),
    ("vsphereVolume", "csi.vsphere.vmware.com"),
];

impl NodeRestriction {
    /// Checks a token request. Accepts other writes of service accounts.
    pub(super) async fn token(&self, a: &Attributes<'_>, node: &str, request: &Object) -> Verdict {
        if !a.creates() || a.subresource() != "token" {
            return Ok(());
        }
        let none = Object::new();
        let spec = child(request, "spec").unwrap_or(&none);
        let bound = child(spec, "boundObjectRef").unwrap_or(&none);
        let name = text(bound, "name");
        if (text(bound, "apiVersion"), text(bound, "kind")) != ("v1", "Pod") || name.is_empty() {
            return Err(a.forbidden("node requested token not bound to a pod"));
        }
        let uid = text(bound, "uid");
        if uid.is_empty() {
            return Err(a.forbidden("node requested token with a pod binding without a uid"));
        }
        let pod = self.look_up(self.rows.pods, a.namespace, name).await?;
        if uid != meta::text(&pod, "uid") {
            return Err(a.forbidden(format!(
                "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have been deleted and then recreated"
            )));
        }
        if node_name(&pod) != node {
            return Err(a.forbidden("node requested token bound to a pod scheduled on a different node"));
        }
        if self.gates.enabled(Gate::ServiceAccountNodeAudienceRestriction) {
            self.audience(a, spec, &pod).await.map_err(|cause| a.forbidden(cause))
        } else {
            Ok(())
        }
    }

    async fn audience(&self, a: &Attributes<'_>, spec: &Object, pod: &Object) -> Result<(), RejectionReason> {
        let audience = match list(spec, "audiences") {
            [] => "",
            [audience] => audience.as_str().unwrap_or_default(),
            _ => return Err(RejectionReason("node may only request 0 or 1 audiences".to_owned())),
        };
        let failed =
            |cause| RejectionReason(format!("error validating audience {}: {cause}", quote(audience)));
        if self.requests_audience(a.namespace, pod, audience).await.map_err(failed)? {
            return Ok(());
        }
        let attributes = authorization::Attributes {
            verb: "request-serviceaccounts-token-audience",
            namespace: a.namespace,
            version: "v1",
            resource: audience,
            name: a.name,
            resource_request: true,
            ..authorization::Attributes::of_user(a.user)
        };
        let Err(refused) = self.authorizer.decide(attributes).await.outcome() else { return Ok(()) };
        let audience = quote(audience);
        let user = &a.user.name;
        Err(RejectionReason(match refused.error {
            Some(error) => {
                format!("error authorizing {user} to request tokens for audience {audience}: {error}")
            }
            None => format!("{user} is not authorized to request tokens for audience {audience}"),
        }))
    }

    /// True if a volume of the pod, or its driver, requests tokens for the audience. A look-up error counts
    /// only if no other volume matches.
    async fn requests_audience(
        &self,
        namespace: &str,
        pod: &Object,
        audience: &str,
    ) -> Result<bool, RejectionReason> {
        let mut errors = Vec::new();
        for volume in child(pod, "spec").into_iter().flat_map(|spec| children(spec, "volumes")) {
            let projected =
                child(volume, "projected").into_iter().flat_map(|source| children(source, "sources"));
            let mut tokens = projected.filter_map(|source| child(source, "serviceAccountToken"));
            if tokens.any(|token| text(token, "audience") == audience) {
                return Ok(true);
            }
            match self.driver_requests_audience(namespace, pod, volume, audience).await {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(status) => errors.push(status.message),
            }
        }
        meta::aggregate(errors).map_or(Ok(false), |errors| Err(RejectionReason(errors)))
    }

    async fn driver_requests_audience(
        &self,
        namespace: &str,
        pod: &Object,
        volume: &Object,
        audience: &str,
    ) -> Result<bool, Box<Status>> {
        let driver =
            if child(volume, "ephemeral").is_some_and(|source| source.contains_key("volumeClaimTemplate")) {
                let claim = format!("{}-{}", meta::text(pod, "name"), text(volume, "name"));
                self.driver_of_claim(namespace, &claim).await?
            } else if let Some(source) = child(volume, "persistentVolumeClaim") {
                self.driver_of_claim(namespace, text(source, "claimName")).await?
            } else {
                driver_of(volume).to_owned()
            };
        if driver.is_empty() {
            return Ok(false);
        }
        let driver = self.look_up(self.rows.drivers, "", &driver).await?;
        let mut requests =
            child(&driver, "spec").into_iter().flat_map(|spec| children(spec, "tokenRequests"));
        Ok(requests.any(|request| text(request, "audience") == audience))
    }

    async fn driver_of_claim(&self, namespace: &str, claim: &str) -> Result<String, Box<Status>> {
        let claim = self.look_up(self.rows.claims, namespace, claim).await?;
        let volume = child(&claim, "spec").map_or("", |spec| text(spec, "volumeName"));
        let volume = self.look_up(self.rows.volumes, "", volume).await?;
        Ok(child(&volume, "spec").map_or("", driver_of).to_owned())
    }
}

/// Returns the CSI driver of a volume or of a persistent volume's spec; empty if it has none.
fn driver_of(source: &Object) -> &str {
    let migrated = || MIGRATED.iter().find(|(member, _)| source.get(*member).is_some_and(Value::is_object));
    match child(source, "csi") {
        Some(csi) => text(csi, "driver"),
        None => migrated().map_or("", |(_, driver)| *driver),
    }
}
