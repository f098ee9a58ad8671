//! Types whose JSON is not an object of their fields.

use apimachinery::time::{UnixTime, format_duration};

use super::{Error, Version, Writer};
use crate::json_write::{write_raw, write_string};
use crate::proto::decode::{instant, raw_text};
use crate::proto::index::Slot;
use crate::proto::wire::Reader;
use crate::table::{Field, Message, Shape, Type};
use crate::text::go_text;
use crate::{proto, scalar};

impl Writer<'_> {
    pub(super) fn message(&mut self, message: &'static Message, payload: &[u8]) -> Result<(), Error> {
        match message.shape {
            Shape::Struct => {
                self.out.push(b'{');
                self.members(message, payload, Version::Elsewhere)?;
                self.out.push(b'}');
            }
            Shape::Time | Shape::MicroTime => match self.instant(message, payload)? {
                None => self.out.extend_from_slice(b"null"),
                Some(time) => {
                    self.out.push(b'"');
                    scalar::write_time(time, message.shape == Shape::MicroTime, self.out);
                    self.out.push(b'"');
                }
            },
            Shape::FieldsV1 | Shape::RawExtension | Shape::Json | Shape::Unknown => {
                let text = raw_text(message, payload, &mut self.slots)?;
                write_raw(message, text, self.out)?;
            }
            Shape::Quantity => self.quantity(message, payload)?,
            Shape::IntOrString => self.int_or_string(message, payload)?,
            Shape::Duration => {
                let [nanos] = self.slots_of(message, payload)?;
                let nanos = number(nanos, payload)? as i64;
                write_string(format_duration(nanos).as_bytes(), self.out);
            }
            Shape::Wrapper => match message.fields.first() {
                Some(items) => self.slice(message, items, payload)?,
                None => self.out.extend_from_slice(b"null"),
            },
            Shape::SchemaOrBool => {
                let [allows, schema] = self.slots_of(message, payload)?;
                let allows = number(allows, payload)? != 0;
                match (schema.count(), allows) {
                    (0, true) => self.out.extend_from_slice(b"true"),
                    (0, false) => self.out.extend_from_slice(b"false"),
                    _ => self.schema(message.fields.get(1), schema, payload)?,
                }
            }
            Shape::SchemaOrArray | Shape::SchemaOrStringArray => {
                let [schema, list] = self.slots_of(message, payload)?;
                match (list.count(), message.fields.get(1)) {
                    (1.., Some(items)) => self.elements(items, list.region(payload))?,
                    _ => self.schema(message.fields.first(), schema, payload)?,
                }
            }
        }
        Ok(())
    }

    pub(super) fn instant(
        &mut self,
        message: &'static Message,
        payload: &[u8],
    ) -> Result<Option<UnixTime>, Error> {
        Ok(instant(message, payload, &mut self.slots)?)
    }

    /// The slots of a message's first fields.
    fn slots_of<const N: usize>(
        &mut self,
        message: &'static Message,
        payload: &[u8],
    ) -> Result<[Slot; N], Error> {
        let frame = self.slots.enter(message, payload)?;
        let slots = std::array::from_fn(|at| self.slots.get(frame, at));
        self.slots.leave(frame);
        Ok(slots)
    }

    fn quantity(&mut self, message: &'static Message, payload: &[u8]) -> Result<(), Error> {
        let [text] = self.slots_of(message, payload)?;
        if text.count() == 0 {
            self.out.extend_from_slice(b"\"0\"");
            return Ok(());
        }
        let text = go_text(text.value(payload));
        let text = apimachinery::quantity::canonicalize(&text).map_err(proto::Error::from)?;
        write_string(text.as_bytes(), self.out);
        Ok(())
    }

    fn int_or_string(&mut self, message: &'static Message, payload: &[u8]) -> Result<(), Error> {
        let [kind, int, text] = self.slots_of(message, payload)?;
        match number(kind, payload)? {
            0 => self.integer(i64::from(number(int, payload)? as i32)),
            1 => write_string(text.value(payload), self.out),
            _ => return Err(proto::Error::IntOrStringType.into()),
        }
        Ok(())
    }

    /// Writes a named slice; nil if it has no elements.
    fn slice(
        &mut self,
        message: &'static Message,
        items: &'static Field,
        payload: &[u8],
    ) -> Result<(), Error> {
        let [slot] = self.slots_of(message, payload)?;
        match slot.count() {
            0 => self.out.extend_from_slice(b"null"),
            _ => self.elements(items, slot.region(payload))?,
        }
        Ok(())
    }

    fn schema(&mut self, field: Option<&'static Field>, slot: Slot, payload: &[u8]) -> Result<(), Error> {
        match field {
            Some(field) if slot.count() > 0 => {
                let Type::Message(inner) = field.ty else { return Ok(()) };
                self.message(inner, &slot.message(field, payload)?)
            }
            _ => {
                self.out.extend_from_slice(b"null");
                Ok(())
            }
        }
    }
}

/// A varint field; 0 if it is absent.
fn number(slot: Slot, payload: &[u8]) -> Result<u64, proto::Error> {
    match slot.count() {
        0 => Ok(0),
        _ => Reader::new(slot.value(payload)).varint(),
    }
}
