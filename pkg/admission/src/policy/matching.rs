//! Matches a request with policies, bindings and params.

use std::sync::Arc;

use apimachinery::status::Status;
use schema::object::Object;

use super::PolicyDeps;
use super::catalog::Candidate;
use super::error::PolicyError;
use super::index::Labels;
use super::model::{Binding, Policy};
use super::params::{self, Param};
use crate::Attributes;
use crate::dynamic::{Invocation, NamespaceLookup};

/// A request that is matched with one policy after the other.
pub(super) struct RequestMatcher<'r> {
    policy_deps: &'r PolicyDeps,
    attributes: &'r Attributes<'r>,
    namespace: NamespaceLookup<'r>,
}

impl<'r> RequestMatcher<'r> {
    pub(super) fn new(deps: &'r PolicyDeps, attributes: &'r Attributes<'r>) -> Self {
        RequestMatcher {
            policy_deps: deps,
            attributes,
            namespace: NamespaceLookup::new(deps.deps.objects.as_ref()),
        }
    }

    /// Returns the version in which to present the request, if the policy matches.
    ///
    /// # Errors
    /// An error of the match, or a configuration error of the policy.
    pub(super) async fn policy<E>(
        &self,
        candidate: &Candidate<E>,
        object: Option<&Object>,
    ) -> Result<Option<Invocation>, PolicyError> {
        let a = self.attributes;
        let policy = &candidate.policy;
        let versions = self.policy_deps.deps.versions.as_ref();
        let selected = match &candidate.invocation {
            Some(invocation) => Some(invocation.clone()),
            None => policy.criteria.select_or_all(a.operation, a.endpoint, a.name, versions),
        };
        let Some(invocation) = selected else { return Ok(None) };
        let selects = policy.criteria.selected(a, object, &self.namespace).await;
        if !selects.map_err(PolicyError::LookUp)? {
            return Ok(None);
        }
        match &policy.param_kind {
            Some(kind) if self.policy_deps.params.is_namespaced(kind).is_none() => {
                let kind = kind.as_group_version_kind();
                let text = format!("failed to find resource referenced by paramKind: '{kind}'");
                Err(PolicyError::Configuration(text))
            }
            _ => Ok(Some(invocation)),
        }
    }

    /// Returns the positions of bindings that may match the request.
    pub(super) async fn matching_bindings<E>(
        &self,
        candidate: &Candidate<E>,
        object: Option<&Object>,
    ) -> Vec<usize> {
        let a = self.attributes;
        let objects = [object, a.old];
        let is_namespace = a.resource.plural == "namespaces";
        if !candidate.index.needs_namespace() || a.namespace.is_empty() && !is_namespace {
            return candidate.index.find(&Labels::Any, objects);
        }
        if let Some(object) = object.filter(|_| is_namespace && a.subresource().is_empty() && a.writes()) {
            return candidate.index.find(&Labels::Of(object), objects);
        }
        // If the namespace is missing, each binding reports that error.
        match self.namespace.stored(a).await {
            Ok(namespace) => candidate.index.find(&Labels::Of(&namespace), objects),
            Err(_) => candidate.index.find(&Labels::Any, objects),
        }
    }

    /// True if a binding matches the request.
    ///
    /// # Errors
    /// An error of the match.
    pub(super) async fn binding(
        &self,
        binding: &Binding,
        object: Option<&Object>,
    ) -> Result<bool, PolicyError> {
        let Some(criteria) = &binding.criteria else { return Ok(true) };
        let a = self.attributes;
        let versions = self.policy_deps.deps.versions.as_ref();
        let by_name = criteria.has_names();
        if by_name && criteria.select_or_all(a.operation, a.endpoint, a.name, versions).is_none() {
            return Ok(false);
        }
        criteria.selected(a, object, &self.namespace).await.map_err(PolicyError::LookUp)
    }

    /// Returns the params of a binding.
    ///
    /// # Errors
    /// An error in the binding or its params.
    pub(super) async fn params<E>(
        &self,
        policy: &Policy<E>,
        binding: &Binding,
    ) -> Result<Vec<Option<Param>>, PolicyError> {
        let kind = policy.param_kind.as_ref();
        params::collect(self.policy_deps.params.as_ref(), kind, binding, self.attributes.namespace).await
    }

    /// Returns the namespace for expressions. `None` for cluster-scoped objects and for namespaces.
    ///
    /// # Errors
    /// 404; errors of storage.
    pub(super) async fn namespace(&self) -> Result<Option<Arc<Object>>, Box<Status>> {
        let endpoint = self.attributes.endpoint;
        let is_namespace = (endpoint.kind_group_version, endpoint.kind) == ("v1", "Namespace");
        if self.attributes.namespace.is_empty() || is_namespace {
            Ok(None)
        } else {
            self.namespace.stored(self.attributes).await.map(Some)
        }
    }
}
