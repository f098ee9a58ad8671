//! Sequences of operations that build deep, wide or long documents: within one JSON patch, and over several
//! requests to one object.
//!
//! The model: no response is a 500, the object stays readable, and a request takes at most
//! [`MEMORY_FACTOR`](super::MEMORY_FACTOR) times its body and a largest object, plus
//! [`MEMORY_BASE`](super::MEMORY_BASE).

use std::fmt::Write as _;
use std::time::Duration;

use http::Method;
use serde_json::json;
use tokio::time::Instant;

use super::bodies::start_bounded;
use super::random::Random;
use super::report::{Limits, Report, Violation};
use super::target::{Answer, Api, Target};
use super::{MEMORY_BASE, is_upstream_error};

/// Maximum number of operations in a patch that upstream accepts.
const OPERATIONS_MAX: usize = 10_000;
/// Levels of an added value: below, at and above the limit of a parsed tree.
const LEVELS: [usize; 5] = [1, 30, 100, 390, 1000];
/// Maximum number of requests to one object.
const REQUESTS_MAX: usize = 6;
/// Largest object that a request can leave behind, in bytes.
const OBJECT_BYTES: u64 = 3 << 20;
/// Pointers that the model of the document does not contain.
const BAD_POINTERS: [&str; 7] = ["", "/", "/spec/-", "/spec/~2", "/spec/x/01", "/metadata/name", "spec"];

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const PATIENCE: Duration = Duration::from_secs(30);

/// Attacked object, its path, and the media types of patches that it accepts.
struct Victim {
    path: &'static str,
    /// Path of a member that takes any value, as a JSON pointer without the first slash.
    member: &'static str,
    media_types: &'static [&'static str],
    head: &'static str,
}

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// A custom resource without a schema, a typed object, and a definition, whose schema nests.
const VICTIMS: [Victim; 3] = [
    Victim {
        path: "/apis/hostile.example.com/v1/namespaces/default/things/victim",
        member: "spec",
        media_types: &[JSON_PATCH, MERGE_PATCH, APPLY_PATCH],
        head: r#""apiVersion":"hostile.example.com/v1","kind":"Thing","metadata":{"name":"victim"}"#,
    },
    Victim {
        path: "/api/v1/namespaces/default/configmaps/victim",
        member: "data",
        media_types: &[JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH],
        head: r#""apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"victim"}"#,
    },
    Victim {
        path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.hostile.example.com",
        member: "spec/versions/0/schema/openAPIV3Schema/properties",
        media_types: &[JSON_PATCH],
        head: "",
    },
];

/// JSON patch under construction, with the pointers that exist when its operations succeed.
struct Patch<'a> {
    random: &'a mut Random,
    text: String,
    pointers: Vec<String>,
    operations: usize,
}

