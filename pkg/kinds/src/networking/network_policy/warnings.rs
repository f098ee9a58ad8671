//! Warnings about network policies.

use crate::warnings::collector::Warnings;
use crate::warnings::ip;
use api::tree::{child, children, list, text, texts};
use apimachinery::field::Path;
use schema::object::Object;

pub(super) fn network_policy(policy: &Object, out: &mut Warnings) {
    let Some(spec) = child(policy, "spec") else { return };
    for (direction, peers, root) in [("ingress", "from", "spec.ingress"), ("egress", "to", "spec.egress")] {
        let root = Path::root(root);
        // A rule that matches everything is empty, and may be `null` in the tree.
        for (index, rule) in list(spec, direction).iter().enumerate() {
            let Some(rule) = rule.as_object() else { continue };
            let path = root.index(index);
            let path = path.child(peers);
            for (index, peer) in children(rule, peers).enumerate() {
                let Some(block) = child(peer, "ipBlock") else { continue };
                let path = path.index(index);
                ip_block(&path.child("ipBlock"), block, out);
            }
        }
    }
}

fn ip_block(path: &Path<'_>, block: &Object, out: &mut Warnings) {
    ip::range(&path.child("cidr"), text(block, "cidr"), out);
    let path = path.child("except");
    for (index, range) in texts(block, "except").enumerate() {
        ip::range(&path.index(index), range, out);
    }
}
