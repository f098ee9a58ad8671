//! Rows of Table responses (`kubectl get`). The descriptor of a built-in kind has its columns with the
//! functions that compute their cells.
//!
//! The cells are upstream's (`pkg/printers/internalversion`). Upstream prints internal objects; this module
//! uses the JSON of the served version.

pub(crate) mod column;
mod default_class;
pub(crate) mod format;
mod scale;
pub(crate) mod volume;

use crate::builtin::kind_of;
use crate::kind::Columns;
use api::resources::Resource;
use api::table::view;
use apimachinery::time::{GO_ZERO_TIME, UnixTime};
use column::NAME;
use jsontree::Object;
use schema::proto::inplace::{MessageRef, NotInPlace};
use schema::table::Message;
use view::{ReadStatus, View};

pub use api::table::{Cell, ColumnDefinition, CustomPrinter};
pub use column::{Column, RowCondition, status_column_descriptions};
pub use default_class::DefaultClass;

/// Row printer of one resource, looked up once and used for every object.
#[derive(Debug, Clone, Copy)]
pub struct Printer {
    columns: &'static [Column],
    condition: for<'a> fn(View<'a>) -> Option<RowCondition>,
}

/// Part of a row that depends on the object.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<'a> {
    /// Cells in the order of the columns.
    pub cells: Vec<Cell<'a>>,
    /// Condition of the row, such as a finished pod.
    pub condition: Option<RowCondition>,
}

impl Printer {
    /// The printer of a built-in resource; a `Scale` has its own. Custom resources have [`CustomPrinter`].
    pub fn of(resource: &Resource<'_>) -> Printer {
        if resource.subresource == "scale" && resource.builtin.is_some() {
            return Printer { columns: scale::SCALE, condition: |_| None };
        }
        match kind_of(resource) {
            Some(kind) => Printer {
                columns: columns_of(&kind.columns, resource.group_version),
                condition: kind.rare_properties.row_condition,
            },
            None => Printer { columns: &NAME_AND_CREATED, condition: |_| None },
        }
    }

    /// The columns of the Table.
    pub fn columns(&self) -> impl Iterator<Item = &'static Column> {
        self.columns.iter().filter(|column| column.is_declared)
    }

    /// True if upstream returns an empty list with `rows: null` instead of `[]`. Its convertors for kinds without
    /// columns of their own and for CRDs do so; both have this column.
    pub fn has_null_rows(&self) -> bool {
        self.columns.iter().any(|column| column.name == CREATED_AT)
    }

    /// Prints the row of an object. Ages count up to `now`.
    ///
    /// Version 1 of an autoscaler has lost the order of its metrics, and all CPU metrics except one. The
    /// column shows them, so a caller with access to the version 2 form should print that one.
    ///
    /// # Errors
    /// The subject is a message that cannot be read in place; the caller must print its tree. Printing a tree
    /// never fails.
    pub fn row<'a>(&self, subject: &'a Subject<'a>, now: UnixTime) -> Result<Row<'a>, NotInPlace> {
        let view = subject.view();
        let mut cells = Vec::with_capacity(self.columns.len());
        for column in self.columns {
            column.print(view, now, &mut cells);
        }
        let condition = (self.condition)(view);
        if subject.read_status.is_irregular() {
            return Err(NotInPlace);
        }
        Ok(Row { cells, condition })
    }
}

/// Object to print, in the version of the printer.
#[derive(Debug)]
pub struct Subject<'a> {
    form: Representation<'a>,
    read_status: ReadStatus,
}

#[derive(Debug)]
enum Representation<'a> {
    Tree(&'a Object),
    Message(MessageRef<'a>),
}

impl<'a> Subject<'a> {
    pub fn tree(object: &'a Object) -> Self {
        Subject { form: Representation::Tree(object), read_status: ReadStatus::default() }
    }

    /// Canonical bytes of a message. Only the fields of the columns are read.
    pub fn message(message: &'static Message, raw: &'a [u8]) -> Self {
        Subject {
            form: Representation::Message(MessageRef::new(message, raw)),
            read_status: ReadStatus::default(),
        }
    }

    fn view(&self) -> View<'_> {
        match self.form {
            Representation::Tree(object) => View::of(object),
            Representation::Message(message) => View::of_message(message, &self.read_status),
        }
    }
}

/// Returns the cells of a `Status` in place of an object: status, reason and message.
pub fn status_cells(status: &Object) -> Vec<Cell<'_>> {
    let view = View::of(status);
    ["status", "reason", "message"].map(|name| view.get(name).text().into()).into()
}

/// Heading of the column of the creation time.
pub(crate) const CREATED_AT: &str = "Created At";

/// The columns of kinds without columns of their own.
static NAME_AND_CREATED: [Column; 2] = [
    NAME,
    Column::date(CREATED_AT, |object, _| created_at(object).into())
        .with_description_of("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "creationTimestamp"),
];

/// Returns the columns of a kind in a served version (`v1`, `apps/v1`).
fn columns_of(columns: &Columns, group_version: &str) -> &'static [Column] {
    match columns {
        Columns::NameAndCreation => &NAME_AND_CREATED,
        Columns::Custom(columns) => columns,
        Columns::ByVersion(versions) => {
            let version = versions.iter().find(|(version, _)| *version == group_version);
            version.map_or(&NAME_AND_CREATED, |(_, columns)| columns)
        }
    }
}

/// Returns the creation time of an object as text.
pub(crate) fn created_at(object: View<'_>) -> String {
    object.get_path("metadata.creationTimestamp").time().unwrap_or(GO_ZERO_TIME).rfc3339().to_string()
}

#[cfg(test)]
mod tests;
