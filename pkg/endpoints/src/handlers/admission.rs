//! Runs admission for one request.

use admission::{AdmissionNotes, Annotation, Attributes, Level, Operation, Options};
use api::options::DeleteOptions;
use api::resources::Builtin;
use apimachinery::field::ErrorList;
use apimachinery::request_notes::MinimumLevel;
use apimachinery::status::Status;
use async_trait::async_trait;
use authorization::rbac::escalation::{self, Grant};
use authorization::require;
use futures::future::BoxFuture;
use kinds::strategy;
use registry::generic::{AdmissionEffects, Admit};
use registry::meta;
use schema::object::Object;

use super::write::{Dedup, dedup_owners};
use super::{claim_permissions, view};
use crate::scope::RequestScope;

/// Admission chain with the attributes of one request.
pub(super) struct Admission<'a> {
    call: &'a RequestScope<'a>,
    namespace: &'a str,
    /// Name from the path or the body; empty for a generated name and for a collection.
    name: &'a str,
    options: Options<'a>,
}

impl<'a> Admission<'a> {
    /// Creates the admission for the path of a request.
    pub(super) fn of(call: &'a RequestScope<'a>, options: impl Into<Options<'a>>) -> Self {
        Admission { call, namespace: &call.info.namespace, name: call.name(), options: options.into() }
    }

    /// Returns the same in another namespace, and with this name unless the path has one.
    pub(super) fn in_namespace(self, namespace: &'a str, name: &'a str) -> Self {
        let name = if self.name.is_empty() { name } else { self.name };
        Admission { namespace, name, ..self }
    }

    fn attributes<'o>(&'o self, operation: Operation, old: Option<&'o Object>) -> Attributes<'o> {
        Attributes {
            operation,
            user: self.call.user,
            resource: self.call.resource(),
            endpoint: self.call.endpoint(),
            namespace: self.namespace,
            name: self.name,
            generate_name: "",
            old,
            options: self.options,
            request: self.call.context,
        }
    }

    /// Runs the mutating plugins.
    async fn run_mutating(
        &self,
        attributes: &Attributes<'_>,
        object: Option<&mut Object>,
    ) -> Result<AdmissionEffects, Box<Status>> {
        let mut notes = AdmissionNotes::default();
        let verdict = self.call.api.admission.mutate(attributes, object, &mut notes).await;
        let edits = AdmissionEffects { shares_labels: notes.shares_labels() };
        self.record_notes(notes);
        verdict.map(|()| edits)
    }

    /// Runs the validating plugins.
    async fn run_validating(
        &self,
        attributes: &Attributes<'_>,
        object: Option<&Object>,
    ) -> Result<(), Box<Status>> {
        let mut notes = AdmissionNotes::default();
        let verdict = self.call.api.admission.validate(attributes, object, &mut notes).await;
        self.record_notes(notes);
        verdict
    }

    fn record_notes(&self, notes: AdmissionNotes) {
        for Annotation { key, value, level } in notes.annotations() {
            let least = match level {
                Level::Metadata => MinimumLevel::Metadata,
                Level::Request => MinimumLevel::Request,
                Level::RequestResponse => MinimumLevel::RequestResponse,
            };
            self.call.context.notes.annotate_at(least, key.clone(), value.clone());
        }
        self.call.warnings.extend(notes.warnings);
    }

    /// Runs admission for a connect request. Plugins may change its options.
    ///
    /// # Errors
    /// The first rejection.
    pub(super) async fn connect(&self, options: &mut Object) -> Result<(), Box<Status>> {
        let attributes = self.attributes(Operation::Connect, None);
        self.run_mutating(&attributes, Some(&mut *options)).await?;
        self.run_validating(&attributes, Some(options)).await
    }

    /// Escalation check: the final role or binding must not grant more than the user holds.
    async fn check_escalation(&self, new: &Object, old: Option<&Object>) -> Result<(), Box<Status>> {
        use Builtin::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
        let call = self.call;
        let row = call.resource();
        if !matches!(row.builtin, Some(ClusterRole | ClusterRoleBinding | Role | RoleBinding)) {
            return Ok(());
        }
        let namespace = self.namespace;
        let path_name = call.name();
        let grant = Grant { user: call.user, resource: row.plural, namespace, path_name, new, old };
        escalation::check(grant, call.api.authorizer.as_ref(), call.api.roles.as_ref()).await
    }

