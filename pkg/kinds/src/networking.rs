//! The kinds of networking.k8s.io.

pub(crate) mod ingress;
pub(crate) mod ingress_class;
pub(crate) mod ip_address;
pub(crate) mod network_policy;
pub(crate) mod service_cidr;

use crate::validation::value::{dns_subdomain, path_segment};
use api::tree::{maybe_text, text};
use apimachinery::field::{ErrorList, Path};
use schema::object::Object;

/// Validates a reference to an object of any kind. `path` is that of the reference.
fn typed_reference(path: &Path<'_>, reference: &Object, errors: &mut ErrorList) {
    if let Some(group) = maybe_text(reference, "apiGroup") {
        dns_subdomain(&path.child("apiGroup"), group, errors);
    }
    for member in ["kind", "name"] {
        path_segment(&path.child(member), text(reference, member), true, errors);
    }
}