impl Patch<'_> {
    /// Appends an operation. `rest` are its further members.
    fn operation(&mut self, name: &str, path: &str, rest: &str) {
        let comma = if self.operations == 0 { '[' } else { ',' };
        let _ = write!(self.text, r#"{comma}{{"op":"{name}","path":"{path}"{rest}}}"#);
        self.operations += 1;
    }

    fn known(&mut self) -> String {
        self.random.pick(&self.pointers).clone()
    }

    /// Returns the pointer of a new member.
    fn new_member(&mut self) -> String {
        format!("{}/k{}", self.known(), self.random.below(1000))
    }

    /// Adds a nested value and remembers its bottom.
    fn add_deep(&mut self) {
        let levels = *self.random.pick(&LEVELS);
        let path = self.new_member();
        let value = nested(levels);
        self.operation("add", &path, &format!(r#","value":{value}"#));
        self.pointers.push(format!("{path}{}", "/x".repeat(levels.saturating_sub(1))));
        self.pointers.push(path);
    }

    fn add_wide(&mut self) {
        let path = self.new_member();
        let keys: Vec<String> = (0..self.random.below(2000)).map(|key| format!(r#""w{key}":{{}}"#)).collect();
        self.operation("add", &path, &format!(r#","value":{{{}}}"#, keys.join(",")));
        self.pointers.push(path);
    }

    fn add_long(&mut self) {
        let path = self.new_member();
        let text = "\\u0001".repeat(self.random.below(10_000));
        self.operation("add", &path, &format!(r#","value":"{text}""#));
    }

    /// Copies or moves a subtree, often below itself or to its own bottom.
    fn graft(&mut self, name: &str) {
        let from = self.known();
        let to = self.new_member();
        self.operation(name, &to, &format!(r#","from":"{from}""#));
        self.pointers.push(to);
    }

    /// The known attack: `move` of a subtree to its own bottom, and back.
    fn fold(&mut self) {
        let top = self.known();
        let bottom = self.known();
        let parent = format!("{bottom}/f");
        self.operation("move", &parent, &format!(r#","from":"{top}""#));
        self.operation("move", &top, &format!(r#","from":"{parent}""#));
    }

    fn next(&mut self) {
        match self.random.below(10) {
            0 | 1 => self.add_deep(),
            2 => self.add_wide(),
            3 => self.add_long(),
            4 | 5 => self.graft("copy"),
            6 => self.graft("move"),
            7 => self.fold(),
            8 => {
                let path = self.known();
                let name = *self.random.pick(&["test", "replace"]);
                let levels = *self.random.pick(&LEVELS);
                self.operation(name, &path, &format!(r#","value":{}"#, nested(levels)));
            }
            _ => {
                let path = *self.random.pick(&BAD_POINTERS);
                let name = *self.random.pick(&["add", "remove", "replace", "test"]);
                self.operation(name, path, r#","value":1"#);
            }
        }
    }
}

/// Returns objects nested this deep, as JSON.
fn nested(levels: usize) -> String {
    format!("{}{{}}{}", r#"{"x":"#.repeat(levels.saturating_sub(1)), "}".repeat(levels.saturating_sub(1)))
}

/// Returns a JSON patch of at most about this many bytes. A failed operation ends a patch, so most patches are
/// short, or repeat one kind of operation.
pub fn json_patch(random: &mut Random, member: &str, bytes: usize) -> Vec<u8> {
    let count = *random.pick(&[1, 2, 5, 20, 600, OPERATIONS_MAX]);
    let is_uniform = count > 20;
    let kind = random.below(3);
    let mut patch =
        Patch { random, text: String::new(), pointers: vec![format!("/{member}")], operations: 0 };
    if is_uniform {
        patch.add_deep();
    }
    while patch.operations < count && patch.text.len() < bytes {
        match (is_uniform, kind) {
            (false, _) => patch.next(),
            (true, 0) => patch.fold(),
            (true, 1) => patch.graft("copy"),
            (true, _) => patch.add_deep(),
        }
    }
    patch.text.push(']');
    patch.text.into_bytes()
}

/// Returns a body for this media type.
fn body(random: &mut Random, victim: &Victim, media_type: &str, bytes: usize) -> Vec<u8> {
    if media_type == JSON_PATCH {
        return json_patch(random, victim.member, bytes);
    }
    let levels = *random.pick(&LEVELS);
    let value = match random.below(3) {
        0 => format!(r#"{{"k{}":{}}}"#, random.below(5), nested(levels)),
        1 => {
            let keys = (0..random.below(bytes / 20 + 1)).map(|key| format!(r#""w{key}":"{key}""#));
            format!("{{{}}}", keys.collect::<Vec<_>>().join(","))
        }
        _ => format!(r#"{{"long":"{}"}}"#, "x".repeat(random.below(bytes + 1))),
    };
    let head = if media_type == APPLY_PATCH { format!("{},", victim.head) } else { String::new() };
    format!(r#"{{{head}"{}":{value}}}"#, victim.member).into_bytes()
}

async fn start() -> Target {
    let target = Target::of(start_bounded()).await;
    create_definition(&target.api).await;
    target
}

/// Creates the custom resource of the victims.
async fn create_definition(api: &Api) {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
    let version =
        json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.hostile.example.com"},
        "spec": {"group": "hostile.example.com", "scope": "Namespaced", "versions": [version],
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}},
    });
    api.create(DEFINITIONS, &definition, PATIENCE).await;
    let served = "/apis/hostile.example.com/v1/things";
    let deadline = Instant::now() + PATIENCE;
    while !api.get(served, PATIENCE).await.is_ok_and(|response| response.code == 200) {
        assert!(Instant::now() < deadline, "the custom resource is not served");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Creates the victims that are missing, as after a sequence that changed them.
async fn create_victims(api: &Api) {
    for (victim, member) in [(&VICTIMS[0], "spec"), (&VICTIMS[1], "data")] {
        let object = format!(r#"{{{},"{member}":{{}}}}"#, victim.head).into_bytes();
        let (collection, _) = victim.path.rsplit_once('/').unwrap_or_default();
        let _ = api.ask(Method::DELETE, victim.path, "application/json", Vec::new(), PATIENCE).await;
        let created = api.ask(Method::POST, collection, "application/json", object, PATIENCE).await;
        assert!(created.as_ref().is_ok_and(|response| response.code == 201), "{created:?}");
    }
}

/// Sends one sequence of requests to a victim.
async fn attack(target: &mut Target, random: &mut Random, limits: Limits) -> Result<u64, Violation> {
    let victim = &VICTIMS[random.below(VICTIMS.len())];
    let mut worst = 0;
    for _ in 0..=random.below(REQUESTS_MAX) {
        let media_type = *random.pick(victim.media_types);
        let body = body(random, victim, media_type, limits.bytes);
        // Changes of the definition are never kept: the other victim needs it.
        let dry = victim.head.is_empty() || random.below(3) == 0;
        let query = if dry { "dryRun=All&fieldManager=hostile" } else { "fieldManager=hostile" };
        let force = if media_type == APPLY_PATCH { "&force=true" } else { "" };
        let uri = format!("{}?{query}{force}", victim.path);
        let size = body.len() as u64;
        let memory = target.process.memory().ok_or("the server has ended")?;
        target.process.forget_peak();
        let response = target.api.ask(Method::PATCH, &uri, media_type, body, limits.patience).await;
        let peak = target.process.memory_peak().unwrap_or_default().saturating_sub(memory);
        check(target, response, limits)
            .await
            .map_err(|what| format!("{media_type} of {size} bytes: {what}"))?;
        worst = worst.max(peak);
        if peak > (size + OBJECT_BYTES) * limits.memory_factor + MEMORY_BASE {
            return Err(format!("{} MiB of memory for {media_type} of {size} bytes", peak >> 20).into());
        }
    }
    let read = target.api.get(victim.path, limits.patience).await?;
    if read.code == 200 {
        Ok(worst)
    } else {
        Err(format!("the object is not readable: {}", read.shown()).into())
    }
}

async fn check(
    target: &mut Target,
    response: Result<Answer, Violation>,
    limits: Limits,
) -> Result<(), Violation> {
    target.check_ready(limits.patience).await?;
    let response = response?;
    let expected = is_upstream_error(&response.text);
    if matches!(response.code, 500 | 504) && !expected { Err(response.shown().into()) } else { Ok(()) }
}

/// Sends random sequences until the limits are reached.
///
/// # Panics
/// The server does not start.
pub async fn run(limits: Limits) -> Report {
    let end = Instant::now() + limits.time;
    let mut report = Report::default();
    let mut target = start().await;
    for number in 0..limits.requests as u64 {
        if Instant::now() >= end {
            break;
        }
        // Each sequence has its own seed, so that it can be repeated alone.
        let seed = limits.seed.wrapping_add(number);
        create_victims(&target.api).await;
        let name = format!("sequence {seed}");
        let result = attack(&mut target, &mut Random(seed), limits).await;
        if let Ok(memory) = result
            && memory > report.memory_worst.0
        {
            report.memory_worst = (memory, name.clone());
        }
        let failed = result.is_err();
        report.add(&name, result.map(drop));
        if failed {
            target = start().await;
        }
    }
    report
}

/// Creates the victims and sends sequences until the end time, without cost checks. Returns the number of
/// responses, and of those that a panic or an internal error caused.
///
/// # Panics
/// The victims cannot be created.
pub async fn storm(api: Api, bytes: usize, seed: u64, until: Instant) -> (usize, usize) {
    create_definition(&api).await;
    create_victims(&api).await;
    let mut random = Random(seed);
    let mut counts = (0, 0);
    while Instant::now() < until {
        let victim = random.pick(&VICTIMS);
        let media_type = *random.pick(victim.media_types);
        let body = body(&mut random, victim, media_type, bytes);
        let uri = format!("{}?dryRun=All&fieldManager=hostile", victim.path);
        let Ok(response) = api.ask(Method::PATCH, &uri, media_type, body, PATIENCE).await else { continue };
        counts.0 += 1;
        counts.1 += usize::from(response.code == 500 && !is_upstream_error(&response.text));
    }
    counts
}
