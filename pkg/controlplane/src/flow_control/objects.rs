//! Converts API objects to the types of flow control. The objects are validated; missing fields have their
//! defaults.

use ::api::tree::{child, children, flag, text, texts};
use flowcontrol::{
    Distinguisher, FlowSchema, LevelKind, NonResourceRule, PriorityLevel, Queuing, ResourceRule, Response,
    Rule, Subject,
};
use registry::meta;
use schema::object::{self, Object};

/// Default `matchingPrecedence` of a schema.
const PRECEDENCE: i64 = 1000;
/// Default `nominalConcurrencyShares` of a limited level. An exempt level has none.
const SHARES: i64 = 30;

/// Reads a FlowSchema.
pub(super) fn schema(object: &Object) -> FlowSchema {
    let spec = child(object, "spec");
    let distinguisher = object::get_str(object, &["spec", "distinguisherMethod", "type"]);
    FlowSchema {
        name: meta::text(object, "name").to_owned(),
        uid: meta::text(object, "uid").to_owned(),
        level: object::get_str(object, &["spec", "priorityLevelConfiguration", "name"])
            .unwrap_or_default()
            .to_owned(),
        precedence: i32::try_from(number(spec, "matchingPrecedence", PRECEDENCE)).unwrap_or(i32::MAX),
        distinguisher: match distinguisher {
            Some("ByUser") => Some(Distinguisher::ByUser),
            Some("ByNamespace") => Some(Distinguisher::ByNamespace),
            _ => None,
        },
        rules: spec.into_iter().flat_map(|spec| children(spec, "rules")).map(rule).collect(),
    }
}

fn rule(rule: &Object) -> Rule {
    Rule {
        subjects: children(rule, "subjects").filter_map(subject).collect(),
        resource_rules: children(rule, "resourceRules").map(resource_rule).collect(),
        non_resource_rules: children(rule, "nonResourceRules").map(non_resource_rule).collect(),
    }
}

fn subject(subject: &Object) -> Option<Subject> {
    let of = |member: &str, name: &str| Some(text(child(subject, member)?, name).to_owned());
    match text(subject, "kind") {
        "User" => Some(Subject::User(of("user", "name")?)),
        "Group" => Some(Subject::Group(of("group", "name")?)),
        "ServiceAccount" => {
            let namespace = of("serviceAccount", "namespace")?;
            Some(Subject::ServiceAccount { namespace, name: of("serviceAccount", "name")? })
        }
        _ => None,
    }
}

fn resource_rule(rule: &Object) -> ResourceRule {
    ResourceRule {
        verbs: strings(rule, "verbs"),
        groups: strings(rule, "apiGroups"),
        resources: strings(rule, "resources"),
        cluster_scope: flag(rule, "clusterScope"),
        namespaces: strings(rule, "namespaces"),
    }
}

fn non_resource_rule(rule: &Object) -> NonResourceRule {
    NonResourceRule { verbs: strings(rule, "verbs"), paths: strings(rule, "nonResourceURLs") }
}

fn strings(object: &Object, member: &str) -> Vec<String> {
    texts(object, member).map(str::to_owned).collect()
}

/// Reads a PriorityLevelConfiguration.
pub(super) fn level(object: &Object) -> PriorityLevel {
    let spec = child(object, "spec");
    let limited = spec.and_then(|spec| child(spec, "limited"));
    let is_exempt = spec.is_some_and(|spec| text(spec, "type") == "Exempt");
    let (settings, shares) =
        if is_exempt { (spec.and_then(|spec| child(spec, "exempt")), 0) } else { (limited, SHARES) };
    let borrowing = limited.and_then(|limited| limited.get("borrowingLimitPercent")?.as_i64());
    PriorityLevel {
        name: meta::text(object, "name").to_owned(),
        uid: meta::text(object, "uid").to_owned(),
        shares: unsigned(number(settings, "nominalConcurrencyShares", shares)),
        lendable_percent: unsigned(number(settings, "lendablePercent", 0)),
        kind: if is_exempt {
            LevelKind::Exempt
        } else {
            LevelKind::Limited {
                borrowing_limit_percent: borrowing.map(unsigned),
                response: response(limited.and_then(|limited| child(limited, "limitResponse"))),
            }
        },
    }
}

fn response(response: Option<&Object>) -> Response {
    let queuing = response.filter(|response| text(response, "type") == "Queue");
    let Some(queuing) = queuing.and_then(|response| child(response, "queuing")) else {
        return Response::Reject;
    };
    let of = |member: &str, default: i64| unsigned(number(Some(queuing), member, default));
    Response::Queue(Queuing {
        queues: of("queues", 64),
        hand_size: of("handSize", 8),
        queue_length_limit: of("queueLengthLimit", 50),
    })
}

fn number(object: Option<&Object>, member: &str, default: i64) -> i64 {
    object.and_then(|object| object.get(member)?.as_i64()).unwrap_or(default)
}

fn unsigned(number: i64) -> u32 {
    u32::try_from(number.max(0)).unwrap_or(u32::MAX)
}
