//! Objects that have to be there before anyone else can work.

use api::managed_fields::FieldManager;
use api::resources;
use apimachinery::user_info::UserInfo;
use registry::generic::{AdmitAll, CreateRequest};
use registry::{Registry, Target};
use serde_json::{Value, json};

/// The namespaces that every cluster has (upstream's system namespaces controller).
const SYSTEM_NAMESPACES: [&str; 4] = ["kube-system", "kube-public", "kube-node-lease", "default"];

/// The name under which the server does its own work.
const APISERVER_USER: &str = "system:apiserver";

/// The manager of what it writes.
const FIELD_MANAGER: &str = "kube-apiserver";

/// Creates the system namespaces that are missing.
///
/// # Errors
/// The text of the first failure.
pub(crate) async fn system_namespaces(registry: &Registry) -> Result<(), String> {
    let row = resources::find("", "v1", "namespaces", "").ok_or("namespaces are not served")?;
    let fields = FieldManager::new(row, |row| !row.off_by_default);
    let user = UserInfo { name: APISERVER_USER.to_owned(), ..UserInfo::default() };
    for name in SYSTEM_NAMESPACES {
        let target = Target { row, namespace: "", name };
        match registry.get(&target, "").await {
            Ok(_) => continue,
            Err(status) if status.reason == "NotFound" => {}
            Err(status) => return Err(status.message),
        }
        let Value::Object(mut object) = json!({"metadata": {"name": name}}) else { continue };
        api::defaults::apply(row.group_version, row.kind, &mut object);
        if let Some(fields) = &fields {
            fields.update(None, &mut object, FIELD_MANAGER, registry.now())?;
        }
        match registry
            .create(&target, object, CreateRequest { user: &user, dry_run: false, admit: &AdmitAll })
            .await
        {
            Ok(_) => {}
            // Another replica was faster.
            Err(status) if status.reason == "AlreadyExists" => {}
            Err(status) => return Err(status.message),
        }
    }
    Ok(())
}
