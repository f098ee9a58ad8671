//! Warnings about ingresses.

use crate::warnings::collector::Warnings;
use crate::warnings::common::annotation;
use apimachinery::go_quote::Quoted;
use schema::object::{Object, get_str};

const INGRESS_CLASS: &str = "kubernetes.io/ingress.class";

/// Warns about a created `Ingress`.
pub(super) fn ingress(ingress: &Object, out: &mut Warnings) {
    let class = get_str(ingress, &["spec", "ingressClassName"]);
    if annotation(ingress, INGRESS_CLASS).is_some() && class.is_none() {
        out.add(format_args!(
            "annotation {} is deprecated, please use 'spec.ingressClassName' instead",
            Quoted(INGRESS_CLASS)
        ));
    }
}
