//! The ConfigMap `kube-system/extension-apiserver-authentication`. Extension API servers, the controller
//! manager and the scheduler use it to authenticate clients like this server (upstream's
//! `controller/clusterauthenticationtrust`).
//!
//! Several servers with possibly different flags write it. Each one therefore merges its data into the
//! existing object. Only expired certificates are removed.

mod bundle;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use api::tree;
use jsontree::json;
use registry::Registry;
use registry::client::{Client, LookupError, ReadFreshness};
use schema::object::Object;

use crate::config::{AuthenticationConfig, RequestHeaderConfig};
use bundle::{Bundle, BundleError};
use controllers::desired_state::object;
use controllers::hook::PostStartHook;
use controllers::tasks::{FirstRound, Schedule, Tasks};

const NAMESPACE: &str = "kube-system";
const NAME: &str = "extension-apiserver-authentication";
const CLIENT_CA: &str = "client-ca-file";
const HEADER_CA: &str = "requestheader-client-ca-file";
const UID_HEADERS: &str = "requestheader-uid-headers";
const DESCRIPTION: &str = "authentication information";
/// Interval between comparisons of files and object. Upstream watches the files. Clients wait for a rotated
/// CA in this object before they use it. One comparison takes a fraction of a millisecond.
const PERIOD: Duration = Duration::from_secs(5);

/// Reconciles the ConfigMap.
pub(crate) struct AuthenticationInfo {
    client_authorities: Vec<PathBuf>,
    headers: RequestHeaderConfig,
    client: Client,
}

/// Data of the ConfigMap or of this server.
#[derive(Debug, Default, PartialEq, Eq)]
struct ClusterAuthenticationInfo {
    client_ca: Bundle,
    header_ca: Bundle,
    /// By key of the ConfigMap.
    lists: BTreeMap<&'static str, Vec<String>>,
}

/// The keys with lists as values.
const LISTS: [&str; 5] = [
    "requestheader-username-headers",
    UID_HEADERS,
    "requestheader-group-headers",
    "requestheader-extra-headers-prefix",
    "requestheader-allowed-names",
];

/// Error of this server's files or of the stored data.
#[derive(Debug, thiserror::Error)]
enum InformationError {
    #[error("{place}: {source}")]
    File { place: String, source: std::io::Error },
    /// A file or a key of the ConfigMap contains invalid certificates.
    #[error("{place}: {source}")]
    Bundle { place: String, source: BundleError },
    /// A key of the ConfigMap contains an invalid list.
    #[error("{key}: {source}")]
    List { key: &'static str, source: serde_json::Error },
}

fn invalid(error: InformationError) -> controllers::Error {
    controllers::Error::Invalid(error.to_string())
}

impl AuthenticationInfo {
    /// Creates the reconciler for these options and files.
    ///
    /// # Errors
    /// ConfigMaps are not served.
    pub(crate) fn new(
        config: &AuthenticationConfig,
        client_authorities: Vec<PathBuf>,
        registry: &Registry,
    ) -> Result<Self, LookupError> {
        let headers = config.request_header.clone();
        Ok(AuthenticationInfo {
            client_authorities,
            headers,
            client: Client::find(registry, "", "configmaps")?,
        })
    }

    /// Returns a hook that writes the ConfigMap at start and keeps comparing it. A failed write does not stop
    /// the server.
    pub(crate) fn hook(self: Arc<Self>, tasks: &Tasks) -> PostStartHook {
        let tasks = tasks.clone();
        let round = move || {
            let information = Arc::clone(&self);
            async move { information.sync().await }
        };
        let work = Box::pin(async move {
            let first = if round().await.is_ok() { FirstRound::AfterPeriod } else { FirstRound::Now };
            tasks.spawn(Schedule { name: DESCRIPTION, period: PERIOD, jitter: 0.1, first }, round);
            Ok(())
        });
        PostStartHook { name: "start-cluster-authentication-info-controller", work }
    }

    async fn sync(&self) -> Result<(), controllers::Error> {
        let own = self.own_info().map_err(invalid)?;
        let now = self.client.now().seconds;
        // An unreadable object is left alone and reported.
        let current = self.client.get(NAMESPACE, NAME, ReadFreshness::Cached).await?;
        current
            .map_or(Ok(ClusterAuthenticationInfo::default()), |current| {
                ClusterAuthenticationInfo::read(&current)
            })
            .map_err(invalid)?;
        let desired = |current: Option<&Object>| desired_object(current, &own, now).ok().flatten();
        let reconciled = self.client.reconcile(NAMESPACE, NAME, &desired).await;
        reconciled?;
        Ok(())
    }

