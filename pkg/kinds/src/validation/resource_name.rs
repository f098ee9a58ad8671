//! Names of compute resources and countable objects (`cpu`, `hugepages-2Mi`, `example.com/gpu`,
//! `count/pods`): the known ones, and the places that allow them. Upstream's `pkg/apis/core/helper`.

use super::value::invalid_each;
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::names;
use apimachinery::quantity::Quantity;

const HUGE_PAGES: &str = "hugepages-";
const REQUESTS: &str = "requests.";

/// Resources of a pod or container, also in the form for quotas.
const COMPUTE: &[&str] = &[
    "cpu",
    "ephemeral-storage",
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
    "requests.storage",
];

/// Objects that quotas count under special names.
const QUOTA_COUNTED_OBJECTS: &[&str] = &[
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
];

/// Rule for resource names in a certain place; appends errors.
pub(crate) type ResourceNameRule = fn(path: &Path<'_>, name: &str, errors: &mut ErrorList);

pub(crate) fn is_huge_pages(name: &str) -> bool {
    name.starts_with(HUGE_PAGES)
}

/// True if a quantity of huge pages is a multiple of the page size in the name. False for page sizes that are
/// not positive integers.
pub(crate) fn is_multiple_of_page_size(name: &str, quantity: &Quantity) -> bool {
    let size = name.strip_prefix(HUGE_PAGES).and_then(|size| size.parse::<Quantity>().ok());
    let Some(size) = size.filter(|size| size.sign().is_gt() && size.milli_value() % 1000 == 0) else {
        return false;
    };
    quantity.value().checked_rem(size.value()) == Some(0)
}

/// True for a resource of Kubernetes itself: no prefix, or a prefix that ends with `kubernetes.io`.
pub(crate) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// True for a valid name of an extended resource.
pub(crate) fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with(REQUESTS)
        && names::is_label_key(&format!("{REQUESTS}{name}")).is_empty()
}

/// True if requests may be below the limits.
pub(crate) fn is_overcommit_allowed(name: &str) -> bool {
    is_native(name) && !is_huge_pages(name)
}

/// True if the resource has only integer quantities.
pub(crate) fn is_integer(name: &str) -> bool {
    QUOTA_COUNTED_OBJECTS.contains(&name) || is_extended(name)
}

/// True for a name without a prefix that quotas support.
pub(crate) fn is_standard_for_quota(name: &str) -> bool {
    COMPUTE.contains(&name)
        || QUOTA_COUNTED_OBJECTS.contains(&name)
        || is_huge_pages(name)
        || name.strip_prefix(REQUESTS).is_some_and(is_huge_pages)
}

/// Validates any resource name: a qualified name, or a known name without a prefix.
pub(crate) fn any_resource(path: &Path<'_>, name: &str, errors: &mut ErrorList) {
    let before = errors.len();
    invalid_each(path, BadValue::json_text(name), names::is_label_key(name), errors);
    let valid = name.contains('/') || name == "storage" || is_standard_for_quota(name);
    if errors.len() == before && !valid {
        errors.push(Error::invalid(
            path,
            BadValue::json_text(name),
            "must be a standard resource type or fully qualified",
        ));
    }
}

/// Validates the name of a resource in a container's requests or limits.
pub(crate) fn container_resource(path: &Path<'_>, name: &str, errors: &mut ErrorList) {
    any_resource(path, name, errors);
    let detail = if !name.contains('/') {
        let standard = matches!(name, "cpu" | "memory" | "ephemeral-storage") || is_huge_pages(name);
        (!standard).then_some("must be a standard resource for containers")
    } else {
        let valid = is_native(name) || is_extended(name);
        (!valid).then_some("doesn't follow extended resource name standard")
    };
    errors.extend(detail.map(|detail| Error::invalid(path, BadValue::json_text(name), detail)));
}

/// Validates the name of a resource in pod-level requests or limits (KEP-2837).
pub(crate) fn pod_resource(path: &Path<'_>, name: &str, errors: &mut ErrorList) {
    let before = errors.len();
    any_resource(path, name, errors);
    if errors.len() == before && !matches!(name, "cpu" | "memory") && !is_huge_pages(name) {
        errors.push(Error::not_supported(path, BadValue::json_text(name), &["cpu", HUGE_PAGES, "memory"]));
    }
}

/// Validates the name of a resource in a quota.
pub(crate) fn quota_resource(path: &Path<'_>, name: &str, errors: &mut ErrorList) {
    any_resource(path, name, errors);
    if !name.contains('/') && !is_standard_for_quota(name) {
        errors.push(Error::invalid(path, BadValue::json_text(name), "must be a standard resource for quota"));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const STANDARD: &str = "must be a standard resource type or fully qualified";

    fn check(rule: ResourceNameRule, name: &str, expected: &[&str]) {
        let mut errors = ErrorList::new();
        rule(&Path::root("r"), name, &mut errors);
        let details: Vec<&str> = errors.iter().map(Error::detail).collect();
        assert_eq!(details, expected, "{name}");
    }

    #[test]
    fn a_bare_name_must_be_known() {
        for name in ["cpu", "storage", "pods", "hugepages-2Mi", "requests.hugepages-1Gi", "a.b/c"] {
            check(any_resource, name, &[]);
        }
        check(any_resource, "gpu", &[STANDARD]);
    }

    #[test]
    fn containers_have_few_standard_resources() {
        check(container_resource, "memory", &[]);
        check(container_resource, "example.com/gpu", &[]);
        check(container_resource, "kubernetes.io/x", &[]);
        check(container_resource, "storage", &["must be a standard resource for containers"]);
        check(container_resource, "gpu", &[STANDARD, "must be a standard resource for containers"]);
        let detail = "doesn't follow extended resource name standard";
        check(container_resource, "requests.example.com/gpu", &[detail]);
        let long = format!("{}.example/gpu", ["a"; 122].join("."));
        check(container_resource, &long, &[detail]);
    }

    #[test]
    fn pods_have_cpu_memory_and_huge_pages() {
        check(pod_resource, "hugepages-2Mi", &[]);
        let detail = "supported values: \"cpu\", \"hugepages-\", \"memory\"";
        check(pod_resource, "ephemeral-storage", &[detail]);
        check(pod_resource, "gpu", &[STANDARD]);
    }

    #[test]
    fn quotas_count_objects() {
        check(quota_resource, "services.nodeports", &[]);
        check(quota_resource, "count/pods", &[]);
        check(quota_resource, "storage", &["must be a standard resource for quota"]);
    }

    #[test]
    fn huge_pages_come_in_whole_pages() {
        let divides = |name: &str, quantity: &str| is_multiple_of_page_size(name, &quantity.parse().unwrap());
        assert!(divides("hugepages-2Mi", "4Mi"));
        assert!(divides("hugepages-2Mi", "0"));
        assert!(!divides("hugepages-2Mi", "3Mi"));
        assert!(!divides("hugepages-1500m", "3"));
        assert!(!divides("hugepages-0", "0"));
        assert!(!divides("hugepages-x", "1"));
    }

    #[test]
    fn integers_are_objects_and_foreign_resources() {
        assert!(is_integer("pods") && is_integer("example.com/gpu"));
        assert!(
            !is_integer("cpu") && !is_integer("kubernetes.io/x") && !is_integer("requests.example.com/x")
        );
    }
}
