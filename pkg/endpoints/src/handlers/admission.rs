//! Admission of one request's write.

use admission::{Attributes, Operation};
use apimachinery::request_info::RequestInfo;
use apimachinery::status::Status;
use async_trait::async_trait;
use authorization::authorize;
use registry::generic::Admit;
use registry::{meta, strategy};
use schema::object::Object;

use super::view;
use super::write::{Dedup, dedup_owners};
use crate::api::Call;

/// The plugins, asked on behalf of a request.
pub(super) struct Admission<'a> {
    call: &'a Call<'a>,
    namespace: &'a str,
    dry_run: bool,
}

impl<'a> Admission<'a> {
    /// Of a write that a request asks for in its namespace.
    pub(super) fn of(call: &'a Call<'a>, dry_run: bool) -> Self {
        Admission { call, namespace: &call.info.namespace, dry_run }
    }

    /// The same write, in another namespace as far as admission is concerned.
    pub(super) fn within(self, namespace: &'a str) -> Self {
        Admission { namespace, ..self }
    }

    /// What plugins are told of a write of `new` over `old`.
    fn attributes<'o>(&'o self, name: &'o str, old: Option<&'o Object>) -> Attributes<'o> {
        let operation = if old.is_some() { Operation::Update } else { Operation::Create };
        Attributes {
            operation,
            user: self.call.user,
            resource: self.call.main(),
            subresource: self.call.endpoint().subresource,
            namespace: self.namespace,
            name,
            old,
            dry_run: self.dry_run,
        }
    }

    /// Asks whether a write that turns out to create its object may do that: whoever may only update may
    /// not.
    async fn may_create(&self) -> Result<(), Box<Status>> {
        let call = self.call;
        if call.info.verb == "create" {
            return Ok(());
        }
        let info = RequestInfo { verb: "create".to_owned(), ..call.info.clone() };
        let attributes = authorization::Attributes { user: call.user, info: &info };
        authorize(call.api.authorizer.as_ref(), attributes).await?;
        Ok(())
    }
}

#[async_trait]
impl Admit for Admission<'_> {
    async fn mutate(
        &self,
        new: &mut Object,
        old: Option<&Object>,
        warnings: &mut Vec<String>,
    ) -> Result<(), Box<Status>> {
        // A Scale has been merged into its parent by now, which nobody sent.
        if !view::scales(self.call) {
            let name = meta::text(new, "name").to_owned();
            self.call.api.admission.mutate(&self.attributes(&name, old), new, warnings).await?;
        }
        warnings.extend(dedup_owners(new, Dedup::AfterAdmission));
        Ok(())
    }

    async fn validate(
        &self,
        new: &Object,
        old: Option<&Object>,
        warnings: &mut Vec<String>,
    ) -> Result<(), Box<Status>> {
        if old.is_none() {
            self.may_create().await?;
        }
        let admission = &self.call.api.admission;
        let name = meta::text(new, "name");
        match old {
            Some(old) if view::scales(self.call) => {
                let (new, old) = (strategy::scale_of(new), strategy::scale_of(old));
                admission.validate(&self.attributes(name, Some(&old)), Some(&new), warnings).await
            }
            old => admission.validate(&self.attributes(name, old), Some(new), warnings).await,
        }
    }
}
