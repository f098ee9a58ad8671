//! What somebody may do, as a list: for those who want to show it. It decides nothing.

/// What an authorizer can list of what it lets a user do in a namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// About resources.
    pub resources: Vec<ResourceRule>,
    /// About other paths.
    pub paths: Vec<PathRule>,
    /// Whether there may be more than is listed.
    pub incomplete: bool,
    /// Why; may be empty.
    pub error: String,
}

/// Lets some verbs be used on some resources. `*` stands for everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceRule {
    /// Verbs.
    pub verbs: Vec<String>,
    /// Groups.
    pub groups: Vec<String>,
    /// Plural names, perhaps with a subresource (`pods/log`).
    pub resources: Vec<String>,
    /// Names of objects; empty for all.
    pub names: Vec<String>,
}

/// Lets some verbs be used on some paths. A `*` at the end of a path stands for whatever follows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathRule {
    /// Verbs.
    pub verbs: Vec<String>,
    /// Paths.
    pub paths: Vec<String>,
}

impl Rules {
    /// Of somebody who may do everything.
    pub fn everything() -> Self {
        let all = || vec!["*".to_owned()];
        Rules {
            resources: vec![ResourceRule {
                verbs: all(),
                groups: all(),
                resources: all(),
                names: Vec::new(),
            }],
            paths: vec![PathRule { verbs: all(), paths: all() }],
            ..Rules::default()
        }
    }

    /// Of an authorizer that cannot list what it allows.
    pub fn unknown() -> Self {
        Rules { incomplete: true, ..Rules::default() }
    }

    /// Adds what another authorizer lists.
    pub fn extend(&mut self, other: Rules) {
        self.resources.extend(other.resources);
        self.paths.extend(other.paths);
        self.incomplete |= other.incomplete;
        if !self.error.is_empty() && !other.error.is_empty() {
            self.error.push_str(", ");
        }
        self.error.push_str(&other.error);
    }
}
