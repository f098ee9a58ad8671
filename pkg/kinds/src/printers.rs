//! The rows of Table answers (`kubectl get`): for every built-in kind a
//! function from an object to its cells, in the order of the columns of its
//! resource row.
//!
//! Cells are upstream's (`pkg/printers/internalversion`), which print internal
//! objects; here they are made from the JSON of the served version.

mod admissionregistration;
mod apiregistration;
mod apps;
mod autoscaling;
mod batch;
mod certificates;
mod coordination;
mod core;
mod descriptions;
mod discovery;
mod events;
mod flowcontrol;
mod format;
mod internal;
mod metrics;
mod networking;
mod node;
mod pod;
mod policy;
mod rbac;
mod resource;
mod scheduling;
mod storage;
mod storagemigration;
mod volumes;

use api::table::view;
use apimachinery::time::{GO_ZERO_TIME, UnixTime};
use jsontree::Object;
use schema::proto::inplace::{MessageRef, NotInPlace};
use schema::table::Message;
use view::{Doubt, View};

pub use api::table::{Cell, ColumnDefinition, CustomPrinter};
pub use descriptions::{column_descriptions, status_column_descriptions};

/// Makes the cells of one object; ages count up to the given time.
type Cells = for<'a> fn(View<'a>, UnixTime) -> Vec<Cell<'a>>;

/// What prints the rows of one resource: found once, used for every object.
#[derive(Debug, Clone, Copy)]
pub struct Printer {
    own: Option<Cells>,
    pods: bool,
}

/// The part of a row that is made from the object.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<'a> {
    /// One for each column, in their order.
    pub cells: Vec<Cell<'a>>,
    /// What the row says about the object.
    pub condition: Option<RowCondition>,
}

impl Printer {
    /// The printer of a resource. One without a printer of its own shows its name and creation time.
    ///
    /// `group_version` is the served one (`v1`, `apps/v1`), `resource` the plural name. A `Scale`
    /// goes by the name `scale`, in any group that has it.
    pub fn of(group_version: &str, resource: &str) -> Printer {
        Printer { own: printer(group_version, resource), pods: (group_version, resource) == ("v1", "pods") }
    }

    /// Whether the resource has a printer of its own. Where it has none, upstream answers an empty
    /// list with `rows: null` instead of `[]`.
    pub fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// The row of an object. Ages count up to `now`.
    ///
    /// An autoscaler in version 1 has lost the order of its metrics (and all CPU metrics but one),
    /// which the column shows; a caller that has the version 2 form at hand prints that.
    ///
    /// # Errors
    /// The subject is a message that cannot be read in place; its tree has to be printed instead. Of a
    /// tree there is always a row.
    pub fn row<'a>(&self, subject: &'a Subject<'a>, now: UnixTime) -> Result<Row<'a>, NotInPlace> {
        let view = subject.view();
        let cells = match self.own {
            Some(print) => print(view, now),
            None => name_and_created_at(view),
        };
        let condition = if self.pods { end_of_pod(view) } else { None };
        if subject.doubt.exists() {
            return Err(NotInPlace);
        }
        Ok(Row { cells, condition })
    }
}

/// An object to be printed, in the version whose printer is used.
#[derive(Debug)]
pub struct Subject<'a> {
    form: Form<'a>,
    doubt: Doubt,
}

#[derive(Debug)]
enum Form<'a> {
    Tree(&'a Object),
    Message(MessageRef<'a>),
}

impl<'a> Subject<'a> {
    /// A tree.
    pub fn tree(object: &'a Object) -> Self {
        Subject { form: Form::Tree(object), doubt: Doubt::default() }
    }

    /// The canonical bytes of a message, out of which only what the columns show is read.
    pub fn message(message: &'static Message, raw: &'a [u8]) -> Self {
        Subject { form: Form::Message(MessageRef::new(message, raw)), doubt: Doubt::default() }
    }

    fn view(&self) -> View<'_> {
        match self.form {
            Form::Tree(object) => View::of(object),
            Form::Message(message) => View::of_message(message, &self.doubt),
        }
    }
}

/// A condition of a Table row; upstream sets one on pods that have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowCondition {
    /// `Completed`
    pub condition_type: &'static str,
    /// `True`
    pub status: &'static str,
    /// The phase of the pod.
    pub reason: &'static str,
    /// A sentence for people.
    pub message: &'static str,
}

/// The cells of a `Status` that stands in for an object: status, reason and
/// message.
pub fn status_cells(status: &Object) -> Vec<Cell<'_>> {
    let view = View::of(status);
    ["status", "reason", "message"].map(|name| view.get(name).text().into()).into()
}

/// The condition of the row of a pod that has ended.
fn end_of_pod(pod: View<'_>) -> Option<RowCondition> {
    let (reason, message) = match pod.at("status.phase").text() {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(RowCondition { condition_type: "Completed", status: "True", reason, message })
}

fn printer(group_version: &str, resource: &str) -> Option<Cells> {
    let (group, version) = group_version.split_once('/').unwrap_or(("", group_version));
    match group {
        "" => core::printer(resource),
        "admissionregistration.k8s.io" => admissionregistration::printer(resource),
        "apiregistration.k8s.io" => apiregistration::printer(resource),
        "apps" => apps::printer(resource),
        "autoscaling" => autoscaling::printer(version, resource),
        "batch" => batch::printer(resource),
        "certificates.k8s.io" => certificates::printer(resource),
        "coordination.k8s.io" => coordination::printer(resource),
        "discovery.k8s.io" => discovery::printer(resource),
        "events.k8s.io" => events::printer(resource),
        "flowcontrol.apiserver.k8s.io" => flowcontrol::printer(resource),
        "internal.apiserver.k8s.io" => internal::printer(resource),
        "networking.k8s.io" => networking::printer(resource),
        "node.k8s.io" => node::printer(resource),
        "policy" => policy::printer(resource),
        "rbac.authorization.k8s.io" => rbac::printer(resource),
        "resource.k8s.io" => resource::printer(resource),
        "scheduling.k8s.io" => scheduling::printer(resource),
        "storage.k8s.io" => storage::printer(resource),
        "storagemigration.k8s.io" => storagemigration::printer(resource),
        _ => None,
    }
}

fn name_and_created_at(object: View<'_>) -> Vec<Cell<'_>> {
    let created = object.at("metadata.creationTimestamp").time().unwrap_or(GO_ZERO_TIME);
    vec![object.name(), created.rfc3339().to_string().into()]
}

#[cfg(test)]
mod tests;
