//! Strict validation of the operations of a JSON patch.
//!
//! Upstream decodes a patch into a struct for this purpose only; the patch itself is parsed separately.

use jsontree::Value;

use super::decoder::Decoder;
use super::errors::{Error, StrictError, StrictKind, TypeError};
use super::path::{Step, kind_of};

/// The members of an operation. All but the last are strings.
const MEMBERS: [&str; 4] = ["op", "path", "from", "value"];

/// Checks the types of a patch's members, and reports unknown and duplicate members, also within values.
///
/// # Errors
/// Invalid syntax, or a value of the wrong type.
pub fn check_operations(text: &[u8]) -> Result<Vec<StrictError>, Error> {
    let mut decoder = Decoder::new(text);
    decoder.operations()?;
    decoder.scan.end()?;
    decoder.finish(()).map(|((), strict)| strict)
}

impl Decoder<'_> {
    fn operations(&mut self) -> Result<(), Error> {
        match self.scan.value_start()? {
            b'[' => self.scan.open()?,
            b'n' => return self.scan.word(),
            c => {
                self.mismatch(kind_of(c), "[]handlers.jsonPatchOp".into());
                return self.scan.skip().map(drop);
            }
        }
        let mut index = 0;
        while self.scan.next_item(index == 0)? {
            self.path.push(Step::Index(index));
            match self.scan.value_start()? {
                b'{' => self.operation()?,
                b'n' => self.scan.word()?,
                c => {
                    self.mismatch(kind_of(c), "handlers.jsonPatchOp".into());
                    self.scan.skip()?;
                }
            }
            self.path.pop();
            index += 1;
        }
        Ok(())
    }

    fn operation(&mut self) -> Result<(), Error> {
        self.scan.open()?;
        let mut seen = Vec::with_capacity(MEMBERS.len());
        let mut first = true;
        while let Some(name) = self.scan.next_member(first)? {
            first = false;
            let name = name.text();
            let Some(&member) = MEMBERS.iter().find(|&&member| member == name) else {
                self.report(StrictKind::UnknownField, &name);
                self.scan.skip()?;
                continue;
            };
            if seen.contains(&member) {
                self.report(StrictKind::DuplicateField, member);
            }
            seen.push(member);
            self.operation_member(member)?;
        }
        Ok(())
    }

    fn operation_member(&mut self, member: &'static str) -> Result<(), Error> {
        let wrong = |value, go_type| {
            let struct_name = "jsonPatchOp".into();
            let field = member.to_owned();
            Error::Type(Box::new(TypeError { value, struct_name, field, go_type }))
        };
        match (member, self.scan.value_start()?) {
            ("value", _) => {
                let earlier = self.saved.take();
                self.path.push(Step::Key(member.into()));
                self.any(&mut Value::Null)?;
                self.path.pop();
                let within = self.saved.take().map(|error| match error {
                    Error::Type(error) => wrong(error.value, error.go_type),
                    error => error,
                });
                self.saved = earlier.or(within);
            }
            (_, b'"' | b'n') => drop(self.scan.skip()?),
            (_, c) => {
                self.scan.skip()?;
                self.save(wrong(kind_of(c).into(), "string".into()));
            }
        }
        Ok(())
    }
}
