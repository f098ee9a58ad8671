//! Matching of requests to flow schemas, with compiled rules.
//!
//! Every rule is in the list of each of its subjects, in matching order. A request therefore checks only the
//! rules for its user and groups, and its strings are mapped to numbers once. The search leaves a list as
//! soon as its next rule comes after the best match so far.

use std::collections::HashMap;

use crate::config::{FlowSchema, NonResourceRule, ResourceRule, Rule, Subject};
use crate::digest::{RequestDigest, Target};

const ALL: &str = "*";
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// The compiled rules of a sequence of schemas.
#[derive(Debug, Default)]
pub(crate) struct Matcher {
    strings: StringInterner,
    rules: Vec<CompiledSchema>,
    all_users: Vec<usize>,
    users: HashMap<Box<str>, Vec<usize>>,
    groups: HashMap<Box<str>, Vec<usize>>,
    /// Rules for all service accounts of a namespace, by namespace.
    service_accounts: HashMap<Box<str>, Vec<usize>>,
}

impl Matcher {
    /// Compiles the rules of `schemas`, which are in matching order.
    pub(crate) fn new(schemas: &[FlowSchema]) -> Self {
        let mut matcher = Matcher::default();
        for (schema, FlowSchema { rules, .. }) in schemas.iter().enumerate() {
            for rule in rules {
                let number = matcher.rules.len();
                for subject in &rule.subjects {
                    matcher.list(subject).push(number);
                }
                let compiled = CompiledSchema::new(schema, rule, &mut matcher.strings);
                matcher.rules.push(compiled);
            }
        }
        matcher
    }

    /// Returns the rule list of `subject`.
    fn list(&mut self, subject: &Subject) -> &mut Vec<usize> {
        match subject {
            Subject::User(name) | Subject::Group(name) if name == ALL => &mut self.all_users,
            Subject::User(name) => self.users.entry(name.as_str().into()).or_default(),
            Subject::Group(name) => self.groups.entry(name.as_str().into()).or_default(),
            Subject::ServiceAccount { namespace, name } if name == ALL => {
                self.service_accounts.entry(namespace.as_str().into()).or_default()
            }
            Subject::ServiceAccount { namespace, name } => {
                self.users.entry(format!("{SERVICE_ACCOUNT}{namespace}:{name}").into()).or_default()
            }
        }
    }

    /// Returns the index of the first schema that matches.
    pub(crate) fn find(&self, digest: &RequestDigest<'_>) -> Option<usize> {
        let sought = CompiledRequest::new(digest, &self.strings);
        let mut first = self.rules.len();
        let mut look = |list: Option<&Vec<usize>>| {
            let earlier = list.into_iter().flatten().take_while(|&&rule| rule < first);
            first = earlier.copied().find(|&rule| self.rules[rule].matches(&sought)).unwrap_or(first);
        };
        look(Some(&self.all_users));
        look(self.users.get(digest.user));
        let account = digest.user.strip_prefix(SERVICE_ACCOUNT).and_then(|rest| rest.split_once(':'));
        look(account.and_then(|(namespace, _)| self.service_accounts.get(namespace)));
        for group in digest.groups {
            look(self.groups.get(group.as_str()));
        }
        self.rules.get(first).map(|rule| rule.schema)
    }
}

/// String interner of all rules.
#[derive(Debug, Default)]
struct StringInterner {
    all: HashMap<Box<str>, u32>,
    /// Number of the empty string, which is the core group.
    empty: StringId,
}

/// Number of a string; `None` if no rule contains it.
type StringId = Option<u32>;

impl StringInterner {
    fn intern(&mut self, text: &str) -> u32 {
        let next = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        let word = *self.all.entry(text.into()).or_insert(next);
        if text.is_empty() {
            self.empty = Some(word);
        }
        word
    }

    fn find(&self, text: &str) -> StringId {
        if text.is_empty() { self.empty } else { self.all.get(text).copied() }
    }
}

/// Set of matching strings.
#[derive(Debug)]
enum StringSet {
    All,
    Of(Box<[u32]>),
}

impl StringSet {
    fn new(texts: &[String], words: &mut StringInterner) -> Self {
        if let [only] = texts
            && only == ALL
        {
            return StringSet::All;
        }
        let mut of: Vec<u32> = texts.iter().map(|text| words.intern(text)).collect();
        of.sort_unstable();
        StringSet::Of(of.into())
    }

    fn contains(&self, word: StringId) -> bool {
        match self {
            StringSet::All => true,
            StringSet::Of(of) => word.is_some_and(|word| of.binary_search(&word).is_ok()),
        }
    }
}

/// Set of matching resources: both parts of `pods/status`.
#[derive(Debug)]
enum Resources {
    All,
    Of(Box<[(u32, Option<u32>)]>),
}

impl Resources {
    fn new(texts: &[String], words: &mut StringInterner) -> Self {
        if let [only] = texts
            && only == ALL
        {
            return Resources::All;
        }
        let mut of: Vec<_> = texts
            .iter()
            .map(|text| match text.split_once('/') {
                Some((resource, subresource)) => (words.intern(resource), Some(words.intern(subresource))),
                None => (words.intern(text), None),
            })
            .collect();
        of.sort_unstable();
        Resources::Of(of.into())
    }

