//! Changes to service accounts before a write.

use crate::strategy::hooks::{Context, Strategy};
use api::tree;
use schema::object::Object;

/// Only the names of a service account's secrets are kept (upstream's
/// `registry/core/serviceaccount/strategy.go`).
pub(crate) struct ServiceAccounts;

impl Strategy for ServiceAccounts {
    fn prepare_for_create(&self, account: &mut Object, _context: &Context<'_>) {
        clean_secrets(account);
    }

    fn prepare_for_update(&self, _: &str, new: &mut Object, _old: &Object, _context: &Context<'_>) {
        clean_secrets(new);
    }
}

fn clean_secrets(account: &mut Object) {
    tree::children_mut(account, "secrets").for_each(|secret| secret.retain(|member, _| member == "name"));
}