    /// Checks that the user may create the object that an update would create. Permission to update is not
    /// enough.
    async fn may_create(&self) -> Result<(), Box<Status>> {
        let call = self.call;
        if call.info.verb == "create" {
            return Ok(());
        }
        let attributes = authorization::Attributes::of_request(call.user, call.info);
        let attributes = authorization::Attributes { verb: "create", ..attributes };
        require(call.api.authorizer.as_ref(), attributes).await.map(drop)
    }
}

/// Aborts a write if its client has disconnected. Called before and after the plugins, which are the slowest
/// step and the last one before the object is written.
fn check_client_connected(call: &RequestScope<'_>) -> Result<(), Box<Status>> {
    if call.context.client.is_disconnected() {
        Err(Status::timeout("the client has gone before anything was written", 0).into())
    } else {
        Ok(())
    }
}

impl Admission<'_> {
    fn scale_of(&self, object: &Object) -> Result<Object, Box<Status>> {
        Ok(strategy::scale_of(self.call.resource(), object)
            .map_err(|error| Status::unmapped(error.to_string()))?)
    }
}

fn operation(old: Option<&Object>) -> Operation {
    if old.is_some() { Operation::Update } else { Operation::Create }
}

#[async_trait]
impl Admit for Admission<'_> {
    async fn mutate(&self, new: &mut Object, old: Option<&Object>) -> Result<AdmissionEffects, Box<Status>> {
        check_client_connected(self.call)?;
        let edits = match old {
            // The request body was a Scale, which is already merged into its parent.
            Some(old) if view::is_scale(self.call) => {
                let mut scale = self.scale_of(new)?;
                let old = self.scale_of(old)?;
                let edits = self
                    .run_mutating(&self.attributes(Operation::Update, Some(&old)), Some(&mut scale))
                    .await?;
                view::put_scale(self.call.resource(), new, &scale)?;
                edits
            }
            old => {
                let generate_name = match self.name {
                    "" => meta::text(new, "generateName").to_owned(),
                    _ => String::new(),
                };
                let attributes = self.attributes(operation(old), old);
                let attributes = Attributes { generate_name: &generate_name, ..attributes };
                self.run_mutating(&attributes, Some(&mut *new)).await?
            }
        };
        self.call.warnings.extend(dedup_owners(new, Dedup::AfterAdmission));
        self.check_escalation(new, old).await.map(|()| edits)
    }

    fn validation_errors<'f>(
        &'f self,
        new: &'f Object,
        old: Option<&'f Object>,
    ) -> Option<BoxFuture<'f, ErrorList>> {
        claim_permissions::permission_errors(self.call, new, old)
    }

    async fn validate(&self, new: &Object, old: Option<&Object>) -> Result<(), Box<Status>> {
        if old.is_none() {
            self.may_create().await?;
        }
        match old {
            Some(old) if view::is_scale(self.call) => {
                let new = self.scale_of(new)?;
                let old = self.scale_of(old)?;
                self.run_validating(&self.attributes(Operation::Update, Some(&old)), Some(&new)).await?;
            }
            old => {
                let attributes = self.attributes(operation(old), old);
                let name = if self.name.is_empty() { meta::text(new, "name") } else { self.name };
                self.run_validating(&Attributes { name, ..attributes }, Some(new)).await?;
            }
        }
        check_client_connected(self.call)
    }

    async fn delete(&self, old: &Object, options: &DeleteOptions) -> Result<(), Box<Status>> {
        let attributes = self.attributes(Operation::Delete, Some(old));
        let attributes = Attributes { options: Options::Delete(options), ..attributes };
        self.run_mutating(&attributes, None).await?;
        self.run_validating(&attributes, None).await
    }

    fn warn(&self, text: String) {
        self.call.warnings.push(text);
    }
}
