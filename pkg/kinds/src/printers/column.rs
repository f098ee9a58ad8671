//! A column of the Table of a built-in kind: heading, description and the function that makes its cells.

use super::format::{age, container_images, container_names};
use api::descriptions::description;
use api::table::Cell;
use api::table::view::View;
use apimachinery::time::UnixTime;

/// Makes one cell of an object; ages count up to the given time.
pub(crate) type MakeCell = for<'a> fn(View<'a>, UnixTime) -> Cell<'a>;
/// Appends the cells of several adjacent columns.
type MakeCells = for<'a> fn(View<'a>, UnixTime, &mut Vec<Cell<'a>>);

#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub name: &'static str,
    /// OpenAPI type of the cells.
    pub kind: &'static str,
    /// OpenAPI format; `name` marks the column that identifies the object.
    pub format: &'static str,
    /// 0 is always shown, 1 on request (`-o wide`).
    pub priority: i32,
    /// False for cells that upstream prints without a column definition.
    pub is_declared: bool,
    description: Description,
    cells: Cells,
}

#[derive(Clone, Copy, Debug)]
enum Description {
    /// The documentation of a member of an API type.
    Member {
        definition: &'static str,
        member: &'static str,
    },
    Text(&'static str),
}

#[derive(Clone, Copy, Debug)]
enum Cells {
    One(MakeCell),
    /// The cells of this column and of the `Previous` columns after it, which share work.
    Several(MakeCells),
    Previous,
}

const METADATA: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

pub(crate) const NAME: Column =
    Column::text("Name", |object, _| object.name()).with_description_of(METADATA, "name").format("name");
/// Age of the object.
pub(crate) const AGE: Column = Column::text("Age", age).with_description_of(METADATA, "creationTimestamp");
pub(crate) const CONTAINERS: Column =
    Column::text("Containers", |object, _| container_names(object.get_path("spec.template.spec")))
        .with_description("Names of each container in the template.")
        .wide();
pub(crate) const IMAGES: Column =
    Column::text("Images", |object, _| container_images(object.get_path("spec.template.spec")))
        .with_description("Images referenced by each container in the template.")
        .wide();

const fn column(name: &'static str, kind: &'static str, cells: Cells) -> Column {
    Column {
        name,
        kind,
        format: "",
        priority: 0,
        is_declared: true,
        description: Description::Text(""),
        cells,
    }
}

impl Column {
    pub(crate) const fn text(name: &'static str, cell: MakeCell) -> Self {
        column(name, "string", Cells::One(cell))
    }

    pub(crate) const fn integer(name: &'static str, cell: MakeCell) -> Self {
        column(name, "integer", Cells::One(cell))
    }

    pub(crate) const fn boolean(name: &'static str, cell: MakeCell) -> Self {
        column(name, "boolean", Cells::One(cell))
    }

    pub(crate) const fn date(name: &'static str, cell: MakeCell) -> Self {
        column(name, "date", Cells::One(cell))
    }

    /// A text column whose function also computes the cells of the [`Column::text_of_previous`] columns after it.
    pub(crate) const fn text_of_several(name: &'static str, cells: MakeCells) -> Self {
        column(name, "string", Cells::Several(cells))
    }

    pub(crate) const fn text_of_previous(name: &'static str) -> Self {
        column(name, "string", Cells::Previous)
    }

    pub(crate) const fn filled_by(self, cell: MakeCell) -> Self {
        Column { cells: Cells::One(cell), ..self }
    }

    pub(crate) const fn with_description(self, words: &'static str) -> Self {
        Column { description: Description::Text(words), ..self }
    }

    /// Describes the column by the documentation of a member of an API type.
    pub(crate) const fn with_description_of(self, definition: &'static str, member: &'static str) -> Self {
        Column { description: Description::Member { definition, member }, ..self }
    }

    pub(crate) const fn format(self, format: &'static str) -> Self {
        Column { format, ..self }
    }

    pub(crate) const fn wide(self) -> Self {
        Column { priority: 1, ..self }
    }

    pub(crate) const fn undeclared(self) -> Self {
        Column { is_declared: false, ..self }
    }

    /// The `description` of the column definition.
    pub fn description(&self) -> &'static str {
        match self.description {
            Description::Member { definition, member } => without_values(description(definition, member)),
            Description::Text(words) => words,
        }
    }

    /// Appends the cells that this column makes.
    pub(crate) fn print<'a>(&self, object: View<'a>, now: UnixTime, row: &mut Vec<Cell<'a>>) {
        match self.cells {
            Cells::One(cell) => row.push(cell(object, now)),
            Cells::Several(cells) => cells(object, now, row),
            Cells::Previous => {}
        }
    }
}

/// Returns the descriptions of the columns of a `Status`: Status, Reason, Message.
pub fn status_column_descriptions() -> [&'static str; 3] {
    let member = |name| without_values(description("io.k8s.apimachinery.pkg.apis.meta.v1.Status", name));
    [member("status"), member("reason"), ""]
}

/// A description without the list of possible values at its end, which only OpenAPI documents have.
fn without_values(text: &'static str) -> &'static str {
    text.split_once("\n\nPossible enum values:").map_or(text, |(text, _)| text.trim_end_matches('\n'))
}

/// Condition of a Table row. Upstream sets one on finished pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowCondition {
    pub condition_type: &'static str,
    pub status: &'static str,
    /// The phase of the pod.
    pub reason: &'static str,
    pub message: &'static str,
}
