//! Model test: compares the index with a full scan of all roles and bindings, which is upstream's algorithm.

use super::*;

/// Pseudo-random numbers from a seed (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end as u64) as usize
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.below(from.len())]
    }

    fn some(&mut self, from: &[&str]) -> Vec<String> {
        (0..self.below(3)).map(|_| self.pick(from).to_owned()).collect()
    }
}

const VERBS: &[&str] = &["get", "list", "*", "bind"];
const GROUPS: &[&str] = &["", "apps", "*"];
const RESOURCES: &[&str] = &["pods", "pods/log", "*/log", "*", "secrets"];
const NAMES: &[&str] = &["a", "b"];
const PATHS: &[&str] = &["/a", "/a/*", "*", "/b"];
const NAMESPACES: &[&str] = &["", "n1", "n2"];
const USERS: &[&str] = &["u1", "u2", "system:serviceaccount:n1:u1"];
const TEAMS: &[&str] = &["g1", "g2"];
const ROLES: &[&str] = &["r1", "r2", "r3"];

/// The reference model: all objects as written.
#[derive(Default)]
struct Plain {
    roles: Vec<(String, String, Value)>,
    bindings: Vec<(String, String, Value)>,
}

impl Plain {
    fn allows(&self, attributes: &Attributes<'_>) -> bool {
        let scopes = |namespace: &str| namespace.is_empty() || namespace == attributes.namespace;
        self.bindings.iter().filter(|(namespace, ..)| scopes(namespace)).any(|(namespace, _, binding)| {
            let bound = binding["subjects"].as_array().unwrap().iter();
            let role = &binding["roleRef"];
            let of = if role["kind"] == "Role" { namespace.as_str() } else { "" };
            let bound_role =
                self.roles.iter().find(|(ns, name, _)| ns == of && role["name"] == name.as_str());
            // A Role without a namespace cannot exist.
            let bound_role = bound_role.filter(|_| role["kind"] == "ClusterRole" || !namespace.is_empty());
            bound.into_iter().any(|subject| applies(subject, attributes.user, namespace))
                && bound_role.is_some_and(|(.., role)| {
                    role["rules"].as_array().unwrap().iter().any(|rule| passes(rule, attributes))
                })
        })
    }
}

fn applies(subject: &Value, user: &UserInfo, namespace: &str) -> bool {
    let name = subject["name"].as_str().unwrap();
    match subject["kind"].as_str().unwrap() {
        "User" => user.name == name,
        "Group" => user.groups.iter().any(|group| group == name),
        "ServiceAccount" => {
            let subject_namespace = subject["namespace"].as_str().unwrap();
            let namespace = if subject_namespace.is_empty() { namespace } else { subject_namespace };
            !namespace.is_empty() && user.name == format!("system:serviceaccount:{namespace}:{name}")
        }
        _ => false,
    }
}

fn passes(rule: &Value, attributes: &Attributes<'_>) -> bool {
    let list = |name: &str| -> Vec<String> {
        rule[name].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let lists_value = |name: &str, text: &str| list(name).iter().any(|entry| entry == "*" || entry == text);
    let resource = match attributes.subresource {
        "" => attributes.resource.to_owned(),
        subresource => format!("{}/{subresource}", attributes.resource),
    };
    let any_of = format!("*/{}", attributes.subresource);
    let named = list("resourceNames");
    let path = |pattern: &String| {
        let open = pattern.strip_suffix('*').is_some_and(|prefix| attributes.path.starts_with(prefix));
        pattern == attributes.path || open
    };
    lists_value("verbs", attributes.verb)
        && if attributes.resource_request {
            let sub = !attributes.subresource.is_empty() && list("resources").contains(&any_of);
            lists_value("apiGroups", attributes.group)
                && (lists_value("resources", &resource) || sub)
                && (named.is_empty() || named.iter().any(|name| name == attributes.name))
        } else {
            list("nonResourceURLs").iter().any(path)
        }
}

fn change(numbers: &mut Numbers, plain: &mut Plain, index: &mut Index) {
    let namespace = numbers.pick(NAMESPACES);
    let name = numbers.pick(ROLES);
    let keep = numbers.below(4) > 0;
    let has_key = |(ns, role_name, _): &(String, String, Value)| ns == namespace && role_name == name;
    if numbers.below(2) == 0 {
        let rules: Vec<Value> = (0..numbers.below(3)).map(|_| random_rule(numbers)).collect();
        let role = json!({"rules": rules});
        plain.roles.retain(|role| !has_key(role));
        index.set_role(namespace, name, keep.then(|| Rule::all_of(role.as_object().unwrap())));
        if keep {
            plain.roles.push((namespace.to_owned(), name.to_owned(), role));
        }
    } else {
        let subject = |numbers: &mut Numbers| match numbers.below(3) {
            0 => subject("User", numbers.pick(USERS), ""),
            1 => subject("Group", numbers.pick(TEAMS), ""),
            _ => subject("ServiceAccount", numbers.pick(USERS), numbers.pick(NAMESPACES)),
        };
        let subjects: Vec<Value> = (0..numbers.below(4)).map(|_| subject(numbers)).collect();
        let role = json!({"kind": numbers.pick(&["Role", "ClusterRole"]), "name": numbers.pick(ROLES)});
        let binding = json!({"roleRef": role, "subjects": subjects});
        plain.bindings.retain(|binding| !has_key(binding));
        let read = || Binding::of(binding.as_object().unwrap(), namespace, name);
        index.set_binding(namespace, name, keep.then(read));
        if keep {
            plain.bindings.push((namespace.to_owned(), name.to_owned(), binding));
        }
    }
}

fn random_rule(numbers: &mut Numbers) -> Value {
    json!({
        "verbs": numbers.some(VERBS), "apiGroups": numbers.some(GROUPS), "resources": numbers.some(RESOURCES),
        "resourceNames": numbers.some(NAMES), "nonResourceURLs": numbers.some(PATHS),
    })
}

#[test]
fn index_matches_full_scan_after_every_change() {
    let seeds = std::env::var("MAINSTAY_RBAC_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(40);
    let mut allowed = 0;
    for seed in 0..seeds {
        let mut numbers = Numbers(seed);
        let mut plain = Plain::default();
        let mut index = Index::default();
        for step in 0..50 {
            change(&mut numbers, &mut plain, &mut index);
            for _ in 0..10 {
                let groups: Vec<String> = numbers.some(TEAMS);
                let user = UserInfo { name: numbers.pick(USERS).to_owned(), groups, ..UserInfo::default() };
                let resource = numbers.pick(&["pods", "secrets"]);
                let subresource = numbers.pick(&["", "log"]);
                let attributes = Attributes {
                    verb: numbers.pick(&["get", "list", "bind"]),
                    namespace: numbers.pick(NAMESPACES),
                    group: numbers.pick(&["", "apps"]),
                    resource,
                    subresource,
                    name: numbers.pick(&["", "a", "b"]),
                    path: numbers.pick(&["/a", "/a/b", "/b"]),
                    resource_request: numbers.below(4) > 0,
                    ..Attributes::of_user(&user)
                };
                let decided = matches!(decide(&index, &attributes), Decision::Allow(_));
                assert_eq!(decided, plain.allows(&attributes), "seed {seed}, step {step}: {attributes:?}");
                allowed += usize::from(decided);
            }
        }
    }
    assert!(allowed > 100, "hardly anything was allowed: {allowed}");
}
