//! The built-in kinds by name, and the operations of endpoints.

// `Builtin`, and the macro `for_each_builtin` for other crates. `build/kinds.rs` generates them from the
// declarations of the groups.
include!(concat!(env!("OUT_DIR"), "/kinds.rs"));

impl Builtin {
    /// Finds a kind by its name, which is unique among the groups. Custom resources can have the same name.
    pub fn from_name(name: &str) -> Option<Self> {
        let at = Self::ALL.binary_search_by(|kind| kind.name().cmp(name)).ok()?;
        Self::ALL.get(at).copied()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointOperation {
    /// Reads and writes objects that are stored.
    Store,
    /// Reads and writes the replicas of a stored object.
    Scale,
    /// Assigns a pod to a node.
    Bind,
    /// Deletes a pod, if its disruption budgets allow.
    Evict,
    /// Issues a token of a service account.
    IssueToken,
    /// Reads the log of a container.
    Log,
    /// Reads the health of control plane components.
    ComponentStatus,
    /// Evaluates a review.
    Review(Review),
    Stream(Stream),
    /// Forwards the request.
    Proxy(Backend),
}

/// Review: a request in the form of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Review {
    /// Returns the user's own identity.
    SelfSubject,
    /// Authenticates a token.
    Token,
    /// Checks the access of a given user.
    SubjectAccess,
    /// Checks the access of a given user in one namespace.
    LocalSubjectAccess,
    /// Checks the user's own access.
    SelfSubjectAccess,
    /// Lists the user's own permissions.
    SelfSubjectRules,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Exec,
    /// Joins the container's own program.
    Attach,
    PortForward,
}

/// Target of a `proxy` subresource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    Node,
    Pod,
    /// One of the pods of a Service.
    Service,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_found_by_name() {
        for kind in Builtin::ALL {
            assert_eq!(Builtin::from_name(kind.name()), Some(*kind));
        }
        assert_eq!(Builtin::from_name("Scale"), None);
    }

    #[test]
    fn rows_have_the_kind_of_their_group() {
        for row in crate::resources::all().filter(|row| row.subresource.is_empty()) {
            let Some(kind) = row.builtin else { continue };
            // Events are in two groups.
            let in_group = kind.group() == row.group || kind == Builtin::Event;
            assert!(in_group && kind.name() == row.kind, "{} {}", row.group, row.kind);
        }
    }
}
