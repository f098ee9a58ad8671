//! List of a user's permissions, for display only. It is not used for decisions.

/// Permissions of a user in a namespace, as far as an authorizer can list them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    pub resources: Vec<ResourceRule>,
    /// Rules about non-resource paths.
    pub paths: Vec<PathRule>,
    /// True if the list may be incomplete.
    pub incomplete: bool,
    /// Reason for the incompleteness; may be empty.
    pub error: String,
}

/// Allows verbs on resources. `*` matches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceRule {
    pub verbs: Vec<String>,
    pub groups: Vec<String>,
    /// Plural names, optionally with a subresource (`pods/log`).
    pub resources: Vec<String>,
    /// Names of objects; empty for all.
    pub names: Vec<String>,
}

/// Allows verbs on paths. A trailing `*` matches any suffix.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathRule {
    pub verbs: Vec<String>,
    pub paths: Vec<String>,
}

impl Rules {
    /// Returns rules that allow everything.
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

    /// Returns the rules of an authorizer that cannot list its permissions.
    pub fn unknown() -> Self {
        Rules { incomplete: true, ..Rules::default() }
    }

    /// Adds the rules of another authorizer.
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
