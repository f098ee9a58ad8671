//! Requests every resource and subresource as a user without permissions.

use std::fmt::Write;

use api::resources::{self, Resource};
use authorization::Mode;
use jsontree::json;

use crate::test_client::Client;
use crate::test_cluster::TestServer;

/// Resources that every authenticated user may create (role `system:basic-user`).
const OF_ONESELF: [&str; 3] = ["selfsubjectaccessreviews", "selfsubjectreviews", "selfsubjectrulesreviews"];

/// Returns method and path for a verb of a resource, for an object with a name.
fn request(row: &Resource<'_>, verb: &str, name: &str) -> (&'static str, String) {
    let mut path = match row.group {
        "" => format!("/api/{}", row.version),
        group => format!("/apis/{group}/{}", row.version),
    };
    if row.namespaced {
        path.push_str("/namespaces/default");
    }
    let _ = write!(path, "/{}", row.plural);
    if !row.subresource.is_empty() || matches!(verb, "get" | "update" | "patch" | "delete") {
        let _ = write!(path, "/{name}");
    }
    if !row.subresource.is_empty() {
        let _ = write!(path, "/{}", row.subresource);
    }
    let (method, query) = match verb {
        "create" => ("POST", ""),
        "update" => ("PUT", ""),
        "patch" => ("PATCH", ""),
        "delete" | "deletecollection" => ("DELETE", ""),
        "watch" => ("GET", "?watch=true"),
        _ => ("GET", ""),
    };
    (method, path + query)
}

/// Returns upstream's denial message, with or without an object name.
fn refusal(row: &Resource<'_>, verb: &str, name: &str) -> String {
    let dot = if row.group.is_empty() { "" } else { "." };
    let named = if !row.subresource.is_empty() || matches!(verb, "get" | "update" | "patch" | "delete") {
        format!(" {name:?}")
    } else {
        String::new()
    };
    let slash = if row.subresource.is_empty() { "" } else { "/" };
    let resource = format!("{}{slash}{}", row.plural, row.subresource);
    let scope = match (row.namespaced, row.plural) {
        (true, _) => "in the namespace \"default\"".to_owned(),
        (false, "namespaces") if !named.is_empty() => format!("in the namespace {name:?}"),
        (false, _) => "at the cluster scope".to_owned(),
    };
    format!(
        "{}{dot}{}{named} is forbidden: User \"nobody\" cannot {verb} resource {resource:?} in API group {:?} {scope}",
        row.plural, row.group, row.group
    )
}

/// Nothing is looked up before authorization: existing, missing and unserved objects get the same denial.
#[tokio::test]
async fn unprivileged_user_is_denied_without_information_leak() {
    let change = |config: &mut crate::config::Config| {
        config.authorization = crate::config::AuthorizationConfig::of_modes(&[Mode::Node, Mode::Rbac])
    };
    let server = TestServer::start_with(change).await.unwrap();
    let nobody = Client::of(&server).with_token(server.nobody_token());
    let mut requests = 0;
    for row in resources::all().filter(|row| !OF_ONESELF.contains(&row.plural)) {
        for verb in row.verbs.iter().filter(|_| row.connect.is_none()) {
            // A namespace, a Service, roles and priority classes with these names exist; the last name does
            // not exist for any kind.
            let name = match row.plural {
                "namespaces" => "default",
                "services" | "endpoints" => "kubernetes",
                "clusterroles" | "clusterrolebindings" => "cluster-admin",
                _ => "absent",
            };
            for name in [name, "absent"].into_iter().take(if name == "absent" { 1 } else { 2 }) {
                let (method, path) = request(row, verb, name);
                let (code, status) = nobody.send(method, &path, json!({"not": "an object"})).await;
                assert_eq!(code, 403, "{method} {path}: {status}");
                assert_eq!(status["message"], refusal(row, verb, name), "{method} {path}");
                requests += 1;
            }
        }
    }
    assert!(requests > 500, "{requests}");
    server.stop().await;
}
