//! Subjects of OpenAPI 3.0 documents.

use api::catalog::Catalog;
use api::resources::{self, Resource};
use schema::builtin::{
    IO_K8S_APIMACHINERY_PKG_APIS_META_V1_APIGROUP, IO_K8S_APIMACHINERY_PKG_APIS_META_V1_APIGROUPLIST,
    IO_K8S_APIMACHINERY_PKG_APIS_META_V1_APIRESOURCELIST, IO_K8S_APIMACHINERY_PKG_APIS_META_V1_APIVERSIONS,
    IO_K8S_APIMACHINERY_PKG_VERSION_INFO,
};
use schema::table::Message;

use super::model::ResponseBody;
use super::names;
use super::paths::DocumentPath;

/// Subject of one document, named after the path below `/openapi/v3/`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Subject {
    /// `/api`
    Api,
    /// `/apis`
    Apis,
    /// `/apis/<group>`
    Group(&'static str),
    GroupVersion(&'static resources::Group, &'static str),
    /// `/version`
    Version,
    /// `/.well-known/openid-configuration`
    OpenIdConfiguration,
    /// `/openid/v1/jwks`
    OpenIdKeys,
}

impl Subject {
    /// Path below `/openapi/v3/`.
    pub(super) fn path(self) -> String {
        match self {
            Subject::Api => "api".to_owned(),
            Subject::Apis => "apis".to_owned(),
            Subject::Group(name) => format!("apis/{name}"),
            Subject::GroupVersion(group, version) if group.name.is_empty() => format!("api/{version}"),
            Subject::GroupVersion(group, version) => format!("apis/{}/{version}", group.name),
            Subject::Version => "version".to_owned(),
            Subject::OpenIdConfiguration => ".well-known/openid-configuration".to_owned(),
            Subject::OpenIdKeys => "openid/v1/jwks".to_owned(),
        }
    }

    /// Group of the document; `None` for a document that never changes.
    pub(super) fn group(self) -> Option<&'static str> {
        match self {
            Subject::Group(name) => Some(name),
            Subject::GroupVersion(group, _) => Some(group.name),
            _ => None,
        }
    }

    /// Returns the built-in subjects that are in the catalog, sorted by path.
    pub(super) fn all(catalog: &Catalog) -> Vec<Subject> {
        let served = |row: &Resource<'_>| catalog.serves(row);
        let mut all = vec![
            Subject::Api,
            Subject::Apis,
            Subject::Version,
            Subject::OpenIdConfiguration,
            Subject::OpenIdKeys,
        ];
        for group in resources::groups() {
            let versions = group.versions.iter().filter(|v| group.resources_of(v.version).iter().any(served));
            let mut versions = versions.map(|v| Subject::GroupVersion(group, v.version)).peekable();
            if versions.peek().is_some() && !group.name.is_empty() {
                all.push(Subject::Group(group.name));
            }
            all.extend(versions);
        }
        all.sort_by_cached_key(|subject| subject.path());
        all
    }

    pub(super) fn document(self) -> DocumentPath {
        let path = format!("/{}/", self.path());
        let discovery = |id: String, description, tag: String, message: &'static Message| {
            DocumentPath::discovery(path.clone(), id, description, tag, message.name)
        };
        match self {
            Subject::Api => discovery(
                "getCoreAPIVersions".to_owned(),
                "get available API versions",
                "core".to_owned(),
                &IO_K8S_APIMACHINERY_PKG_APIS_META_V1_APIVERSIONS,
            ),
            Subject::Apis => discovery(
                "getAPIVersions".to_owned(),
                "get available API versions",
                "apis".to_owned(),
                &IO_K8S_APIMACHINERY_PKG_APIS_META_V1_APIGROUPLIST,
            ),
            Subject::Group(name) => {
                let (words, tag) = names::group_version(name, "");
                let message = &IO_K8S_APIMACHINERY_PKG_APIS_META_V1_APIGROUP;
                discovery(format!("get{words}APIGroup"), "get information of a group", tag, message)
            }
            Subject::GroupVersion(group, version) => {
                let (words, tag) = names::group_version(group.name, version);
                let message = &IO_K8S_APIMACHINERY_PKG_APIS_META_V1_APIRESOURCELIST;
                discovery(format!("get{words}APIResources"), "get available resources", tag, message)
            }
            Subject::Version => DocumentPath {
                path,
                id: "getCodeVersion".to_owned(),
                description: "get the version information for this server",
                tag: "version".to_owned(),
                response: ResponseBody::Object(IO_K8S_APIMACHINERY_PKG_VERSION_INFO.name.into()),
                media_types: &["application/json"],
            },
            Subject::OpenIdConfiguration => DocumentPath {
                path,
                id: "getServiceAccountIssuerOpenIDConfiguration".to_owned(),
                description: "get service account issuer OpenID configuration, also known as the 'OIDC \
                              discovery doc'",
                tag: "WellKnown".to_owned(),
                response: ResponseBody::String,
                media_types: &["application/json"],
            },
            Subject::OpenIdKeys => DocumentPath {
                path,
                id: "getServiceAccountIssuerOpenIDKeyset".to_owned(),
                description: "get service account issuer OpenID JSON Web Key Set (contains public token \
                              verification keys)",
                tag: "openid".to_owned(),
                response: ResponseBody::String,
                media_types: &["application/jwk-set+json"],
            },
        }
    }
}
