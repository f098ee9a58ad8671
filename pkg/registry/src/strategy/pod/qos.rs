//! The quality of service class of a pod (upstream's `apis/core/helper/qos`).

use api::tree;
use apimachinery::quantity::Quantity;
use schema::object::{self, Object};

/// What the class looks at.
const RESOURCES: [&str; 2] = ["cpu", "memory"];

/// Amounts of each of [`RESOURCES`], where any is above zero.
type Amounts = [Option<Quantity>; 2];

/// `BestEffort` when no container requests or limits cpu or memory, `Guaranteed` when every container
/// limits both and the pod's requests are as high as its limits, else `Burstable`. Resources of the
/// pod as a whole stand for those of its containers (KEP-2837).
pub(super) fn class(pod: &Object) -> &'static str {
    let (mut requests, mut limits) = (Amounts::default(), Amounts::default());
    let mut guaranteed = true;
    match object::get_object(pod, &["spec", "resources"]) {
        Some(resources) => {
            add(&mut requests, tree::child(resources, "requests"));
            let given = tree::child(resources, "limits");
            let all = add(&mut limits, given);
            guaranteed = all || given.is_none_or(Object::is_empty);
        }
        None => {
            let containers = object::get_list(pod, &["spec", "containers"]).iter();
            let init_containers = object::get_list(pod, &["spec", "initContainers"]);
            for container in containers.chain(init_containers).filter_map(|c| c.as_object()) {
                let resources = tree::child(container, "resources");
                add(&mut requests, resources.and_then(|r| tree::child(r, "requests")));
                guaranteed &= add(&mut limits, resources.and_then(|r| tree::child(r, "limits")));
            }
        }
    }
    let none = |amounts: &Amounts| amounts.iter().all(Option::is_none);
    match (none(&requests) && none(&limits), guaranteed && requests == limits) {
        (true, _) => "BestEffort",
        (false, true) => "Guaranteed",
        (false, false) => "Burstable",
    }
}

/// Adds a resource list; answers whether it has some of everything.
fn add(amounts: &mut Amounts, list: Option<&Object>) -> bool {
    let mut all = true;
    for (amount, name) in amounts.iter_mut().zip(RESOURCES) {
        let more: Option<Quantity> = list.and_then(|list| tree::text(list, name).parse().ok());
        match more.filter(|more| more.sign().is_gt()) {
            None => all = false,
            Some(more) => match amount {
                Some(amount) => amount.add(&more),
                None => *amount = Some(more),
            },
        }
    }
    all
}
