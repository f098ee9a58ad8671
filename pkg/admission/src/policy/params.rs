//! Param objects of policies.

use std::sync::Arc;

use apimachinery::labels::Selector;
use async_trait::async_trait;
use schema::object::Object;
use schema::table::Message;

use super::error::{ParamError, PolicyError};
use super::model::{Binding, ParamKind, ParamRef};

/// A param, in the version of its [`ParamKind`].
#[derive(Debug, Clone)]
pub struct Param {
    /// The object with `kind` and `apiVersion`.
    pub object: Arc<Object>,
    pub message: &'static Message,
}

/// Looks up params. Those that exist are in memory; only an absent name costs a round trip to storage.
#[async_trait]
pub trait Params: Send + Sync + 'static {
    /// True if the kind is namespaced; `None` if it is not served. Must be cheap.
    fn is_namespaced(&self, kind: &ParamKind) -> Option<bool>;

    /// Returns an object. The namespace is empty for cluster-scoped kinds.
    ///
    /// # Errors
    /// [`ParamError`].
    async fn get(&self, kind: &ParamKind, namespace: &str, name: &str) -> Result<Option<Param>, ParamError>;

    /// Returns all objects of a namespace, or of a cluster-scoped kind, ordered by name.
    ///
    /// # Errors
    /// [`ParamError`].
    async fn list(&self, kind: &ParamKind, namespace: &str) -> Result<Vec<Param>, ParamError>;
}

/// Returns the params for a binding. `None` in the list means an evaluation without params.
///
/// # Errors
/// Upstream's message about an error in the binding or its params.
pub(super) async fn collect(
    params: &dyn Params,
    kind: Option<&ParamKind>,
    binding: &Binding,
    namespace: &str,
) -> Result<Vec<Option<Param>>, PolicyError> {
    let (Some(kind), Some(reference)) = (kind, &binding.param_ref) else { return Ok(vec![None]) };
    let unknown = || PolicyError::Configuration(format!("paramKind kind `{kind}` not known"));
    let namespaced = params.is_namespaced(kind).ok_or_else(unknown)?;
    let namespace = match (namespaced, &*reference.namespace, namespace) {
        (false, "", _) => "",
        (false, _, _) => {
            return Err(misconfigured(
                "paramRef.namespace must not be provided for a cluster-scoped `paramKind`",
            ));
        }
        (true, "", "") => {
            return Err(misconfigured(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources",
            ));
        }
        (true, "", of_request) => of_request,
        (true, given_namespace, _) => given_namespace,
    };
    let objects = find(params, kind, reference, namespace).await?;
    if objects.is_empty() && reference.denies_absence {
        return Err(misconfigured("no params found for policy binding with `Deny` parameterNotFoundAction"));
    }
    Ok(objects.into_iter().map(Some).collect())
}

async fn find(
    params: &dyn Params,
    kind: &ParamKind,
    reference: &ParamRef,
    namespace: &str,
) -> Result<Vec<Param>, PolicyError> {
    match (&*reference.name, &reference.selector) {
        ("", None) => Err(misconfigured("one of name or selector must be provided")),
        ("", Some(selector)) => {
            let selector = selector.as_ref().map_err(Clone::clone)?;
            let all = params.list(kind, namespace).await?;
            Ok(all.into_iter().filter(|param| selects(selector, &param.object)).collect())
        }
        (_, Some(_)) => Err(misconfigured("paramRef.name and paramRef.selector are mutually exclusive")),
        (name, None) => {
            let object = params.get(kind, namespace, name).await?;
            Ok(object.into_iter().collect())
        }
    }
}

fn misconfigured(text: &str) -> PolicyError {
    PolicyError::Configuration(text.to_owned())
}

fn selects(selector: &Selector, object: &Object) -> bool {
    let labels =
        api::tree::child(object, "metadata").and_then(|metadata| api::tree::child(metadata, "labels"));
    selector.matches(|key| labels?.get(key)?.as_str())
}