    fn has(&self, sought: &CompiledResource) -> bool {
        match (self, sought.resource, sought.subresource) {
            (Resources::All, ..) => true,
            (_, None, _) | (_, _, Some(None)) => false,
            (Resources::Of(of), Some(resource), subresource) => {
                of.binary_search(&(resource, subresource.flatten())).is_ok()
            }
        }
    }
}

/// A request with its strings as numbers.
struct CompiledRequest<'a> {
    verb: StringId,
    target: CompiledTarget<'a>,
}

enum CompiledTarget<'a> {
    Resource(CompiledResource),
    Path(&'a str),
}

struct CompiledResource {
    group: StringId,
    resource: StringId,
    /// `None` for the object itself.
    subresource: Option<StringId>,
    /// `None` for a cluster-scoped request.
    namespace: Option<StringId>,
}

impl<'a> CompiledRequest<'a> {
    fn new(digest: &RequestDigest<'a>, words: &StringInterner) -> Self {
        let present = |text: &str| (!text.is_empty()).then(|| words.find(text));
        let target = match digest.target {
            Target::Path(path) => CompiledTarget::Path(path),
            Target::Resource { group, resource, subresource, namespace } => {
                CompiledTarget::Resource(CompiledResource {
                    group: words.find(group),
                    resource: words.find(resource),
                    subresource: present(subresource),
                    namespace: present(namespace),
                })
            }
        };
        CompiledRequest { verb: words.find(digest.verb), target }
    }
}

/// A compiled rule and the index of its schema.
#[derive(Debug)]
struct CompiledSchema {
    schema: usize,
    resources: Vec<CompiledResourceRule>,
    paths: Vec<CompiledPathRule>,
}

#[derive(Debug)]
struct CompiledResourceRule {
    verbs: StringSet,
    groups: StringSet,
    resources: Resources,
    cluster_scope: bool,
    namespaces: StringSet,
}

#[derive(Debug)]
struct CompiledPathRule {
    verbs: StringSet,
    paths: Vec<PathPrefix>,
}

/// A path and its subtree.
#[derive(Debug)]
enum PathPrefix {
    All,
    Path {
        /// The path as written in the rule.
        path: Box<str>,
        /// The path with one slash at its end.
        prefix: Box<str>,
    },
}

impl CompiledSchema {
    fn new(schema: usize, rule: &Rule, words: &mut StringInterner) -> Self {
        let resources =
            rule.resource_rules.iter().map(|rule| CompiledResourceRule::new(rule, words)).collect();
        let paths = rule.non_resource_rules.iter().map(|rule| CompiledPathRule::new(rule, words)).collect();
        CompiledSchema { schema, resources, paths }
    }

    fn matches(&self, sought: &CompiledRequest<'_>) -> bool {
        match &sought.target {
            CompiledTarget::Resource(resource) => {
                self.resources.iter().any(|rule| rule.matches(sought.verb, resource))
            }
            CompiledTarget::Path(path) => self.paths.iter().any(|rule| rule.matches(sought.verb, path)),
        }
    }
}

impl CompiledResourceRule {
    fn new(rule: &ResourceRule, words: &mut StringInterner) -> Self {
        CompiledResourceRule {
            verbs: StringSet::new(&rule.verbs, words),
            groups: StringSet::new(&rule.groups, words),
            resources: Resources::new(&rule.resources, words),
            cluster_scope: rule.cluster_scope,
            namespaces: StringSet::new(&rule.namespaces, words),
        }
    }

    fn matches(&self, verb: StringId, sought: &CompiledResource) -> bool {
        self.resources.has(sought)
            && self.verbs.contains(verb)
            && self.groups.contains(sought.group)
            && match sought.namespace {
                None => self.cluster_scope,
                Some(namespace) => self.namespaces.contains(namespace),
            }
    }
}

impl CompiledPathRule {
    fn new(rule: &NonResourceRule, words: &mut StringInterner) -> Self {
        let below = |path: &String| match path.as_str() {
            ALL => PathPrefix::All,
            path => {
                let stem = path.strip_suffix('*').unwrap_or(path);
                let slash = if stem.ends_with('/') { "" } else { "/" };
                PathPrefix::Path { path: path.into(), prefix: format!("{stem}{slash}").into() }
            }
        };
        CompiledPathRule {
            verbs: StringSet::new(&rule.verbs, words),
            paths: rule.paths.iter().map(below).collect(),
        }
    }

    fn matches(&self, verb: StringId, path: &str) -> bool {
        let is_below = |below: &PathPrefix| match below {
            PathPrefix::All => true,
            PathPrefix::Path { path: itself, prefix } => path == &**itself || path.starts_with(&**prefix),
        };
        self.verbs.contains(verb) && self.paths.iter().any(is_below)
    }
}

#[cfg(test)]
mod tests;