    /// Reads this server's data. Files are read again each time.
    fn own_info(&self) -> Result<ClusterAuthenticationInfo, InformationError> {
        let read = |path: &PathBuf| {
            let place = || path.display().to_string();
            let text = std::fs::read_to_string(path)
                .map_err(|source| InformationError::File { place: place(), source })?;
            Bundle::parse(&text).map_err(|source| InformationError::Bundle { place: place(), source })
        };
        let mut client_ca = Bundle::default();
        for path in &self.client_authorities {
            client_ca = client_ca.append(read(path)?);
        }
        let Some(path) = &self.headers.ca_file else {
            return Ok(ClusterAuthenticationInfo { client_ca, ..ClusterAuthenticationInfo::default() });
        };
        let headers = &self.headers;
        let values = [
            &headers.username_headers,
            &headers.uid_headers,
            &headers.group_headers,
            &headers.extra_prefixes,
            &headers.allowed_names,
        ];
        let lists = LISTS.into_iter().zip(values.map(Clone::clone)).collect();
        Ok(ClusterAuthenticationInfo { client_ca, header_ca: read(path)?, lists })
    }
}

impl ClusterAuthenticationInfo {
    /// Parses a ConfigMap.
    fn read(config_map: &Object) -> Result<Self, InformationError> {
        let nothing = Object::new();
        let data = tree::child(config_map, "data").unwrap_or(&nothing);
        let bundle = |key: &str| {
            let parsed = tree::maybe_text(data, key).filter(|text| !text.is_empty()).map(Bundle::parse);
            let place = key.to_owned();
            let parsed = parsed.transpose().map_err(|source| InformationError::Bundle { place, source });
            parsed.map(Option::unwrap_or_default)
        };
        let list = |key: &'static str| match tree::text(data, key) {
            "" => Ok((key, Vec::new())),
            text => match serde_json::from_str(text) {
                Ok(list) => Ok((key, list)),
                Err(source) => Err(InformationError::List { key, source }),
            },
        };
        Ok(ClusterAuthenticationInfo {
            client_ca: bundle(CLIENT_CA)?,
            header_ca: bundle(HEADER_CA)?,
            lists: LISTS.into_iter().map(list).collect::<Result<_, _>>()?,
        })
    }

    /// Merges both, with `self` first.
    fn merge(mut self, other: &ClusterAuthenticationInfo) -> Self {
        for (key, more) in &other.lists {
            let list = self.lists.entry(key).or_default();
            for text in more {
                if !list.contains(text) {
                    list.push(text.clone());
                }
            }
        }
        ClusterAuthenticationInfo {
            client_ca: self.client_ca.append(other.client_ca.clone()),
            header_ca: self.header_ca.append(other.header_ca.clone()),
            lists: self.lists,
        }
    }

    /// Builds the data of a ConfigMap. Headers are included only with a CA.
    fn data(&self, now: i64) -> BTreeMap<&'static str, String> {
        let mut data = BTreeMap::new();
        let client_ca = self.client_ca.valid_pem(now);
        let header_ca = self.header_ca.valid_pem(now);
        if !client_ca.is_empty() {
            data.insert(CLIENT_CA, client_ca);
        }
        if !header_ca.is_empty() {
            data.insert(HEADER_CA, header_ca);
            let lists = LISTS.into_iter().map(|key| (key, self.lists.get(key).cloned().unwrap_or_default()));
            let published = lists.filter(|(key, list)| *key != UID_HEADERS || !list.is_empty());
            data.extend(published.map(|(key, list)| (key, json!(list).to_string())));
        }
        data
    }
}

/// Returns the updated ConfigMap; `None` if it is up to date.
fn desired_object(
    current: Option<&Object>,
    own: &ClusterAuthenticationInfo,
    now: i64,
) -> Result<Option<Object>, InformationError> {
    let existing =
        current.map_or(Ok(ClusterAuthenticationInfo::default()), ClusterAuthenticationInfo::read)?;
    let data = existing.merge(own).data(now);
    let mut config_map = match current {
        Some(current) => current.clone(),
        None => object(json!({"metadata": {"name": NAME, "namespace": NAMESPACE}})),
    };
    let nothing = Object::new();
    let existing_data = tree::child(&config_map, "data").unwrap_or(&nothing);
    let entries = data.iter().map(|(key, text)| (*key, text.as_str()));
    let unchanged = existing_data.len() == data.len()
        && entries.into_iter().all(|(key, text)| tree::text(existing_data, key) == text);
    if unchanged {
        return Ok(None);
    }
    config_map.insert("data", json!(data));
    Ok(Some(config_map))
}

#[cfg(test)]
mod tests;
