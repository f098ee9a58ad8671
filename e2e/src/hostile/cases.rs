//! Enumeration of hostile bodies: every kind, every list, map and text in it, every attack, every form.

use api::resources::{self, Resource};
use schema::table::{Cardinality, Field, Message, Shape, Type};

use super::node::{self, Node, Notation};

/// Maximum depth of the field search. Recursive types are entered once.
const DEPTH_MAX: usize = 14;

/// Attack of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attack {
    /// As many of the shortest elements as fit.
    Empties,
    /// As many distinct elements as fit.
    Distinct,
    /// As many nesting levels as fit.
    Deepest,
    /// The longest text that fits.
    Longest,
    /// A text of as many words as fit.
    Words,
    /// A text of as many parts between commas as fit.
    Commas,
    /// As many elements as fit, with every member invalid.
    Errors,
}

/// Format and method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// POST of JSON.
    Json,
    /// POST of YAML.
    Yaml,
    /// POST of CBOR.
    Cbor,
    /// POST of protobuf.
    Protobuf,
    /// Server-side apply of a new object.
    Apply,
    /// Server-side apply to an object with another manager.
    ApplyExisting,
    JsonPatch,
    MergePatch,
    StrategicMergePatch,
}

pub const ATTACKS: [Attack; 7] = [
    Attack::Empties,
    Attack::Distinct,
    Attack::Deepest,
    Attack::Longest,
    Attack::Words,
    Attack::Commas,
    Attack::Errors,
];
pub const FORMS: [Form; 9] = [
    Form::Json,
    Form::Yaml,
    Form::Cbor,
    Form::Protobuf,
    Form::Apply,
    Form::ApplyExisting,
    Form::JsonPatch,
    Form::MergePatch,
    Form::StrategicMergePatch,
];

/// Description of a hostile body.
#[derive(Debug, Clone)]
pub struct Case {
    pub row: &'static Resource<'static>,
    /// Path from the kind to the attacked member.
    pub path: Vec<&'static Field>,
    pub attack: Attack,
    pub form: Form,
}

impl Form {
    /// Returns true if it changes an existing object.
    pub fn patches(self) -> bool {
        let patching = [Form::ApplyExisting, Form::JsonPatch, Form::MergePatch, Form::StrategicMergePatch];
        patching.contains(&self)
    }

    pub fn media_type(self) -> &'static str {
        match self {
            Form::Json => "application/json",
            Form::Yaml => "application/yaml",
            Form::Cbor => "application/cbor",
            Form::Protobuf => "application/vnd.kubernetes.protobuf",
            Form::Apply | Form::ApplyExisting => "application/apply-patch+yaml",
            Form::JsonPatch => "application/json-patch+json",
            Form::MergePatch => "application/merge-patch+json",
            Form::StrategicMergePatch => "application/strategic-merge-patch+json",
        }
    }
}

/// Bodies that caused problems before, as kind, member and attack. They are tried in every form.
const KNOWN: [(&str, &str, &str, Attack); 16] = [
    ("v1", "Pod", "spec.containers", Attack::Empties),
    ("v1", "Pod", "spec.containers.env", Attack::Empties),
    ("v1", "Pod", "metadata.labels", Attack::Errors),
    ("v1", "Pod", "spec.tolerations", Attack::Distinct),
    ("v1", "ConfigMap", "metadata.ownerReferences", Attack::Errors),
    ("v1", "ConfigMap", "metadata.finalizers", Attack::Empties),
    ("v1", "ConfigMap", "data", Attack::Errors),
    ("v1", "PodTemplate", "metadata.finalizers", Attack::Distinct),
    ("v1", "Service", "spec.ports", Attack::Distinct),
    ("networking.k8s.io/v1", "NetworkPolicy", "spec.ingress.from", Attack::Empties),
    ("apps/v1", "Deployment", "spec.template.spec.volumes", Attack::Distinct),
    ("v1", "ReplicationController", "spec.template.metadata.labels", Attack::Distinct),
    ("v1", "ResourceQuota", "spec.scopes", Attack::Distinct),
    ("batch/v1", "CronJob", "spec.schedule", Attack::Words),
    ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy", "spec.variables", Attack::Errors),
    (
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicy",
        "spec.matchConstraints.resourceRules",
        Attack::Errors,
    ),
];

