//! Index of roles by name and bindings by subject, updated incrementally.

use std::collections::HashMap;
use std::sync::Arc;

use apimachinery::go_quote::quote;
use apimachinery::user_info::UserInfo;
use jsontree::{Object, Value};

use super::Rule;
use super::role_ref::RoleRef;
use super::roles::{RoleRules, Roles};

/// Subject of a binding.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A user by name; service accounts are users.
    User(Box<str>),
    Group(Box<str>),
}

/// A binding in the form for the index.
#[derive(Debug, Clone)]
pub struct Binding {
    role: RoleRef,
    /// Subjects with their reason for an allowed request.
    subjects: Vec<(Subject, Arc<str>)>,
}

impl Binding {
    /// Reads a stored RoleBinding or, without a namespace, ClusterRoleBinding. Skips subjects of unknown
    /// kinds.
    pub fn of(binding: &Object, namespace: &str, name: &str) -> Self {
        let role = RoleRef::of(binding, namespace);
        let (kind, named) = match namespace {
            "" => ("ClusterRoleBinding", quote(name)),
            namespace => ("RoleBinding", quote(&format!("{name}/{namespace}"))),
        };
        let by = format!("RBAC: allowed by {kind} {named} of {} {}", role.kind_text, quote(&role.name));
        let list = binding.get("subjects").and_then(Value::as_array);
        let subjects = list.into_iter().flatten().filter_map(|subject| {
            let (subject, described) = subject_of(subject, namespace)?;
            Some((subject, format!("{by} to {described}").into()))
        });
        Binding { subjects: subjects.collect(), role }
    }
}

/// Reads a subject of a binding, with upstream's description of it.
fn subject_of(subject: &Value, namespace: &str) -> Option<(Subject, String)> {
    let text = |name: &str| subject.get(name).and_then(Value::as_str).unwrap_or("");
    let name = text("name");
    Some(match text("kind") {
        "User" => (Subject::User(name.into()), format!("User {}", quote(name))),
        "Group" => (Subject::Group(name.into()), format!("Group {}", quote(name))),
        "ServiceAccount" => {
            let namespace = if text("namespace").is_empty() { namespace } else { text("namespace") };
            if namespace.is_empty() {
                return None;
            }
            let user = format!("system:serviceaccount:{namespace}:{name}");
            let described = quote(&format!("{name}/{namespace}"));
            (Subject::User(user.into()), format!("ServiceAccount {described}"))
        }
        _ => return None,
    })
}

/// A grant of a role to one subject by a binding.
#[derive(Debug, Clone)]
pub struct Grant {
    binding: Arc<str>,
    /// Position of the role; `None` for an impossible role.
    role_index: Option<usize>,
    pub role: Arc<RoleRef>,
    /// The reason for an allowed request.
    pub reason: Arc<str>,
}

impl Grant {
    /// Returns namespace and name of the binding.
    pub fn identity(&self) -> (&str, &str) {
        (&self.role.namespace, &self.binding)
    }
}

/// Grants of a subject by namespace, ordered by binding name. The empty namespace contains cluster-wide
/// grants.
type Grants = HashMap<Box<str>, Vec<Grant>>;

/// The roles and bindings of a cluster.
#[derive(Debug, Clone, Default)]
pub struct Index {
    roles: Roles,
    users: HashMap<Box<str>, Grants>,
    groups: HashMap<Box<str>, Grants>,
    /// The bindings by namespace and name.
    bindings: HashMap<(Box<str>, Box<str>), BindingSubjects>,
}

/// Data to remove a binding.
#[derive(Debug, Clone)]
struct BindingSubjects {
    role_index: Option<usize>,
    subjects: Vec<Subject>,
}

impl Index {
    /// Updates a role. `None` if it is deleted. Without a namespace it is a cluster role.
    pub fn set_role(&mut self, namespace: &str, name: &str, rules: Option<Vec<Rule>>) {
        self.roles.set(namespace, name, rules);
    }

    /// Updates a binding. `None` if it is deleted. Without a namespace it is a cluster role binding. The cost
    /// is proportional to the grants of its subjects.
    pub fn set_binding(&mut self, namespace: &str, name: &str, binding: Option<Binding>) {
        if let Some(BindingSubjects { role_index, subjects }) =
            self.bindings.remove(&(namespace.into(), name.into()))
        {
            for subject in &subjects {
                self.remove_grant(subject, namespace, name);
            }
            role_index.inspect(|role_index| self.roles.forget(*role_index));
        }
        let Some(Binding { role, subjects }) = binding else { return };
        let role_index = self.roles.add_reference(&role);
        let role: Arc<RoleRef> = Arc::new(role);
        let binding: Arc<str> = name.into();
        let mut bound: Vec<Subject> = Vec::with_capacity(subjects.len());
        for (subject, reason) in subjects {
            let grant = Grant { binding: Arc::clone(&binding), role_index, role: Arc::clone(&role), reason };
            let granted = self.of(&subject).entry(namespace.into()).or_default();
            if let Err(at) = granted.binary_search_by(|grant| (*grant.binding).cmp(name)) {
                granted.insert(at, grant);
                bound.push(subject);
            }
        }
        self.bindings
            .insert((namespace.into(), name.into()), BindingSubjects { role_index, subjects: bound });
    }

    fn of(&mut self, subject: &Subject) -> &mut Grants {
        match subject {
            Subject::User(name) => self.users.entry(name.clone()).or_default(),
            Subject::Group(name) => self.groups.entry(name.clone()).or_default(),
        }
    }

    fn remove_grant(&mut self, subject: &Subject, namespace: &str, binding: &str) {
        let (subjects, name) = match subject {
            Subject::User(name) => (&mut self.users, name),
            Subject::Group(name) => (&mut self.groups, name),
        };
        let Some(grants) = subjects.get_mut(name) else { return };
        if let Some(granted) = grants.get_mut(namespace) {
            if let Ok(at) = granted.binary_search_by(|grant| (*grant.binding).cmp(binding)) {
                granted.remove(at);
            }
            if granted.is_empty() {
                grants.remove(namespace);
            }
        }
        if grants.is_empty() {
            subjects.remove(name);
        }
    }

    /// Returns the grants of a user for a namespace, cluster-wide ones first. A binding occurs once for each
    /// of its subjects that match the user.
    pub fn grants<'i>(&'i self, user: &'i UserInfo, namespace: &'i str) -> impl Iterator<Item = &'i Grant> {
        let scopes = ["", namespace].into_iter().take(if namespace.is_empty() { 1 } else { 2 });
        scopes.flat_map(move |scope| {
            let of_user = self.users.get(user.name.as_str());
            let groups = user.groups.iter().filter_map(|group| self.groups.get(group.as_str()));
            of_user.into_iter().chain(groups).filter_map(move |grants| grants.get(scope)).flatten()
        })
    }

    /// Returns the rules of a role; `None` if it does not exist.
    pub fn rules(&self, role: &RoleRef) -> Option<&[Rule]> {
        let place = self.roles.find(role.kind?, &role.namespace, &role.name)?;
        self.roles.get(place).map(|granted| &*granted.rules)
    }

    /// Returns the rules of a granted role like [`rules`](Self::rules), without a look-up by name.
    pub(super) fn rules_of_grant(&self, grant: &Grant) -> Option<&RoleRules> {
        self.roles.get(grant.role_index?)
    }
}
