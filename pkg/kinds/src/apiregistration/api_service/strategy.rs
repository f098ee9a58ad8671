//! Changes to API services before a write.

use crate::strategy::hooks::{Context, Strategy};
use jsontree::json;
use schema::object::{self, Object};

/// API services of this server are available from the start (upstream's
/// `kube-aggregator/pkg/registry/apiservice/strategy.go`).
pub(crate) struct ApiServices;

impl Strategy for ApiServices {
    fn prepare_for_create(&self, service: &mut Object, context: &Context<'_>) {
        if object::get_object(service, &["spec", "service"]).is_none() {
            let available = json!({
                "type": "Available",
                "status": "True",
                "lastTransitionTime": context.timestamp(),
                "reason": "Local",
                "message": "Local APIServices are always available",
            });
            object::set(service, &["status", "conditions"], vec![available]);
        }
    }
}