/// Returns the known problematic bodies in every form.
pub fn known() -> Vec<Case> {
    let places = places();
    let find = |(version, kind, member, attack): &(&str, &str, &str, Attack)| {
        let named = |path: &[&'static Field]| member_name(path) == *member;
        let place = places
            .iter()
            .find(|(row, path)| (row.group_version, row.kind) == (*version, *kind) && named(path));
        let (row, path) = place.unwrap_or_else(|| panic!("{version} {kind} has no {member}"));
        FORMS.map(|form| Case { row, path: path.clone(), attack: *attack, form })
    };
    KNOWN.iter().flat_map(find).filter(Case::exists).collect()
}

/// Formats a path with dots.
fn member_name(path: &[&'static Field]) -> String {
    let names: Vec<&str> = path.iter().map(|field| field.name).filter(|name| !name.is_empty()).collect();
    names.join(".")
}

/// Returns every member of every kind that can be created.
pub fn places() -> Vec<(&'static Resource<'static>, Vec<&'static Field>)> {
    let mut places = Vec::new();
    let created = |row: &&Resource<'_>| {
        row.subresource.is_empty() && row.storage.is_some() && row.serves("create") && row.serves("patch")
    };
    for row in resources::all().filter(created) {
        let mut paths = Vec::new();
        walk(row.message, &mut Vec::new(), &mut vec![row.message.name], &mut paths);
        places.extend(paths.into_iter().map(|path| (row, path)));
    }
    places
}

fn walk(
    message: &'static Message,
    path: &mut Vec<&'static Field>,
    ancestors: &mut Vec<&'static str>,
    paths: &mut Vec<Vec<&'static Field>>,
) {
    for field in message.fields {
        path.push(field);
        let raw = matches!(field.ty, Type::Message(message) if message.shape.is_raw_json());
        if field.cardinality != Cardinality::One || raw || matches!(field.ty, Type::String | Type::Any) {
            paths.push(path.clone());
        }
        if let Type::Message(inner) = field.ty
            && inner.shape == Shape::Struct
            && !ancestors.contains(&inner.name)
            && path.len() < DEPTH_MAX
        {
            ancestors.push(inner.name);
            walk(inner, path, ancestors, paths);
            ancestors.pop();
        }
        path.pop();
    }
}

impl Case {
    /// Returns true if the combination is possible.
    pub fn exists(&self) -> bool {
        let Some(last) = self.path.last() else { return false };
        let many = last.cardinality != Cardinality::One;
        let fits = match self.attack {
            Attack::Empties | Attack::Distinct | Attack::Errors => many,
            Attack::Deepest => true,
            Attack::Longest | Attack::Words | Attack::Commas => {
                matches!(last.ty, Type::String | Type::Message(_))
            }
        };
        let on_wire =
            self.path.iter().all(|field| field.number != 0) && !self.row.message.wire_name.is_empty();
        fits && (self.form != Form::Protobuf || on_wire)
    }

    /// Returns the body of about this many bytes, for an object of this name.
    pub fn body(&self, name: &str, bytes: usize) -> Vec<u8> {
        let Some(last) = self.path.last() else { return Vec::new() };
        let element = match self.attack {
            Attack::Empties => Node::Empty,
            Attack::Distinct => Node::Ordinal,
            Attack::Errors => wrong(last.ty, 0),
            Attack::Deepest => {
                // An opening and a closing bracket per level; in protobuf most levels take four bytes.
                let levels = if self.form == Form::Protobuf { bytes / 4 } else { bytes / 2 };
                return self.write(name, Node::Deep(levels));
            }
            Attack::Longest => return self.write(name, Node::Text("x".repeat(bytes))),
            Attack::Words => return self.write(name, Node::Text("0 ".repeat(bytes / 2))),
            Attack::Commas => return self.write(name, Node::Text("0,".repeat(bytes / 2))),
        };
        let distinct = self.attack != Attack::Empties;
        let many = |count| Node::Many { count, distinct, element: Box::new(element.clone()) };
        // The keys and numbers of later elements are longer.
        let some = self.write(name, many(1000)).len();
        let more = self.write(name, many(2000)).len();
        let each = (more - some) / 1000 + usize::from(distinct) * 2;
        self.write(name, many(bytes / each.max(1)))
    }

    /// Serializes the body with `node` at the attacked member.
    fn write(&self, name: &str, node: Node) -> Vec<u8> {
        let mut inner = node;
        let mut members = Vec::new();
        for field in self.path.iter().rev() {
            members = vec![(*field, inner)];
            inner = Node::Struct(members.clone());
        }
        self.add_name(name, &mut members);
        let mut out = Vec::new();
        let head = Some((self.row.group_version, self.row.kind));
        match self.form {
            Form::Protobuf => {
                out.extend_from_slice(b"k8s\0");
                let mut meta = Vec::new();
                let mut raw = Vec::new();
                schema::proto::put_bytes(1, self.row.group_version.as_bytes(), &mut meta);
                schema::proto::put_bytes(2, self.row.kind.as_bytes(), &mut meta);
                for (field, node) in &members {
                    node::wire(field, node, 0, &mut raw);
                }
                schema::proto::put_bytes(1, &meta, &mut out);
                schema::proto::put_bytes(2, &raw, &mut out);
            }
            Form::Cbor => {
                out.extend_from_slice(b"\xd9\xd9\xf7");
                node::object(Notation::Cbor, head, &members, 0, &mut out);
            }
            Form::JsonPatch => {
                let (field, node) = &members[members.len() - 1];
                out.extend_from_slice(
                    format!("[{{\"op\":\"add\",\"path\":\"/{}\",\"value\":", field.name).as_bytes(),
                );
                node::write(Notation::Json, field, node, 0, &mut out);
                out.extend_from_slice(b"}]");
            }
            _ => node::object(Notation::Json, head, &members, 0, &mut out),
        }
        out
    }

    /// Adds the object's name, unless that is the attacked member.
    fn add_name(&self, name: &str, members: &mut Vec<(&'static Field, Node)>) {
        let metadata = node::member(self.row.message, "metadata");
        let Type::Message(meta) = metadata.ty else { return };
        let field = node::member(meta, "name");
        let named = (field, Node::Text(name.to_owned()));
        match members.as_mut_slice() {
            [(first, Node::Struct(inner))] if first.name == "metadata" => {
                if !inner.iter().any(|(field, _)| field.name == "name") {
                    inner.insert(0, named);
                }
            }
            _ => members.insert(0, (metadata, Node::Struct(vec![named]))),
        }
    }
}

/// Returns a value with as many invalid parts as possible.
fn wrong(ty: Type, depth: usize) -> Node {
    match ty {
        Type::Bool => Node::True,
        Type::Int32 | Type::Int64 | Type::Double => Node::Number(-1),
        Type::Message(message) if message.shape == Shape::Struct && depth < 2 => {
            let single = |field: &&Field| field.cardinality == Cardinality::One && field.number != 0;
            let members = message.fields.iter().filter(single);
            Node::Struct(members.map(|field| (field, wrong(field.ty, depth + 1))).collect())
        }
        Type::Message(message) if message.shape == Shape::Struct => Node::Struct(Vec::new()),
        Type::Message(message) if message.shape.is_raw_json() => Node::Empty,
        _ => Node::Wrong,
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let version = self.row.group_version;
        let kind = self.row.kind;
        let member = member_name(&self.path);
        write!(f, "{:?} in {member} of {version} {kind} by {:?}", self.attack, self.form)
    }
}
