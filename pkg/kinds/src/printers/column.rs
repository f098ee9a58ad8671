//! A column of the Table of a built-in kind: heading, description and the function that makes its cells.

use super::Cell;
use super::format::{age, container_images, container_names};
use super::view::View;
use api::descriptions::description;
use apimachinery::time::UnixTime;

/// Makes one cell of an object; ages count up to the given time.
pub(super) type MakeCell = for<'a> fn(View<'a>, UnixTime) -> Cell<'a>;
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
    Words(&'static str),
}

#[derive(Clone, Copy, Debug)]
enum Cells {
    One(MakeCell),
    /// The cells of this column and of the `Previous` columns after it, which share work.
    Several(MakeCells),
    Previous,
}

const METADATA: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

pub(super) const NAME: Column =
    text("Name", |object, _| object.name()).described_as(METADATA, "name").format("name");
/// Age of the object.
pub(super) const AGE: Column = text("Age", age).described_as(METADATA, "creationTimestamp");
pub(super) const CONTAINERS: Column =
    text("Containers", |object, _| container_names(object.at("spec.template.spec")))
        .described("Names of each container in the template.")
        .wide();
pub(super) const IMAGES: Column =
    text("Images", |object, _| container_images(object.at("spec.template.spec")))
        .described("Images referenced by each container in the template.")
        .wide();
pub(super) static NAME_AND_AGE: &[Column] = &[NAME, AGE];

const fn column(name: &'static str, kind: &'static str, cells: Cells) -> Column {
    Column {
        name,
        kind,
        format: "",
        priority: 0,
        is_declared: true,
        description: Description::Words(""),
        cells,
    }
}

pub(super) const fn text(name: &'static str, cell: MakeCell) -> Column {
    column(name, "string", Cells::One(cell))
}

pub(super) const fn integer(name: &'static str, cell: MakeCell) -> Column {
    column(name, "integer", Cells::One(cell))
}

pub(super) const fn boolean(name: &'static str, cell: MakeCell) -> Column {
    column(name, "boolean", Cells::One(cell))
}

pub(super) const fn date(name: &'static str, cell: MakeCell) -> Column {
    column(name, "date", Cells::One(cell))
}

/// A text column whose function also makes the cells of the [`text_of_previous`] columns after it.
pub(super) const fn text_of_several(name: &'static str, cells: MakeCells) -> Column {
    column(name, "string", Cells::Several(cells))
}

pub(super) const fn text_of_previous(name: &'static str) -> Column {
    column(name, "string", Cells::Previous)
}

impl Column {
    pub(super) const fn filled_by(self, cell: MakeCell) -> Self {
        Column { cells: Cells::One(cell), ..self }
    }

    pub(super) const fn described(self, words: &'static str) -> Self {
        Column { description: Description::Words(words), ..self }
    }

    /// Describes the column by the documentation of a member of an API type.
    pub(super) const fn described_as(self, definition: &'static str, member: &'static str) -> Self {
        Column { description: Description::Member { definition, member }, ..self }
    }

    pub(super) const fn format(self, format: &'static str) -> Self {
        Column { format, ..self }
    }

    pub(super) const fn wide(self) -> Self {
        Column { priority: 1, ..self }
    }

    pub(super) const fn undeclared(self) -> Self {
        Column { is_declared: false, ..self }
    }

    /// The `description` of the column definition.
    pub fn description(&self) -> &'static str {
        match self.description {
            Description::Member { definition, member } => without_values(description(definition, member)),
            Description::Words(words) => words,
        }
    }

    /// Appends the cells that this column makes.
    pub(super) fn print<'a>(&self, object: View<'a>, now: UnixTime, row: &mut Vec<Cell<'a>>) {
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
    text.split_once("\n\nPossible enum values:").map_or(text, |(text, _)| text)
}
